package codec

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
		s := Scanner{JSON: data}
		if found, err := s.Members("kind", "items"); err != nil || len(found) != 1 {
			t.Fatalf("%d members, %v", len(found), err)
		}
	})
	if n > 20 {
		t.Errorf("%.0f allocations", n)
	}
}

// TestValueEnds: value ends where the container ends, wherever strings, escapes and brackets are.
func TestValueEnds(t *testing.T) {
	for _, value := range []string{
		`{}`, `[[],{"a":[{}]}]`, `{"a":"]}"}`, `["\"]", "\\"]`, `["\\\"]\\", "a long string without end}", ""]`,
		`{"brackets in a long string {[":"}]}]}]}]}]}]","#\"\"":"\\\\"}`, `["é\u0022]"]`, `[1,[2,[3,[4,[5,[6,[7]]]]]]]`,
	} {
		for _, rest := range []string{"", " ", `,"x":"y"}`, "]]]]]]]]"} {
			s := Scanner{JSON: []byte(value + rest)}
			if got, err := s.Value(); err != nil || string(got) != value || s.Pos != len(value) {
				t.Errorf("%q in %q: %d, %v", got, s.JSON, s.Pos, err)
			}
		}
		for n := 1; n < len(value); n++ {
			s := Scanner{JSON: []byte(value[:n])}
			if got, err := s.Value(); err == nil || s.Pos != n {
				t.Errorf("%q: %q, position %d, %v", value[:n], got, s.Pos, err)
			}
		}
	}
}
