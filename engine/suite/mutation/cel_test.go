package mutation

import (
	"slices"
	"testing"
)

func TestRuleEdits(t *testing.T) {
	for _, tc := range []struct {
		rule       string
		transition bool
		want       []string // expressions
	}{
		{"self.a <= 5", false, []string{"self.a < 5", "self.a > 5", "self.a <= 6", "self.a <= 4"}},
		{"self.a && has(self.b)", false, []string{"!self.a && has(self.b)", "has(self.b)", "self.a && !has(self.b)",
			"self.a", "self.a || has(self.b)", "self.a && true"}},
		{"a || b || c", false, []string{"!a || b || c", "b || c", "a || !b || c", "a || c", "a || b || !c", "a || b",
			"a && b && c"}},
		{"!self.x", false, []string{"self.x"}},
		{"self == oldSelf", true, []string{"self == self", "self != oldSelf"}},
		{"self == oldSelf", false, []string{"self != oldSelf"}},
		{"self.all(x, x in ['a'])", false, []string{`!(self.all(x, x in ["a"]))`, `self.exists(x, x in ["a"])`,
			`self.all(x, !(x in ["a"]))`}},
		{"self.filter(x, x).size() == 1", false, []string{"self.filter(x, x).size() != 1",
			"self.filter(x, !x).size() == 1", "self.size() == 1", "self.filter(x, x).size() == 2", "self.filter(x, x).size() == 0"}},
		{"self.a ? self.b : self.c", false, []string{"self.b", "self.c"}},
		{"self.?a.orValue(true)", false, []string{"!self.?a.orValue(true)", "self.?a.orValue(false)"}},
		{"self.`in`", false, []string{"!self.`in`"}},
		{"self == 9223372036854775807", false, []string{"self != 9223372036854775807", "self == 9223372036854775806"}},
		{"self ==", false, nil},
	} {
		var got []string
		for _, e := range ruleEdits(tc.rule, tc.transition) {
			got = append(got, e.rule)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s\ngot  %q\nwant %q", tc.rule, got, tc.want)
		}
	}
}
