package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// definitionOf compiles a CRD whose field spec has a schema.
func definitionOf(t *testing.T, spec string) *engine.Definition {
	t.Helper()
	manifest := []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{
		"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec + `}}}}]}}`)
	d, report, err := engine.Compile(t.Context(), engine.YAML(manifest), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	return d
}

// bodyOf returns the spec of an object.
func bodyOf(object []byte) string {
	var o struct{ Spec json.RawMessage }
	_ = json.Unmarshal(object, &o)
	return string(o.Spec)
}

func TestDistinguish(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		o          engine.DistinguishOptions
		want, old  string // of spec
	}{
		{name: "maximum", a: `{type: object, properties: {i: {type: integer, maximum: 10}}}`,
			b: `{type: object, properties: {i: {type: integer, maximum: 5}}}`, want: `{"i":6}`},
		{name: "rule <= to <", a: `{type: object, properties: {minReplicas: {type: integer}, maxReplicas: {type: integer}}, required: [minReplicas, maxReplicas], x-kubernetes-validations: [{rule: "self.minReplicas <= self.maxReplicas"}]}`,
			b: `{type: object, properties: {minReplicas: {type: integer}, maxReplicas: {type: integer}}, required: [minReplicas, maxReplicas], x-kubernetes-validations: [{rule: "self.minReplicas < self.maxReplicas"}]}`, want: `{"maxReplicas":0,"minReplicas":0}`},
		{name: "dropped clause", a: `{type: object, properties: {a: {type: string, maxLength: 100}, b: {type: boolean}}, x-kubernetes-validations: [{rule: "!has(self.a) || self.a.startsWith('x-')"}]}`,
			b: `{type: object, properties: {a: {type: string, maxLength: 100}, b: {type: boolean}}, x-kubernetes-validations: [{rule: "!has(self.a) || self.a.startsWith('x-') && has(self.b)"}]}`, want: `{"a":"x-"}`},
		{name: "immutable", o: engine.DistinguishOptions{Update: true}, a: `{type: object, properties: {a: {type: string}}}`,
			b: `{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}`, want: `{"a":""}`, old: `{"a":"a"}`},
		{name: "either", o: engine.DistinguishOptions{Either: true},
			a: `{type: object, properties: {i: {type: integer, maximum: 5}}}`,
			b: `{type: object, properties: {i: {type: integer, maximum: 10}}}`, want: `{"i":6}`},
	} {
		a, b := definitionOf(t, tc.a), definitionOf(t, tc.b)
		d, err := engine.Distinguish(t.Context(), a, b, tc.o)
		if err != nil || d == nil {
			t.Errorf("%s: %v, %v", tc.name, d, err)
			continue
		}
		t.Logf("%s: %d tries: %s (old %s)", tc.name, d.Tries, d.Object, d.OldObject)
		if d.A.Allowed == d.B.Allowed {
			t.Errorf("%s: same verdicts", tc.name)
		}
		if got := bodyOf(d.Object); got != tc.want {
			t.Errorf("%s: the object is %s, want %s", tc.name, got, tc.want)
		}
		if got := bodyOf(d.OldObject); tc.old != "" && got != tc.old {
			t.Errorf("%s: the old object is %s, want %s", tc.name, got, tc.old)
		}
		again, err := engine.Distinguish(t.Context(), a, b, tc.o)
		if err != nil || again == nil || string(again.Object) != string(d.Object) || again.Tries != d.Tries {
			t.Errorf("%s: another result for the same seed: %+v, %v", tc.name, again, err)
		}
	}
}

func TestDistinguishFindsNothing(t *testing.T) {
	a := definitionOf(t, `{type: object, properties: {i: {type: integer, maximum: 5}}}`)
	b := definitionOf(t, `{type: object, properties: {i: {type: integer, maximum: 9}}}`)
	for _, o := range []engine.DistinguishOptions{{Tries: 50}, {Tries: 50, Update: true}} {
		if d, err := engine.Distinguish(t.Context(), a, b, o); d != nil || err != nil {
			t.Errorf("a looser bound: %+v, %v", d, err)
		}
	}
	if d, err := engine.Distinguish(t.Context(), a, a, engine.DistinguishOptions{Either: true, Tries: 50}); d != nil ||
		err != nil {
		t.Errorf("the same: %+v, %v", d, err)
	}
	if _, err := engine.Distinguish(t.Context(), a, b,
		engine.DistinguishOptions{Version: "v2"}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	if _, err := engine.Distinguish(t.Context(), a, b,
		engine.DistinguishOptions{Tries: -1}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Distinguish(ended, a, b,
		engine.DistinguishOptions{}); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Error(err)
	}
}

// TestDistinguishLengths: if a bound of the length changes by 1, a string that matches the pattern shows the change.
func TestDistinguishLengths(t *testing.T) {
	const schema = `{type: object, required: [s], properties: {s: {type: string, pattern: "^[a-z0-9]+(-[a-z0-9]{2,})*\\.example$", maxLength: %d}}}`
	a, b := definitionOf(t, fmt.Sprintf(schema, 253)), definitionOf(t, fmt.Sprintf(schema, 252))
	found, err := engine.Distinguish(t.Context(), a, b, engine.DistinguishOptions{})
	if err != nil || found == nil || len(bodyOf(found.Object)) != 253+len(`{"s":""}`) {
		t.Errorf("%+v, %v", found, err)
	}
}
