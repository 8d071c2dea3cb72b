//go:build quirks

package quirk

import "testing"

func TestSwitch(t *testing.T) {
	defer Reset()
	for _, n := range []int{-1, 0, 14, Count - 1, Count, Count + 7} {
		if !On(n) {
			t.Errorf("On(%d) = false before Off", n)
		}
		Off(n)
		if inside := n >= 0 && n < Count; On(n) == inside {
			t.Errorf("On(%d) = %v after Off", n, On(n))
		}
	}
	if All() {
		t.Error("All() after Off")
	}
	if !On(13) {
		t.Error("Off(14) switched 13 off as well")
	}
	Reset()
	if !On(14) || !All() {
		t.Error("Reset left 14 off")
	}
}
