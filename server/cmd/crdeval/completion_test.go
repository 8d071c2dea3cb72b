package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCandidates completes command lines.
func TestCandidates(t *testing.T) {
	for line, want := range map[string][]string{
		"ch":                           {"check"},
		"admit --field-v":              {"--field-validation"},
		"admit --field-validation ":    {"strict", "warn", "ignore"},
		"admit --field-validation=w":   {"--field-validation=warn"},
		"admit --field-validation = w": {"warn"},
		"admit --field-validation =":   {"strict", "warn", "ignore"},
		"admit -o st":                  {"stored"},
		"admit --crds check --exp":     {"--explain"},
		"completion ":                  {"bash", "zsh", "fish"},
		"check fi":                     nil,
		"__":                           nil,
		"lsp --std":                    nil,
	} {
		args := append([]string{"__complete", "--"}, strings.Split(line, " ")...)
		code, stdout, stderr := invoke(t, "", args...)
		var got []string
		for line := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		if code != 0 || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q; %d %s", line, got, want, code, stderr)
		}
	}
}

// TestBashCompletion completes in bash with the script.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{self: "crdeval-process"} {
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	_, script, _ := invoke(t, "", "completion", "bash")
	for words, want := range map[string]string{
		"crdeval ad":           "admit",
		"crdeval check --recu": "--recursive",
		"crdeval admit -o tab": "table",
		"crdeval check go.m":   "", // a file
	} {
		test := script + `
crdeval() { crdeval-process "$@"; }
COMP_WORDS=(` + words + `)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_crdeval
printf '%s\n' "${COMPREPLY[@]}"
complete -p crdeval`
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", test)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want+"\ncomplete -o default -F _crdeval crdeval\n" {
			t.Errorf("%s: %v\n%s", words, err, out)
		}
	}
}

// manLine matches the lines of the page that begin with a macro.
var manLine = regexp.MustCompile(`(?m)^[.'].*$`)

// TestMan checks the macros of the manual page and that it has all commands and flags. .ci/editors also runs mandoc.
func TestMan(t *testing.T) {
	code, page, stderr := invoke(t, "", "man")
	if code != 0 || !strings.HasPrefix(page, ".TH CRDEVAL 1 ") {
		t.Fatalf("%d %s %s", code, page, stderr)
	}
	if !strings.HasPrefix(page, `.TH CRDEVAL 1 "" "crdeval devel" "User Commands"`+"\n") {
		t.Errorf("the title is wrong: %.200s", page)
	}
	for _, line := range manLine.FindAllString(page, -1) {
		name, _, _ := strings.Cut(line[1:], " ")
		if !slices.Contains([]string{"TH", "SH", "SS", "B", "BR", "I", "RI", "PP", "TP", "nf", "fi"}, name) {
			t.Errorf("unknown macro in %q", line)
		}
	}
	for _, want := range []string{".SS check\n", ".SS serve\n", `.B \-\-field\-validation="strict"`, `.B \-\-watch`,
		".SH EXIT STATUS\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "__complete") {
		t.Error("the page has a hidden command")
	}
}
