//go:build !quirks

package quirk

import "testing"

func TestAlwaysOn(t *testing.T) {
	if !On(TwoPathDialects) || !All() {
		t.Error("a behaviour is off in a normal build")
	}
}
