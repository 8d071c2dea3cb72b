package diagnosis

import (
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// TestOfErrorPlace checks the place of errors of documents that cannot be evaluated.
func TestOfErrorPlace(t *testing.T) {
	at := &engine.Position{Line: 2, Column: 1, Offset: 9}
	for name, c := range map[string]struct {
		err     engine.Error
		pointer string
		at      *engine.Position
	}{
		"a position": {engine.Error{Reason: engine.ReasonObjectUnreadable, Position: at}, "", at},
		"a violation": {engine.Error{Reason: engine.ReasonObjectRejected,
			Violations: []engine.Violation{{Pointer: "/metadata/name", Position: at}}}, "/metadata/name", at},
		"not a CRD":          {engine.Error{Reason: engine.ReasonNotACRD}, "/kind", nil},
		"an unknown version": {engine.Error{Reason: engine.ReasonVersionNotFound}, "/apiVersion", nil},
		"no place":           {engine.Error{Reason: engine.ReasonItemDeadline}, "", nil},
	} {
		if f := OfError(&c.err); f.Pointer != c.pointer || f.Position != c.at {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
