package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failingWriter fails at a write.
type failingWriter struct {
	bytes.Buffer
	left int
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("no space")
	}
	return w.Buffer.Write(p)
}

// manyLamps has objects at both versions, one a line.
func manyLamps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"new%d"},"spec":{"watts":%d}}`+"\n", i, i%700)
		fmt.Fprintf(&b, `{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"old%d"},"spec":{"bulb":"b%d"}}`+"\n", i, i)
	}
	return b.String()
}

// TestMigrateContinues ends runs at each write of their output. The outputs of all runs together are those of one run.
func TestMigrateContinues(t *testing.T) {
	t.Chdir("testdata")
	const objects = 2*maxBatch + 10
	input := filepath.Join(t.TempDir(), "input.ndjson")
	if err := os.WriteFile(input, []byte(manyLamps(objects/2)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"migrate", "--crds", "convert-crd.yaml", "--crds", "convert-rules.yaml", input}
	code, whole, stderr := invoke(t, "", args...)
	if code != 0 || strings.Count(whole, "\n") != objects || strings.Contains(whole, "v1beta1") ||
		!strings.HasSuffix(stderr, fmt.Sprintf("%d objects: %d migrated, %d already in the storage version\n", objects, objects/2, objects/2)) {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for writes := range 3 {
		state := filepath.Join(t.TempDir(), "state")
		first := &failingWriter{left: writes}
		var errs bytes.Buffer
		code := run(t.Context(), append(args, "--state", state), environment{stdin: strings.NewReader(""), stdout: first, stderr: &errs})
		if want := fmt.Sprintf("no space; %d objects done: run the command again to continue", writes*maxBatch); code != exitError || !strings.Contains(errs.String(), want) {
			t.Errorf("exit code %d\n%s", code, &errs)
		}
		code, rest, stderr := invoke(t, "", append(args, "--state", state)...)
		if code != 0 || first.String()+rest != whole || !strings.HasPrefix(stderr, fmt.Sprintf("%d objects: ", objects)) {
			t.Errorf("after %d writes: exit code %d\n%s", writes, code, stderr)
		}
	}
	// The input changes between the runs.
	state := filepath.Join(t.TempDir(), "state")
	run(t.Context(), append(args, "--state", state), environment{stdout: &failingWriter{left: 1}, stderr: &bytes.Buffer{}})
	for _, changed := range []string{"", "{}\n" + manyLamps(objects/2)} {
		if err := os.WriteFile(input, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := invoke(t, "", append(args, "--state", state)...); code != exitError || !strings.Contains(stderr, "the files have changed since the last run") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	}
}

// TestMigrateStdin reads objects of stdin in each form.
func TestMigrateStdin(t *testing.T) {
	t.Chdir("testdata")
	const object = `{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"a"},"spec":{"bulb":"x"}}`
	const migrated = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","generation":1},"spec":{"light":{"bulb":"x"}}}` + "\n"
	long := strings.Repeat("x", 200_000)
	const list = `{"apiVersion":"v1","kind":"List","items":[` + object + "," + object + "]}"
	for _, tc := range []struct {
		name, stdin, stdout, stderr string
		code                        int
	}{
		{"a line", object, migrated, "1 object: 1 migrated\n", 0},
		{"a list in a line", list + "\n" + object, migrated + migrated + migrated, "3 objects: 3 migrated\n", 0},
		{"indented", strings.ReplaceAll(list, ",", ",\n  "), migrated + migrated, "2 objects: 2 migrated\n", 0},
		{"YAML", "---\n" + object + "\n---\n# comment\n" + object, migrated + migrated, "2 objects: 2 migrated\n", 0},
		{"empty", "", "", "crdeval: nothing was evaluated: the files have no object (--allow-empty: this is no error)\n", exitError},
		{"a broken line", object + "\n{\n" + object + "\n", migrated + migrated,
			"-:2:1: unreadable document: not migrated: ", exitRejected},
		{"another kind", object + "\n\n" + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`, migrated,
			"-:3: Pod p: not migrated: no CRD for Pod (v1)", exitRejected},
		{"a wrong version", strings.Replace(object, "v1beta1", "v7", 1), "",
			"-:1: Lamp a: not migrated: ", exitRejected},
		{"binary", "\x00\x01\xff\x1b[31m\n", "", "-:1:1: unreadable document: not migrated: ", exitRejected},
		{"long", strings.Replace(object, `"x"`, `"`+long+`"`, 1), strings.Replace(migrated, `"x"`, `"`+long+`"`, 1),
			"1 object: 1 migrated\n", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(t, tc.stdin, "migrate", "--crds", "convert-crd.yaml", "--crds", "convert-rules.yaml", "-")
			if code != tc.code || stdout != tc.stdout || !strings.HasPrefix(stderr, tc.stderr) || strings.ContainsAny(stderr, "\x00\x1b") {
				t.Errorf("exit code %d\nstdout: %.1000s\nstderr: %.1000s", code, stdout, stderr)
			}
		})
	}
}

// TestMigrateOut writes a file for each object, and no file elsewhere.
func TestMigrateOut(t *testing.T) {
	t.Chdir("testdata")
	dir := filepath.Join(t.TempDir(), "out")
	objects := `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","namespace":"n"}}` + "\n" +
		`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"../b","namespace":"n"}}` + "\n" +
		`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"c","namespace":".."}}` + "\n" +
		`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"generateName":"d"}}` + "\n"
	code, stdout, stderr := invoke(t, objects, "migrate", "--crds", "convert-crd.yaml", "--crds", "convert-rules.yaml", "-", "--out", dir)
	if code != exitRejected || stdout != "" || strings.Count(stderr, "cannot be the name of a file") != 2 || strings.Count(stderr, "it has no metadata.name") != 1 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	var found []string
	if err := filepath.WalkDir(filepath.Dir(dir), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, strings.TrimPrefix(path, dir))
		}
		return err
	}); err != nil || fmt.Sprint(found) != "[/Lamp.example.com/n/a.json]" {
		t.Errorf("%v %v", found, err)
	}
}

// TestMigrateWithServer sets the stored versions of a registered CRD once all objects are migrated.
func TestMigrateWithServer(t *testing.T) {
	t.Chdir("testdata")
	socket := serving(t)
	service, err := (&serviceFlags{Server: socket, Catalog: "default"}).dial()
	if err != nil {
		t.Fatal(err)
	}
	defer service.close()
	crd, err := os.ReadFile("convert-none.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest, objects, _ := strings.Cut(string(crd), "---\n")
	for _, storage := range []string{manifest, strings.NewReplacer("storage: true", "storage: false", "storage: false", "storage: true").Replace(manifest)} {
		if _, err := service.RegisterCRD(t.Context(), []byte(storage)); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"migrate", "-", "--server", socket, "--crd", "chairs.example.com", "--write"}
	code, stdout, stderr := invoke(t, objects+"---\nkind: Chair\n", args...)
	if code != exitRejected || strings.Contains(stderr, "stored versions") || !strings.Contains(stdout, `"apiVersion":"example.com/v2"`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = invoke(t, objects, args...)
	want := "stored versions of chairs.example.com: v2\n1 object: 1 migrated\n"
	if code != 0 || stderr != want || stdout != `{"apiVersion":"example.com/v2","kind":"Chair","legs":4,"metadata":{"name":"old","generation":1}}`+"\n" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestMigrateOutRejectsSameFile has two objects with the same file name, also in different runs.
func TestMigrateOutRejectsSameFile(t *testing.T) {
	t.Chdir("testdata")
	const twin = `{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"new0"},"spec":{"bulb":"twin"}}` + "\n"
	const namespaced = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"new0","namespace":"n"}}` + "\n"
	input, lines := filepath.Join(t.TempDir(), "input.ndjson"), manyLamps(maxBatch/2)
	if err := os.WriteFile(input, []byte(lines+namespaced+twin), 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s:%d: Lamp new0: not migrated: an earlier object has the same file name Lamp.example.com/new0.json\n",
		input, maxBatch+2)
	for _, continued := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{"migrate", input, "--crds", "convert-crd.yaml", "--crds", "convert-rules.yaml", "--out", dir}
		if continued {
			args = append(args, "--state", interruptedMigration(t, args...))
		}
		code, _, stderr := invoke(t, "", args...)
		if code != exitRejected || !strings.HasPrefix(stderr, want) || !strings.HasSuffix(stderr, ", 1 not migrated\n") {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		text, err := os.ReadFile(filepath.Join(dir, "Lamp.example.com", "new0.json"))
		if err != nil || strings.Contains(string(text), "twin") {
			t.Errorf("%s %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "Lamp.example.com", "n", "new0.json")); err != nil {
			t.Error(err)
		}
	}
}
