//go:build quirks

package quirk

import "testing"

func TestSwitch(t *testing.T) {
	defer Reset()
	for _, n := range []Name{TwoPathDialects, CostBudgets} {
		Off(n)
		if On(n) || !On(NullEnumNeverMatches) || All() {
			t.Errorf("Off(%s): On is %v, All is %v", n, On(n), All())
		}
	}
	if !On(TwoPathDialects) {
		t.Error("a behaviour is still off after another was switched off")
	}
	Reset()
	if !On(CostBudgets) || !All() {
		t.Error("Reset left a behaviour off")
	}
}
