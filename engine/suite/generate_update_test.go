package suite_test

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSamplesOfOptionalOldSelf: a rule with optionalOldSelf that only updates violate gets an update.
func TestSamplesOfOptionalOldSelf(t *testing.T) {
	testenv.SingleGoroutine(t)
	d := fixture.Thing(t, `{type: object, required: [size], properties: {size: {type: integer}}, x-kubernetes-validations: [
		{rule: "!oldSelf.hasValue() || self.size >= oldSelf.value().size", optionalOldSelf: true},
		{rule: "oldSelf.hasValue() || self.size < 5", optionalOldSelf: true}]}`)
	s := samplesOf(t, d, suite.GenerateOptions{Valid: 1, Invalid: 100})
	if len(s.Unbroken) > 0 {
		t.Errorf("not violated: %v", s.Unbroken)
	}
	for _, x := range s.Invalid {
		if x.Constraint.Kind == "rule" && (x.OldObject != nil) != (x.Constraint.SchemaPointer == "/properties/spec/x-kubernetes-validations/0") {
			t.Errorf("%s: %s, old %s", x.Constraint, x.Object, x.OldObject)
		}
	}
}

// TestSamplesOfStoredOldObject: the old object of an update is what its creation stores, so rules read its defaults.
func TestSamplesOfStoredOldObject(t *testing.T) {
	d := fixture.Thing(t, `{type: object, properties: {mode: {type: string, default: x, maxLength: 9}},
		x-kubernetes-validations: [{rule: "self.mode == oldSelf.mode"}]}`)
	s := samplesOf(t, d, suite.GenerateOptions{Valid: 1, Invalid: 100})
	updates := 0
	for _, x := range s.Invalid {
		if x.OldObject == nil {
			continue
		}
		if updates++; !strings.Contains(fixture.Spec(x.OldObject), `"mode":`) {
			t.Errorf("%s: old object %s", x.Constraint, x.OldObject)
		}
	}
	if updates == 0 {
		t.Error("no sample is an update")
	}
}
