package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// commandTool is a command line that validates files.
type commandTool struct {
	name    string
	install func(d directories) error
	// arguments follow the program; the files are in a folder of the workplace.
	arguments func(folder string) []string
	// count reads from stdout how many objects are valid, and how many are not.
	count func(stdout []byte) (valid, invalid int, err error)
}

var commandTools = []commandTool{
	{"crdeval", func(d directories) error {
		return execute(d.root, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", d.binary("crdeval"),
			"./server/cmd/crdeval")
	}, func(folder string) []string {
		return []string{"admit", "-q", "--crds=crds", folder}
	}, countOurs},
	{"kubeconform", goPeer("schema", "kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
		func(folder string) []string {
			return []string{"-strict", "-summary", "-output=json",
				"-schema-location=schemas/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json", folder}
		}, countKubeconform},
	{"kubectl-validate", goPeer("kubectl-validate", "kubectl-validate", "sigs.k8s.io/kubectl-validate"),
		func(folder string) []string {
			return []string{"--local-crds=crds", "--output=json", folder}
		}, countKubectlValidate},
}

var ourSummary = regexp.MustCompile(`(?m)^(\d+) objects?: (\d+) allowed(?:, (\d+) rejected)?$`)

func countOurs(stdout []byte) (valid, invalid int, err error) {
	m := ourSummary.FindSubmatch(stdout)
	if m == nil {
		return 0, 0, errors.New("no summary")
	}
	all, err := strconv.Atoi(string(m[1]))
	if err == nil {
		valid, err = strconv.Atoi(string(m[2]))
	}
	return valid, all - valid, err
}

func countKubeconform(stdout []byte) (valid, invalid int, err error) {
	var result struct {
		Summary struct{ Valid, Invalid, Errors, Skipped int }
	}
	err = json.Unmarshal(stdout, &result)
	s := result.Summary
	return s.Valid, s.Invalid + s.Errors + s.Skipped, err
}

// countKubectlValidate reads the JSON of kubectl-validate. The usage text may follow it.
func countKubectlValidate(stdout []byte) (valid, invalid int, err error) {
	var result map[string][]struct{ Status, Message string }
	err = json.NewDecoder(bytes.NewReader(stdout)).Decode(&result)
	for _, documents := range result {
		for _, d := range documents {
			if d.Status == "Success" {
				valid++
			} else {
				invalid++
			}
		}
	}
	return valid, invalid, err
}

// usage is what a process used. .tools/peers/measure writes it.
type usage struct {
	Wall, CPU float64
	Peak      int64
	Code      int
}

// run runs a tool once on a folder and compares the verdicts with the numbers of valid and invalid objects.
func (w *workplace) run(t commandTool, folder string, valid, invalid int) (usage, error) {
	var used usage
	report := filepath.Join(w.folder, "usage.json")
	arguments := append([]string{report, w.binary(t.name)}, t.arguments(folder)...)
	command := exec.Command(w.binary("measure"), arguments...) //nolint:noctx // it ends
	command.Dir = w.folder
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HOME="+w.folder)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(report); err == nil {
			err = json.Unmarshal(text, &used)
		}
	}
	if err != nil {
		return used, fmt.Errorf("%s: %w: %.1000s", t.name, err, stderr.String())
	}
	good, bad, err := t.count(stdout.Bytes())
	if err == nil && (good != valid || bad != invalid || (used.Code == 0) != (invalid == 0)) {
		err = fmt.Errorf("%d valid and %d invalid objects, not %d and %d; exit code %d", good, bad, valid, invalid, used.Code)
	}
	if err != nil {
		return used, fmt.Errorf("%s %s: %w: %.1000s %.1000s", t.name, folder, err, stdout.String(), stderr.String())
	}
	return used, nil
}
