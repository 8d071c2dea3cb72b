package repository

import (
	"errors"
	"testing"
)

// TestTemplate checks which unreadable files count as templates: those with {{ outside of strings and comments.
func TestTemplate(t *testing.T) {
	f, err := NewFilter(t.TempDir(), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{
		"{{- if .Values.on }}\na: b\n{{- end }}\n": true, "a: {{ .Values.b }}\n": true, "a: [\nb: \"{{ c }}\"\n": false,
		"a: [ # {{ c }}\n": false, "a: '\n": false,
	} {
		if got := f.Template("a.yaml", []byte(content), errors.New("it is broken")).Kind == Template; got != want {
			t.Errorf("%q is a template: %t", content, got)
		}
	}
}
