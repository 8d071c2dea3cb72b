package engine_test

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSamplesOfOptionalOldSelf: a rule with optionalOldSelf that only updates violate gets an update.
func TestSamplesOfOptionalOldSelf(t *testing.T) {
	testenv.SingleGoroutine(t)
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

// TestStoredOldObject: the old object of an update is what its creation stores, so rules read its defaults.
func TestStoredOldObject(t *testing.T) {
	const plain = `{type: object, properties: {mode: {type: string, default: x, maxLength: 9}}`
	a, b := definitionOf(t, plain+`}`), definitionOf(t, plain+`, x-kubernetes-validations: [{rule: "self.mode == oldSelf.mode"}]}`)
	found, err := engine.Distinguish(t.Context(), a, b, engine.DistinguishOptions{Update: true})
	if err != nil || found == nil || !strings.Contains(bodyOf(found.OldObject), `"mode":`) {
		t.Fatalf("%+v, %v", found, err)
	}
	s := samplesOf(t, b, engine.SampleOptions{Valid: 1, Invalid: 100})
	for _, x := range s.Invalid {
		if x.OldObject != nil && !strings.Contains(bodyOf(x.OldObject), `"mode":`) {
			t.Errorf("%s: old object %s", x.Constraint, x.OldObject)
		}
	}
}
