package main

import (
	"strings"
	"testing"
)

// Control characters of manifests do not reach the terminal.
func TestControlCharacters(t *testing.T) {
	t.Chdir("testdata")
	object := "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: \"a\\e[31mred\\u009b1m\", namespace: default}\nspec: {size: 99}\n"
	code, stdout, stderr := invoke(t, object, "admit", "--crds", "admit-crd.yaml", "-")
	if code != exitRejected || !strings.Contains(stdout, `a\x1b[31mred\x9b1m`) || strings.ContainsAny(stdout+stderr, "\x1b\u009b") {
		t.Errorf("%d %q %q", code, stdout, stderr)
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
