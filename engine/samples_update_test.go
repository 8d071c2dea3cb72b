package engine_test

import (
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// TestSamplesOfOptionalOldSelf: a rule with optionalOldSelf that only updates violate gets an update.
func TestSamplesOfOptionalOldSelf(t *testing.T) {
	d := definitionOf(t, `{type: object, required: [size], properties: {size: {type: integer}}, x-kubernetes-validations: [
		{rule: "!oldSelf.hasValue() || self.size >= oldSelf.value().size", optionalOldSelf: true},
		{rule: "oldSelf.hasValue() || self.size < 5", optionalOldSelf: true}]}`)
	s := samplesOf(t, d, engine.SampleOptions{Valid: 1, Invalid: 100})
	if len(s.Unbroken) > 0 {
		t.Errorf("not violated: %v", s.Unbroken)
	}
	for _, x := range s.Invalid {
		if x.Constraint.Kind == "rule" && (x.OldObject != nil) != (x.Constraint.SchemaPointer == "/properties/spec/x-kubernetes-validations/0") {
			t.Errorf("%s: %s, old %s", x.Constraint, x.Object, x.OldObject)
		}
	}
}
