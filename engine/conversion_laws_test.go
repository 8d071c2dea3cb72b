package engine_test

import (
	"context"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

// portsRules turn a list into a map, with lists in it.
const portsRules = `
crd: ports.example.com
between: [v1beta1, v1]
rules:
- list: {path: spec.ports, key: name, map: spec.portsByName}
- move: {from: "spec.ports[*].proto", to: "spec.portsByName[*].protocol"}
- move: {from: "spec.ports[*].paths[*].weight", to: "spec.portsByName[*].paths[*].share"}
- move: {from: spec.host, to: spec.endpoint.host}
- stash: {path: "spec.ports[*].comment", maxBytes: 100}
- stash: {path: spec.endpoint.note, maxBytes: 100}
- drop: {path: spec.legacy}
- values: {path: status.ready, to: status.phase, map: {"true": Up, "false": Down}}
`

func TestConversionLaws(t *testing.T) {
	for _, c := range []struct{ file, rules string }{
		{"ports.yaml", portsRules}, {"tasks.yaml", tasksRules},
	} {
		d := definitionWithRules(t, c.file, c.rules)
		if !d.Conversion().Accepted {
			t.Fatalf("%s: %+v", c.file, d.Conversion().Violations)
		}
		laws, err := d.TestConversion(t.Context(), testenv.Volume(200), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(laws) != 16 {
			t.Errorf("%s: %d laws", c.file, len(laws))
		}
		for _, l := range laws {
			t.Log(c.file, l.Law, l.Between, l.Objects)
			if x := l.Counterexample; x != nil {
				t.Errorf("%s: %s %v: %s\n%s\n%s\n%s", c.file, l.Law, l.Between, x.Text, x.Object, x.Converted, x.Back)
			}
		}
	}
}

func TestConversionLawsStop(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", tasksRules)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if laws, err := d.TestConversion(ctx, 1e9, 1); engine.ReasonOf(err) != engine.ReasonItemDeadline || laws != nil {
		t.Errorf("%v, error %v", laws, err)
	}
}
