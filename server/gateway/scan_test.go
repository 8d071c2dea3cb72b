package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// TestMembersAllocations: the memory for an object does not grow with its other members.
func TestMembersAllocations(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"kind":"x"`)
	for i := range 10_000 {
		fmt.Fprintf(&body, `,"k%d":0`, i)
	}
	body.WriteString("}")
	data := []byte(body.String())
	n := testing.AllocsPerRun(5, func() {
		s := scanner{src: data}
		if found, err := s.members("kind", "items"); err != nil || len(found) != 1 {
			t.Fatalf("%d members, %v", len(found), err)
		}
	})
	if n > 20 {
		t.Errorf("%.0f allocations", n)
	}
}
