package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// Control characters of manifests do not reach the terminal.
func TestControlCharacters(t *testing.T) {
	t.Chdir("testdata")
	object := "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: \"a\\e[31mred\\u009b1m\", namespace: default}\nspec: {size: 99}\n"
	code, stdout, stderr := invoke(t, object, "admit", "--crds", "admit-crd.yaml", "-")
	if code != exitRejected || !strings.Contains(stdout, `a\x1b[31mred\u009b1m`) || strings.ContainsAny(stdout+stderr, "\x1b\u009b") {
		t.Errorf("%d %q %q", code, stdout, stderr)
	}
}

// A name with line breaks stays on its line: CI systems run some lines as commands.
func TestLineBreaksInNames(t *testing.T) {
	t.Chdir("testdata")
	for _, object := range []string{
		"metadata: {name: \"a\\n::warning::b\\u202e\", namespace: default}\nspec: {size: 99}\n",
		"metadata: {name: a, namespace: default, labels: {\"x\\n::warning::b\": \"1\"}}\n",
		"metadata: {name: a, namespace: default}\n\"x\\n::warning::b\": 1\n",
	} {
		_, stdout, stderr := invoke(t, "apiVersion: example.com/v1\nkind: Kite\n"+object, "admit", "--crds", "admit-crd.yaml", "-")
		if strings.Contains(stdout+stderr, "\n::") || strings.Contains(stdout+stderr, "\u202e") || !strings.Contains(stdout, `\n::warning::b`) {
			t.Errorf("%q %q", stdout, stderr)
		}
	}
}

// The same applies to CRDs, in all commands.
func TestLineBreaksInCRDs(t *testing.T) {
	crd := file(t, strings.NewReplacer("kites", `"kites\n::warning::a"`, "KIND", `"Kite\n::warning::b"`, "FIELD", `"f\n::warning::c"`).Replace(
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: kites}\nspec:\n  group: x.io\n"+
			"  scope: Namespaced\n  names: {plural: kites, kind: KIND}\n  versions:\n  - {name: v1, served: true, storage: true,\n"+
			"     schema: {openAPIV3Schema: {type: object, properties: {FIELD: {type: strin}}}}}\n"))
	for _, args := range [][]string{{"check", crd}, {"diff", crd, crd}, {"admit", crd}, {"convert", "--crds", crd, "--to", "v1", crd}} {
		_, stdout, stderr := invoke(t, "", args...)
		if text := stdout + stderr; strings.Contains(text, "\n::") || !strings.Contains(text, `\n::warning::a`) {
			t.Errorf("%q: %q", args, text)
		}
	}
}

// fullDisk is the output of a program that cannot be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A result that could not be printed is not a success.
func TestLostOutput(t *testing.T) {
	t.Chdir("../../../deploy/samples")
	for _, args := range [][]string{
		{"test", "suites"}, {"test", "-v", "suites"}, {"test", "-o", "json", "suites"}, {"test", "--coverage", "suites"},
		{"check", "crds"}, {"admit", "--crds", "crds", "objects/crontab-rejected.yaml"}, {"version"},
	} {
		var errs bytes.Buffer
		code := run(t.Context(), args, environment{stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &errs})
		if code != exitError || !strings.Contains(errs.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%q: %d %s", args, code, &errs)
		}
	}
}

// A long list is parsed only once.
func TestLongListOnOneLine(t *testing.T) {
	t.Chdir("testdata")
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range 5_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"apiVersion":"example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{"size":3}}`)
	}
	b.WriteString("]}")
	code, stdout, stderr := invoke(t, b.String(), "admit", "-q", "--crds", "admit-crd.yaml", "-")
	if code != 0 || stdout != "5000 objects: 5000 allowed, 0 rejected\n" {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
}
