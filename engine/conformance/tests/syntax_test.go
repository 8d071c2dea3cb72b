package tests

import (
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSyntax compares writes with unusual texts: YAML that is not JSON, and patches with odd pointers and values.
func TestSyntax(t *testing.T) {
	for name, generator := range map[string]func(generate.Rand) generate.Group{
		"yaml": generate.YAMLSyntax, "patches": generate.PatchSyntax,
	} {
		var groups []generate.Group
		for n := range testenv.Volume(40) {
			groups = append(groups, generator(generate.New(name, 1, uint64(n))))
		}
		r := writes.Fixed(groups, writes.Options{Ours: ours.Engine{}, Log: t.Output()})
		t.Log(name, r, r.Detail())
		if r.Disagreements > 0 || r.Rejected > 0 || r.Accepted*20 < r.Objects {
			t.Errorf("%s: disagreements, or the generator is off: %v\n%s", name, r, r.Detail())
		}
	}
}
