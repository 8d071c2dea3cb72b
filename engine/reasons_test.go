package engine

import (
	"errors"
	"testing"
)

// TestTypeMetaReasons: the error about a document that cannot be read has a violation.
func TestTypeMetaReasons(t *testing.T) {
	_, _, err := YAML([]byte("a: 1\nb: [1\nc: 2\n")).TypeMeta(Limits{})
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Violations) != 1 || e.Violations[0].Type != TypeSyntax || place(e.Violations[0].Position) != "2:1" ||
		e.Violations[0].Error() != "invalid YAML: did not find expected ',' or ']'" {
		t.Errorf("%+v", err)
	}
}
