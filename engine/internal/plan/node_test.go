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
	n := &Node{Names: names}
	for i, s := range names {
		if got, ok := n.find(s); !ok || got != i {
			t.Fatalf("find(%q) = %d %v", s, got, ok)
		}
	}
	if _, ok := n.find("field-00000-nome"); ok {
		t.Error("found an absent name")
	}
}
