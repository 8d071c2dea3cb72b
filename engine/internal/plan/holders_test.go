package plan

import (
	"slices"
	"testing"
)

func TestHolders(t *testing.T) {
	p := compiled(t, `{"type":"object","properties":{"leaf":{"type":"string"},"o":{"type":"object","properties":{"x":{"type":"string"}}},
		"empty":{"type":"object"},"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},
		"texts":{"type":"array","items":{"type":"string"}},
		"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`, Options{})
	var names []string
	for slot := range p.Root.Holders {
		names = append(names, p.Root.Names[slot])
	}
	if !slices.Equal(names, []string{"e", "l", "o"}) {
		t.Errorf("properties with fields: %q", names)
	}
}
