package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// interruptedMigration ends a migration of files after one batch, and returns its state file.
func interruptedMigration(t *testing.T, args ...string) (state string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "state")
	var errs bytes.Buffer
	code := run(t.Context(), append(args, "--state", state), environment{stdout: &failingWriter{left: 1}, stderr: &errs})
	if code != exitError || !strings.Contains(errs.String(), fmt.Sprintf("%d objects done", maxBatch)) {
		t.Fatalf("exit code %d\n%s", code, &errs)
	}
	return state
}

// copyOf returns the path of a copy of a file with replacements.
func copyOf(t *testing.T, name string, replacements ...string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, strings.NewReplacer(replacements...).Replace(string(content)))
}

// lampsFile returns the path of a file with objects for more than two batches.
func lampsFile(t *testing.T) string {
	t.Helper()
	return file(t, manyLamps(maxBatch+5))
}

// TestMigrateRejectsChangedCRD changes the CRD or its rules between two runs.
func TestMigrateRejectsChangedCRD(t *testing.T) {
	const crdFile, rulesFile = "testdata/convert-crd.yaml", "testdata/convert-rules.yaml"
	input := lampsFile(t)
	crd, rules := copyOf(t, crdFile), copyOf(t, rulesFile)
	state := interruptedMigration(t, "migrate", input, "--crds", crd, "--crds", rules)
	for _, tc := range []struct {
		name, crd, rules string
		changed          bool
	}{
		{"storage version", copyOf(t, crdFile, "storage: true", "storage: false", "storage: false", "storage: true"), rules, true},
		{"schema", copyOf(t, crdFile, "maxLength: 20", "maxLength: 21"), rules, true},
		{"rules", crd, copyOf(t, rulesFile, "maxBytes: 500", "maxBytes: 400"), true},
		{"metadata", copyOf(t, crdFile, "metadata:", "metadata:\n  resourceVersion: '7'"), rules, false}, // and the files
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(t, "", "migrate", input, "--crds", tc.crd, "--crds", tc.rules, "--state", state)
			want := "the CRD lamps.example.com or its conversion rules changed since the last run: remove " + state + " to start again\n"
			if tc.changed && (code != exitError || stdout != "" || !strings.HasSuffix(stderr, want)) || !tc.changed && code != 0 {
				t.Errorf("exit code %d\n%.300s%s", code, stdout, stderr)
			}
		})
	}
}

// TestMigrateRejectsChangedCRDOfServer changes a registered CRD between two runs.
func TestMigrateRejectsChangedCRDOfServer(t *testing.T) {
	socket := serving(t)
	service, err := (&serviceFlags{Server: socket, Catalog: "default"}).dial()
	if err != nil {
		t.Fatal(err)
	}
	defer service.close()
	content, err := os.ReadFile("testdata/convert-none.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd, _, _ := strings.Cut(string(content), "---\n")
	register := func(manifest string) {
		t.Helper()
		if _, err := service.RegisterCRD(t.Context(), []byte(manifest)); err != nil {
			t.Fatal(err)
		}
	}
	register(crd)
	var chairs strings.Builder
	for i := range 2*maxBatch + 1 {
		fmt.Fprintf(&chairs, `{"apiVersion":"example.com/v1","kind":"Chair","metadata":{"name":"c%d"}}`+"\n", i)
	}
	args := []string{"migrate", file(t, chairs.String()), "--server", socket, "--crd", "chairs.example.com", "--write"}
	state := interruptedMigration(t, args...)
	register(strings.NewReplacer("storage: true", "storage: false", "storage: false", "storage: true").Replace(crd))
	code, stdout, stderr := invoke(t, "", append(args, "--state", state)...)
	if code != exitError || stdout != "" || !strings.Contains(stderr, "the CRD chairs.example.com or its conversion rules changed since the last run") {
		t.Errorf("exit code %d\n%.300s%s", code, stdout, stderr)
	}
	// A CRD without objects in the input does not matter.
	register(crd)
	register(strings.NewReplacer("chair", "table", "Chair", "Table").Replace(crd))
	if code, _, stderr := invoke(t, "", append(args, "--state", state)...); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestMigrateRejectsDamagedState changes counts of a state file.
func TestMigrateRejectsDamagedState(t *testing.T) {
	args := []string{"migrate", lampsFile(t), "--crds", "testdata/convert-crd.yaml", "--crds", "testdata/convert-rules.yaml"}
	state := interruptedMigration(t, args...)
	documents, half := fmt.Sprintf(`"documents":%d,`, maxBatch), maxBatch/2
	counts := fmt.Sprintf(`"migrated":%d,"current":%d`, half, half)
	for _, replacements := range [][]string{
		{documents, `"documents":-5,`},
		{documents, ""},
		{documents, `"documents":1,`},
		{counts, fmt.Sprintf(`"migrated":-1,"current":%d`, maxBatch+1)},
		{counts, counts + `,"deleted":-1,"skipped":1`},
		{counts, counts + `,"finished":true`},
		{`"digest":`, `"other":`},
		{counts, counts + `,"done":["a"]`},
	} {
		damaged := copyOf(t, state, replacements...)
		code, stdout, stderr := invoke(t, "", append(args, "--state", damaged)...)
		if code != exitError || stdout != "" || !strings.HasSuffix(stderr, damaged+" is damaged: remove it to start again\n") {
			t.Errorf("%s: exit code %d\n%.300s%s", replacements, code, stdout, stderr)
		}
	}
}
