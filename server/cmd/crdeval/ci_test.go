package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// TestCI runs the scripts in testdata/ci.
func TestCI(t *testing.T) {
	runScripts(t, "ci", scriptCommands{"exits": exits, "fingerprints": sameFingerprints, "results": sarifResults, "https": serveFiles, "expand": expand,
		"failures": sarifFailures})
}

// TestConfigAndEnvironment: environment variables take precedence over the configuration file, and flags over both.
func TestConfigAndEnvironment(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("check: {output: junit}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ variable, flag, want string }{
		{"", "", "<?xml"}, {"json", "", `{"file"`}, {"json", "github", "1 CRD: "},
	} {
		if tc.variable != "" {
			t.Setenv("CRDEVAL_OUTPUT", tc.variable)
		}
		args := []string{"check", "--config", config, "-"}
		if tc.flag != "" {
			args = append(args, "-o", tc.flag)
		}
		code, stdout, stderr := invoke(t, good, args...)
		if code != 0 || !strings.HasPrefix(stdout, tc.want) {
			t.Errorf("%+v: %d %s %s", tc, code, stdout, stderr)
		}
	}
}

// exits runs a command, and compares its exit code: exits CODE ARGUMENTS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if ts.Check(err); neg {
		ts.Fatalf("exits has an exit code: it cannot be negated")
	}
	if code := runForScript(ts, args[1:]); code != want {
		ts.Fatalf("exit code %d, not %d", code, want)
	}
}

var fingerprint = regexp.MustCompile(`"crdevalProblem/v1": "\S+"`)

// sameFingerprints fails unless two logs have the same fingerprints: fingerprints FILE FILE.
func sameFingerprints(ts *testscript.TestScript, _ bool, args []string) {
	a, b := fingerprint.FindAllString(ts.ReadFile(args[0]), -1), fingerprint.FindAllString(ts.ReadFile(args[1]), -1)
	if len(a) == 0 || !reflect.DeepEqual(a, b) {
		ts.Fatalf("the fingerprints are %q and %q", a, b)
	}
}

// sarifResults prints a line for each result of a log, with the text of its file at its position: results LOG.
func sarifResults(ts *testscript.TestScript, _ bool, args []string) {
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					Physical struct {
						Artifact struct{ URI string } `json:"artifactLocation"`
						Region   struct{ StartLine, StartColumn int }
					} `json:"physicalLocation"`
				}
			}
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &log))
	for _, r := range log.Runs[0].Results {
		at := r.Locations[0].Physical
		lines := strings.Split(ts.ReadFile(at.Artifact.URI), "\n")
		text := []rune(lines[at.Region.StartLine-1])
		fmt.Fprintf(ts.Stdout(), "%s:%d:%d %s at %s\n", at.Artifact.URI, at.Region.StartLine, at.Region.StartColumn, r.RuleID,
			string(text[max(1, at.Region.StartColumn)-1:]))
	}
}

// sarifFailures prints the errors that ended the run of a log: failures LOG. It fails if the log says that the run was
// successful.
func sarifFailures(ts *testscript.TestScript, _ bool, args []string) {
	var log struct {
		Runs []struct {
			Results     []any
			Invocations []struct {
				ExecutionSuccessful        bool
				ToolExecutionNotifications []struct {
					Level   string
					Message struct{ Text string }
				}
			}
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &log))
	run := log.Runs[0]
	if run.Invocations[0].ExecutionSuccessful || run.Results == nil {
		ts.Fatalf("%+v", run)
	}
	n := 0
	for _, of := range run.Invocations[0].ToolExecutionNotifications {
		if of.Level == "error" {
			n++
			fmt.Fprintln(ts.Stdout(), of.Message.Text)
		}
	}
	fmt.Fprintf(ts.Stdout(), "%d failures\n", n)
}

// TestSARIFIsValid validates logs against the schema of SARIF 2.1.0.
func TestSARIFIsValid(t *testing.T) {
	testenv.E2E(t)
	schema := sarifSchemaOf(t)
	check := func(args string) {
		command, rest, _ := strings.Cut(args, " ")
		_, stdout, stderr := invoke(t, "", append([]string{command, "-o", "sarif"}, strings.Fields(rest)...)...)
		log, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
		if err != nil {
			t.Fatalf("%s: %v %s", args, err, stderr)
		}
		if err := schema.Validate(log); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, repository := range []string{"flux", "argo", "helm", "plain"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "ci", repository+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := txtar.Write(archive, dir); err != nil {
			t.Fatal(err)
		}
		check("admit --repository " + dir)
	}
	t.Chdir("testdata")
	for _, args := range []string{
		"admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml",
		"admit --crds admit-crd.yaml --field-validation warn --explain admit-new.yaml",
		"admit --crds admit-crd.yaml -p {} admit-old.yaml",
		"admit --crds hosts.yaml hosts-rejected.yaml host.yaml",
		"admit --crds admit-crd.yaml --skip-other-kinds host.yaml",
		"check --skip-other-kinds -R .",
		"check again.yaml buoys.yaml rejected.yaml buoys.yaml absent.yaml",
		"admit --crds absent.yaml host.yaml", "check --kubernetes 1.3 buoys.yaml", "test suites",
		"diff old.yaml new.yaml --objects objects.yaml", "convert --check convert-lossy.yaml --crds convert-crd.yaml -n 100",
	} {
		check(args)
	}
	wrong, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"version": "2.1.0", "runs": [{"tool": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(wrong) == nil {
		t.Error("the schema accepts a run without a driver")
	}
}

// sarifSchemaOf returns the schema of the specification. The module of gosec, which the linter uses, contains it.
func sarifSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/securego/gosec/v2")
	download.Dir = filepath.Join("..", "..", "..", ".tools", "lint")
	out, err := download.Output()
	var module struct{ Dir, Error string }
	if err = errors.Join(err, json.Unmarshal(out, &module)); err != nil || module.Error != "" {
		t.Fatalf("download the module github.com/securego/gosec/v2, which contains the schema of SARIF: %v %s", err, module.Error)
	}
	text, err := os.Open(filepath.Join(module.Dir, "report", "sarif", "testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatalf("the schema of SARIF is no longer in github.com/securego/gosec/v2: %v", err)
	}
	defer func() { _ = text.Close() }()
	document, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if id := document.(map[string]any)["id"]; id != output.SARIFSchema {
		t.Fatalf("the schema has the id %v, but logs name %s", id, output.SARIFSchema)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(output.SARIFSchema, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(output.SARIFSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
