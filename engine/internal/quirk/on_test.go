//go:build !quirks

package quirk

import "testing"

func TestAlwaysOn(t *testing.T) {
	for n := range 200 {
		if !On(n) {
			t.Fatalf("On(%d) = false in a normal build", n)
		}
	}
	if !All() {
		t.Error("All() = false in a normal build")
	}
}
