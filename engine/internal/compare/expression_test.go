package compare

import "testing"

// TestNormalRule: rules of one line are equal, and those of different lines are not.
func TestNormalRule(t *testing.T) {
	seen := map[string]string{}
	for _, equal := range [][]string{
		{"self<10", "self < 10", "(self) < (10)", "self\n  < 10 // comment"},
		{"self <= 10"},
		{"10 < self", "self > 10"},
		{"self >= 10", "10 <= self"},
		{"self < 10u"},
		{"self == 'a' || self == \"b\"", "(self == 'b') || 'a' == self"},
		{"self == 'a' && self == 'b'"},
		{"a && b && c", "a && (b && c)", "c && a && b"},
		{"a && (b || c)", "(c || b) && a"},
		{"a && b || c", "c || (a && b)"},
		{"self.all(x, x > 1)", "self.all(y, y > 1)", "self.all( y , (y>1) )"},
		{"self.all(x, self > 1)"},
		{"self.exists(x, x > 1)"},
		{"self.all(x, self.all(y, x > y))", "self.all(y, self.all(x, y > x))"},
		{"self.all(x, self.all(y, y > x))"},
		{"has(self.a)"},
		{"self.a"},
		{"[1, 2]"},
		{"[2, 1]"},
		{"self.startsWith('a')"},
		{"self.startsWith(r'a\\n')", "self.startsWith('a\\\\n')"},
		{"self + 1 - 2", "(self + 1) - 2"},
		{"self + (1 - 2)"},
		{"{'a': 1}"},
		{"self <"},
	} {
		for _, text := range equal {
			if n := normalRule(text); n != normalRule(equal[0]) {
				t.Errorf("%s is not %s: %s", text, equal[0], n)
			}
		}
		if other, ok := seen[normalRule(equal[0])]; ok {
			t.Errorf("%s is %s", equal[0], other)
		}
		seen[normalRule(equal[0])] = equal[0]
	}
}
