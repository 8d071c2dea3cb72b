package bolt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What changes files or makes them durable, in bbolt and in package bolt, and what stands for it in the build with
// faults.
var faultPoints = strings.NewReplacer(
	"db.file.WriteAt", "FaultWriteAt(db.file)",
	"db.file.Truncate(", "FaultTruncate(db.file)(",
	"db.file.Sync(", "FaultSync(db.file)(",
	"syscall.Fdatasync(", "FaultDatasync(syscall.Fdatasync, ",
	"= os.OpenFile", "= FaultOpenFile",
	"os.MkdirAll(", "bbolt.FaultMkdirAll(",
	"= d.Sync()", "= bbolt.FaultSyncDirectory(d)()",
	"os.CreateTemp(", "bbolt.FaultCreateTemp(",
	"os.Link(", "bbolt.FaultLink(",
	"os.Remove(", "bbolt.FaultRemove(",
)

// What files may be used for without being a step; everything else must have been replaced, also in a later version of
// bbolt.
var (
	fileUses    = regexp.MustCompile(`\bfile\.([A-Z]\w*)`)
	harmless    = map[string]bool{"Fd": true, "Name": true, "Stat": true, "ReadAt": true, "Close": true}
	systemUses  = regexp.MustCompile(`\b(?:os|syscall|unix)\.(\w*(?:[Ww]rite|[Tt]runc|[Ss]ync|Mkdir|Rename|Remove|[Ll]ink|Create|OpenFile|Fallocate)\w*)\(`)
	directories = regexp.MustCompile(`\bd\.([A-Z]\w*)\(`)
)

// faultBuild builds this package's test binary with faults in bbolt and in package bolt: the same sources, but for the
// calls above. bbolt's are a copy of the module, which a go.mod of its own puts in its place; those of package bolt are
// an overlay.
func faultBuild(t *testing.T) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	module := filepath.Join(dir, "bbolt")
	source, files := sources(t, "go.etcd.io/bbolt")
	must(os.CopyFS(module, os.DirFS(source)))
	replaced := 0
	for _, name := range files {
		replaced += withFaults(t, filepath.Join(source, name), filepath.Join(module, name))
	}
	fault, err := os.ReadFile(filepath.Join("testdata", "fault.go.txt"))
	must(err)
	must(os.WriteFile(filepath.Join(module, "fault.go"), fault, 0o600))

	overlay := map[string]string{}
	source, files = sources(t, ".")
	for _, name := range files {
		overlay[filepath.Join(source, name)] = filepath.Join(dir, name)
		replaced += withFaults(t, filepath.Join(source, name), filepath.Join(dir, name))
	}
	if replaced < 3 {
		t.Fatalf("only %d files have steps: bbolt is not what it was", replaced)
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	must(err)
	must(os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))

	root := filepath.Dir(run(t, "go", "env", "GOMOD"))
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		must(err)
		if name == "go.mod" {
			content = fmt.Appendf(content, "\nreplace go.etcd.io/bbolt => %s\n", module)
		}
		must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	binary := filepath.Join(dir, "child")
	run(t, "go", "test", "-c", "-modfile", filepath.Join(dir, "go.mod"), "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	return binary
}

// withFaults writes a source with its steps replaced and returns 1 if it has any.
func withFaults(t *testing.T, from, to string) int {
	t.Helper()
	before, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	after := faultPoints.Replace(string(before))
	if strings.Contains(after, "bbolt.Fault") && !strings.Contains(after, `"go.etcd.io/bbolt"`) {
		after = strings.Replace(after, "import (", "import (\n\t\"go.etcd.io/bbolt\"", 1)
	}
	if after != string(before) && strings.Contains(after, `"os"`) {
		after += "\nvar _ = os.Args // perhaps the only use that is left\n"
	}
	complete(t, filepath.Base(from), after)
	if err := os.WriteFile(to, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	if after == string(before) {
		return 0
	}
	return 1
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	var trouble strings.Builder
	command.Stderr = &trouble
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, &trouble)
	}
	return strings.TrimSpace(string(out))
}

func sources(t *testing.T, pkg string) (dir string, files []string) {
	t.Helper()
	out := run(t, "go", "list", "-json=Dir,GoFiles", pkg)
	var found struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	return found.Dir, found.GoFiles
}

// complete fails the test if a source still has a way to change a file that is no step.
func complete(t *testing.T, name, source string) {
	t.Helper()
	for _, line := range strings.Split(source, "\n") {
		code, _, _ := strings.Cut(line, "//")
		for _, m := range fileUses.FindAllStringSubmatch(code, -1) {
			if !harmless[m[1]] {
				t.Errorf("%s: file.%s is no step: %s", name, m[1], line)
			}
		}
		for _, m := range systemUses.FindAllStringSubmatch(code, -1) {
			t.Errorf("%s: %s is no step: %s", name, m[1], line)
		}
		for _, m := range directories.FindAllStringSubmatch(code, -1) {
			if name == "create.go" && !harmless[m[1]] {
				t.Errorf("%s: d.%s is no step: %s", name, m[1], line)
			}
		}
	}
}
