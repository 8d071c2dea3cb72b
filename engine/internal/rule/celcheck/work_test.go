package celcheck

import (
	"strings"
	"testing"
)

func TestEstimateWork(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + ".size() > 0" }
	for _, c := range []struct {
		text string
		long bool
	}{
		{"", false}, {"self.replicas <= self.max", false}, {strings.Repeat("a", 4095), false}, {strings.Repeat("a", 4096), true}, {strings.Repeat("a", 100_000), true},
		{nested(20), false}, {nested(70), false}, {nested(120), true}, {nested(240), true}, {strings.Repeat("{1:", 200) + "1" + strings.Repeat("}", 200) + " != {}", true},
		{strings.Repeat("[1] == [1] && ", 200) + "true", false}, {"'" + strings.Repeat("]", 500) + "' == self.s", false}, {strings.Repeat("[", 500), false},
		{strings.Repeat(nested(60)+" && ", 8) + "true", true}, {"self" + strings.Repeat(".?a.optMap(x, x)", 5) + ".hasValue()", true},
	} {
		if IsLong(c.text) != c.long {
			t.Errorf("%.40s (%d bytes): %d, long: %v", c.text, len(c.text), estimateWork(c.text), !c.long)
		}
	}
}
