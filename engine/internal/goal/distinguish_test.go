package goal_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/internal/goal"
)

// distinguish runs Distinguish with public Definitions of version v1.
func distinguish(ctx context.Context, a, b *engine.Definition, o goal.Options) (*goal.Distinction, int, error) {
	o.Version, o.Tries = cmp.Or(o.Version, "v1"), cmp.Or(o.Tries, 1000)
	return goal.Distinguish(ctx, compiled.Of(a), compiled.Of(b), o)
}

// accepts reports whether a CRD accepts the write of a distinction.
func accepts(t *testing.T, of *engine.Definition, d *goal.Distinction) bool {
	t.Helper()
	var w engine.Write = engine.Create{Version: "v1", Object: engine.JSON(d.Object)}
	if d.OldObject != nil {
		w = engine.Update{Version: "v1", Object: engine.JSON(d.Object), Old: engine.JSON(d.OldObject)}
	}
	v, err := of.Validate(t.Context(), w, engine.ValidateOptions{CompleteMetadata: d.OldObject != nil})
	if err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}

func TestDistinguish(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		o          goal.Options
		want, old  string // of spec
	}{
		{name: "maximum", a: `{type: object, properties: {i: {type: integer, maximum: 10}}}`,
			b: `{type: object, properties: {i: {type: integer, maximum: 5}}}`, want: `{"i":6}`},
		{name: "rule <= to <", a: `{type: object, properties: {minReplicas: {type: integer}, maxReplicas: {type: integer}}, required: [minReplicas, maxReplicas], x-kubernetes-validations: [{rule: "self.minReplicas <= self.maxReplicas"}]}`,
			b: `{type: object, properties: {minReplicas: {type: integer}, maxReplicas: {type: integer}}, required: [minReplicas, maxReplicas], x-kubernetes-validations: [{rule: "self.minReplicas < self.maxReplicas"}]}`, want: `{"maxReplicas":0,"minReplicas":0}`},
		{name: "dropped clause", a: `{type: object, properties: {a: {type: string, maxLength: 100}, b: {type: boolean}}, x-kubernetes-validations: [{rule: "!has(self.a) || self.a.startsWith('x-')"}]}`,
			b: `{type: object, properties: {a: {type: string, maxLength: 100}, b: {type: boolean}}, x-kubernetes-validations: [{rule: "!has(self.a) || self.a.startsWith('x-') && has(self.b)"}]}`, want: `{"a":"x-"}`},
		{name: "immutable", o: goal.Options{Update: true}, a: `{type: object, properties: {a: {type: string}}}`,
			b: `{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}`, want: `{"a":""}`, old: `{"a":"a"}`},
		{name: "either", o: goal.Options{Either: true},
			a: `{type: object, properties: {i: {type: integer, maximum: 5}}}`,
			b: `{type: object, properties: {i: {type: integer, maximum: 10}}}`, want: `{"i":6}`},
	} {
		a, b := fixture.Thing(t, tc.a), fixture.Thing(t, tc.b)
		d, tries, err := distinguish(t.Context(), a, b, tc.o)
		if err != nil || d == nil {
			t.Errorf("%s: %v, %v", tc.name, d, err)
			continue
		}
		t.Logf("%s: %d tries: %s (old %s)", tc.name, tries, d.Object, d.OldObject)
		if accepts(t, a, d) == accepts(t, b, d) {
			t.Errorf("%s: same verdicts", tc.name)
		}
		if got := fixture.Spec(d.Object); got != tc.want {
			t.Errorf("%s: the object is %s, want %s", tc.name, got, tc.want)
		}
		if got := fixture.Spec(d.OldObject); tc.old != "" && got != tc.old {
			t.Errorf("%s: the old object is %s, want %s", tc.name, got, tc.old)
		}
		again, more, err := distinguish(t.Context(), a, b, tc.o)
		if err != nil || again == nil || string(again.Object) != string(d.Object) || more != tries {
			t.Errorf("%s: another result for the same seed: %+v, %v", tc.name, again, err)
		}
	}
}

func TestDistinguishFindsNothing(t *testing.T) {
	a := fixture.Thing(t, `{type: object, properties: {i: {type: integer, maximum: 5}}}`)
	b := fixture.Thing(t, `{type: object, properties: {i: {type: integer, maximum: 9}}}`)
	for _, o := range []goal.Options{{Tries: 50}, {Tries: 50, Update: true}} {
		if d, _, err := distinguish(t.Context(), a, b, o); d != nil || err != nil {
			t.Errorf("a looser bound: %+v, %v", d, err)
		}
	}
	if d, _, err := distinguish(t.Context(), a, a, goal.Options{Either: true, Tries: 50}); d != nil ||
		err != nil {
		t.Errorf("the same: %+v, %v", d, err)
	}
	if _, _, err := distinguish(t.Context(), a, b,
		goal.Options{Write: goal.Write{Version: "v2"}}); engine.ReasonOf(compiled.Error(err)) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	if _, _, err := distinguish(t.Context(), a, b,
		goal.Options{Tries: -1}); engine.ReasonOf(compiled.Error(err)) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := distinguish(ended, a, b,
		goal.Options{}); engine.ReasonOf(compiled.Error(err)) != engine.ReasonItemDeadline {
		t.Error(err)
	}
}

// TestDistinguishLengths: if a bound of the length changes by 1, a string that matches the pattern shows the change.
func TestDistinguishLengths(t *testing.T) {
	const schema = `{type: object, required: [s], properties: {s: {type: string, pattern: "^[a-z0-9]+(-[a-z0-9]{2,})*\\.example$", maxLength: %d}}}`
	a, b := fixture.Thing(t, fmt.Sprintf(schema, 253)), fixture.Thing(t, fmt.Sprintf(schema, 252))
	found, _, err := distinguish(t.Context(), a, b, goal.Options{})
	if err != nil || found == nil || len(fixture.Spec(found.Object)) != 253+len(`{"s":""}`) {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestStoredOldObject: the old object of an update is what its creation stores, so rules read its defaults.
func TestStoredOldObject(t *testing.T) {
	const plain = `{type: object, properties: {mode: {type: string, default: x, maxLength: 9}}`
	a, b := fixture.Thing(t, plain+`}`), fixture.Thing(t, plain+`, x-kubernetes-validations: [{rule: "self.mode == oldSelf.mode"}]}`)
	found, _, err := distinguish(t.Context(), a, b, goal.Options{Update: true})
	if err != nil || found == nil || !strings.Contains(fixture.Spec(found.OldObject), `"mode":`) {
		t.Fatalf("%+v, %v", found, err)
	}
}
