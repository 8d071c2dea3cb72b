package lsp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// TestSearch checks the limits of a search for CRDs, and the problems that it reports.
func TestSearch(t *testing.T) {
	other := strings.NewReplacer("crontabs", "others", "CronTab", "Other").Replace(crd)
	root := workspaceWith(t, map[string]string{"a/1.yaml": crd, "b/2.yaml": other, "c/3.txt": "", ".hidden/4.yaml": crd,
		"d/node_modules/5.yaml": crd, "empty/a.txt": ""})
	many := bounds{entries: 100, bytes: 1 << 20, time: time.Hour}
	for name, tc := range map[string]struct {
		bounds bounds
		crds   []string // of the settings
		want   int      // CRDs
		report string   // part of the only problem, "": none
	}{
		"all":             {many, nil, 2, ""},
		"entries":         {bounds{4, 1 << 20, time.Hour}, nil, 1, "ended after 4 files and folders"}, // a/1.yaml is the fourth
		"bytes":           {bounds{100, 1, time.Hour}, nil, 1, "ended after 0 MiB"},
		"time":            {bounds{100, 1 << 20, time.Nanosecond}, nil, 0, "ended after 1ns"},
		"its own bounds":  {bounds{12, 1 << 20, time.Hour}, []string{"a/1.yaml", "b"}, 2, ""},
		"no manifests":    {many, []string{"empty"}, 2, "empty: the directory has no .yaml, .yml or .json file"},
		"a missing file":  {many, []string{"missing.yaml"}, 2, "missing.yaml are unknown: no such file"},
		"several missing": {many, []string{"missing.yaml", "2.yaml"}, 2, "directory (and 1 more)"},
		"an unusual name": {many, []string{"empty/a.txt"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := folders{bounds: tc.bounds}
			settings := Settings{}
			for _, crds := range tc.crds {
				settings.CRDs = append(settings.CRDs, filepath.Join(root, crds))
			}
			w.load(t.Context(), []string{root}, settings, nil)
			problems := w.takeProblems()
			if tc.report == "" && len(problems) != 0 || tc.report != "" && (len(problems) != 1 ||
				!strings.Contains(problems[0], tc.report)) {
				t.Errorf("problems %q, want %q", problems, tc.report)
			}
			if got := len(w.set().CRDs()); got != tc.want {
				t.Errorf("%d CRDs, want %d", got, tc.want)
			}
		})
	}
}

// TestChangedFiles checks which changed files are read.
func TestChangedFiles(t *testing.T) {
	root := workspaceWith(t, map[string]string{".crds/a.txt": ""})
	w := folders{bounds: defaultBounds}
	w.load(t.Context(), []string{filepath.Join(root, "other"), root},
		Settings{CRDs: []string{filepath.Join(root, ".crds")}}, nil)
	for name, want := range map[string]bool{
		"1.yaml": true, "a/2.yaml": true, ".cache/3.yaml": false, "a/node_modules/b/4.yaml": false, ".crds/a/5.yaml": true,
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(crd), 0o600)); err != nil {
			t.Fatal(err)
		}
		f, err := w.read(t.Context(), path)
		if err != nil || (len(f.CRDs) > 0) != want {
			t.Errorf("%s: %d CRDs, %v", name, len(f.CRDs), err)
		}
	}
}

// TestChangedSettings checks that a change of the settings applies to documents whose text and CRDs stay the same.
func TestChangedSettings(t *testing.T) {
	root := workspaceWith(t, map[string]string{"a.yaml": object})
	var loads atomic.Int32
	c := connect(t, root, Options{Settings: func(string) (Settings, error) {
		skip := loads.Add(1) > 1
		return Settings{SkipKind: func(string, string) bool { return skip }}, nil
	}, Reload: func(string) bool { return true }})
	c.open("a.yaml")
	if list := c.diagnostics("a.yaml"); len(list) != 1 || list[0].Code != diagnosis.NotChecked {
		t.Error(list)
	}
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{
		"uri": c.uri("settings"), "type": 2}}})
	c.wait("no diagnostics", func() bool { return len(c.published[c.uri("a.yaml")].Diagnostics) == 0 })
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestDeletedDirectory checks that the CRDs of a deleted directory are not used any more. The client reports only the
// directory.
func TestDeletedDirectory(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crds/a/crd.yaml": crd, "crds-2/b.yaml": "", "a.yaml": object})
	c := connect(t, root, Options{})
	c.open("a.yaml")
	if list := c.diagnostics("a.yaml"); len(list) != 1 {
		t.Error(list)
	}
	if err := os.RemoveAll(filepath.Join(root, "crds")); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{
		"uri": c.uri("crds"), "type": 3}}})
	c.wait("NotChecked", func() bool { return c.published[c.uri("a.yaml")].Diagnostics[0].Code == diagnosis.NotChecked })
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestPipe checks that a pipe does not block the server.
func TestPipe(t *testing.T) {
	root := workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": object})
	for _, name := range []string{"pipe.yaml", "pipe"} {
		testenv.Pipe(t, filepath.Join(root, name))
	}
	c := connect(t, root, Options{Settings: func(string) (Settings, error) {
		return Settings{CRDs: []string{filepath.Join(root, "pipe")}}, nil
	}})
	c.open("a.yaml")
	if list := c.diagnostics("a.yaml"); len(list) != 1 {
		t.Error(list)
	}
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{
		"uri": c.uri("pipe.yaml"), "type": 2}}})
	c.change("a.yaml", "replicas: x", "replicas: 1")
	if list := c.diagnostics("a.yaml"); len(list) != 0 {
		t.Error(list)
	}
	c.wait("message", func() bool {
		return len(c.shown) == 1 && strings.Contains(c.shown[0], "pipe are unknown: it is not a regular file")
	})
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestGiven checks that a CRD of the settings takes precedence over a nearer one.
func TestGiven(t *testing.T) {
	root := workspaceWith(t, map[string]string{
		"app/crd.yaml": crd, "app/a.yaml": object, "given/crd.yaml": strings.Replace(crd, "integer", "string", 1),
	})
	for name, want := range map[string]int{"": 1, "given": 0, "given/crd.yaml": 0, "app": 1} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, root, Options{Settings: func(string) (Settings, error) {
				if name == "" {
					return Settings{}, nil
				}
				return Settings{CRDs: []string{filepath.Join(root, name)}}, nil
			}})
			c.open("app/a.yaml")
			if list := c.diagnostics("app/a.yaml"); len(list) != want {
				t.Errorf("%+v, want %d diagnostics", list, want)
			}
			if err := c.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFieldValidation checks the severities of unknown and duplicate fields of objects and CRDs, and that violations
// besides them are reported as well.
func TestFieldValidation(t *testing.T) {
	root := workspaceWith(t, map[string]string{
		"crd.yaml": crd, "a.yaml": object + "  extra: 1\n  replicas: y\n",
		"b.yaml": strings.NewReplacer("crontabs", "others", "CronTab", "Other",
			"scope: Namespaced", "scope: Else\n  extra: 1\n  scope: Else").Replace(crd),
	})
	for validation, want := range map[engine.FieldValidation]string{
		engine.FieldValidationStrict: "DuplicateField 1, FieldValueTypeInvalid 1, UnknownField 1; " +
			"DuplicateField 1, FieldValueNotSupported 1, UnknownField 1",
		engine.FieldValidationWarn: "DuplicateField 2, FieldValueTypeInvalid 1, UnknownField 2; " +
			"DuplicateField 2, FieldValueNotSupported 1, UnknownField 2",
		engine.FieldValidationIgnore: "FieldValueTypeInvalid 1; FieldValueNotSupported 1",
	} {
		c := connect(t, root, Options{Settings: func(string) (Settings, error) {
			return Settings{FieldValidation: validation}, nil
		}})
		var files []string
		for _, name := range []string{"a.yaml", "b.yaml"} {
			c.open(name)
			var found []string
			for _, d := range c.diagnostics(name) {
				found = append(found, fmt.Sprint(d.Code, " ", d.Severity))
			}
			slices.Sort(found)
			files = append(files, strings.Join(found, ", "))
		}
		if got := strings.Join(files, "; "); got != want {
			t.Errorf("%v: %s, want %s", validation, got, want)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
}

// TestDanglingLink checks that a symbolic link to nothing is reported, and that the other files are read.
func TestDanglingLink(t *testing.T) {
	root := workspaceWith(t, map[string]string{"b.yaml": crd})
	if err := os.Symlink("missing.yaml", filepath.Join(root, "a.yaml")); err != nil {
		t.Skip(err) // Windows
	}
	w := folders{bounds: defaultBounds}
	w.load(t.Context(), []string{root}, Settings{}, nil)
	const want = "a.yaml are unknown: no such file"
	if problems := w.takeProblems(); len(problems) != 1 || !strings.Contains(problems[0], want) {
		t.Errorf("problems %q", problems)
	}
	if got := len(w.set().CRDs()); got != 1 {
		t.Errorf("%d CRDs, want 1", got)
	}
}
