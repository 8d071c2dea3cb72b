package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletions completes command lines. .ci/editors completes them in shells. The directives at the end are those of
// cobra: 0 completes all files, 4 no files, 8 files with these extensions, 16 directories.
func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"ch":                         "check :4",
		"admit --field-v":            "--field-validation :4",
		"admit --field-validation ":  "strict warn ignore :4",
		"admit --field-validation=w": "strict warn ignore :4", // the scripts look for "w"
		"diff --show c":              "breaking care compatible :4",
		"admit --crds check --exp":   "--explain :4",
		"admit --subresource ":       "status scale :4",
		"admit --crds a --cr":        "--crds :4", // it can be repeated
		"admit --namespace ":         ":4",
		"admit --tls-ca ":            ":0",
		"check ":                     "yaml yml json :8",
		"check a ":                   "yaml yml json :8",
		"generate --output-dir ":     ":16",
		"generate ":                  ":4",
		"crds ":                      "pull list :4",
		"crds pull ":                 ":4",
		"serve --store ":             "bolt memory etcd :4",
		"completion ":                "bash fish powershell zsh :4",
		"help adm":                   "admit :4",
		"lsp --std":                  ":4",
	} {
		code, stdout, stderr := invoke(t, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		var got []string
		for line := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		if code != 0 || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q; %d %s", line, got, want, code, stderr)
		}
	}
}

// TestCompletionScripts tests that there is a script for each shell.
func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{"bash": "complete -o default", "zsh": "#compdef crdeval", "fish": "complete -c crdeval", "powershell": "Register-ArgumentCompleter"} {
		if code, script, stderr := invoke(t, "", "completion", shell); code != 0 || !strings.Contains(script, want) {
			t.Errorf("%s: %d %s", shell, code, stderr)
		}
	}
}

// TestMan checks that the pages have all commands and flags. .ci/editors reads them with mandoc.
func TestMan(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	dir := t.TempDir()
	if code, _, stderr := invoke(t, "", "man", "--output-dir", dir); code != 0 {
		t.Fatal(code, stderr)
	}
	commands := newRoot(&invocation{}).Commands()
	for _, c := range commands {
		page, err := os.ReadFile(filepath.Join(dir, "crdeval-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if title := `.TH "CRDEVAL-` + strings.ToUpper(c.Name()) + `" "1" "Jan 2026" "crdeval devel" "User Commands"`; !strings.Contains(string(page), title) {
			t.Errorf("%s has no title %s: %.300s", c.Name(), title, page)
		}
		if c.Name() == "admit" && (!strings.Contains(string(page), `\fB--exclude\fP`) || !strings.Contains(string(page), `deploy/**/generated-*\&.yaml`)) {
			t.Errorf("the page of admit lacks a flag: %s", page)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || !slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() == "crdeval.1" }) {
		t.Errorf("%v, %v", files, err)
	}
	code, page, stderr := invoke(t, "", "man", "check")
	if code != 0 || !strings.Contains(page, "Exit code 1: a CRD is rejected.") || !strings.Contains(page, `\fB--old\fP=FILE`) ||
		!strings.Contains(page, "FILE: Files or directories with CRDs; - for stdin.") {
		t.Errorf("%d %s %s", code, page, stderr)
	}
	if code, page, _ := invoke(t, "", "man"); code != 0 || !strings.Contains(page, "crdeval-admit(1)") {
		t.Errorf("%d %s", code, page)
	}
}
