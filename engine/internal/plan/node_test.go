package plan

import (
	"fmt"
	"testing"
)

// Clients choose names. No choice may make a search compare all of them.
func TestNamesThatShareBytes(t *testing.T) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("field-%05d-name", i) // the first, middle and last bytes are few
	}
	x := newNameIndex(names)
	n := &Node{Names: names, details: &details{index: x}}
	for i, s := range names {
		if got, ok := n.find(s); !ok || got != i {
			t.Fatalf("find(%q) = %d %v", s, got, ok)
		}
	}
	if _, ok := n.find("field-00000-nome"); ok {
		t.Error("found an absent name")
	}
	probes := 0
	for _, s := range names {
		for h := x.home(s); names[x.slots[h]-1] != s; h = (h + 1) & x.mask {
			probes++
		}
	}
	if probes > 4*len(names) {
		t.Errorf("%d names take %d probes", len(names), probes)
	}
}
