package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSpelled: what an unknown field may have meant is prepared where many are declared, and weighed; what has fields of its own is found in either case.
func TestSpelled(t *testing.T) {
	schema := func(more int) string {
		var text strings.Builder
		for i := range more {
			fmt.Fprintf(&text, `"leaf%03d":{"type":"string"},`, i)
		}
		return `{"type":"object","properties":{` + text.String() + `"o":{"type":"object","properties":{"x":{"type":"string"}}},"empty":{"type":"object"},
			"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},"texts":{"type":"array","items":{"type":"string"}},
			"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`
	}
	few, many := compiled(t, schema(0), Options{}), compiled(t, schema(200), Options{})
	for _, p := range []*Plan{few, many} {
		var held []string
		for slot := range p.Root.Holders {
			held = append(held, p.Root.Names[slot])
		}
		if !slices.Equal(held, []string{"e", "l", "o"}) {
			t.Errorf("of %d properties these have fields: %q", len(p.Root.Names), held)
		}
		for range p.Root.Holders {
			break
		}
	}
	if few.Root.Spelling() != nil || many.Root.Spelling() == nil {
		t.Error("the index of names is where they are few, or not where they are many")
	}
	if weight := many.Root.spelled.size(); weight < 200*20 || many.Size() < few.Size()+weight {
		t.Errorf("weighs %d, and the plans %d and %d", weight, few.Size(), many.Size())
	}
}
