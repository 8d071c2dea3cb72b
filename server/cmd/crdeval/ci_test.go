package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCI runs the scripts in testdata/ci.
func TestCI(t *testing.T) {
	runScripts(t, "ci", scriptCommands{"exits": exits, "fingerprints": sameFingerprints})
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

// TestSARIFIsValid validates logs against the schema of SARIF 2.1.0.
func TestSARIFIsValid(t *testing.T) {
	testenv.E2E(t)
	schema := sarifSchemaOf(t)
	t.Chdir("testdata")
	for _, args := range []string{
		"admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml",
		"admit --crds admit-crd.yaml --field-validation warn --explain admit-new.yaml",
		"admit --crds admit-crd.yaml -p {} admit-old.yaml",
		"admit --crds hosts.yaml hosts-rejected.yaml host.yaml",
		"admit --crds admit-crd.yaml --skip-other-kinds host.yaml",
		"check --skip-other-kinds -R .",
		"check again.yaml buoys.yaml rejected.yaml buoys.yaml absent.yaml",
	} {
		_, stdout, stderr := invoke(t, "", append(strings.Fields(args), "-o", "sarif")...)
		log, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
		if err != nil {
			t.Fatalf("%s: %v %s", args, err, stderr)
		}
		if err := schema.Validate(log); err != nil {
			t.Errorf("%s: %v", args, err)
		}
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
	if id := document.(map[string]any)["id"]; id != sarifSchema {
		t.Fatalf("the schema has the id %v, but logs name %s", id, sarifSchema)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(sarifSchema, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
