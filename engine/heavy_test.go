package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestHeavyRules checks that Options.Heavy is called before rules that take long are checked.
func TestHeavyRules(t *testing.T) {
	nested := strings.Repeat("[", 120) + strings.Repeat("]", 120) + ".size() > 0"
	rules := func(n int, rule, message string) string {
		one := fmt.Sprintf(`{"rule":%q}`, rule)
		if message != "" {
			one = fmt.Sprintf(`{"rule":%q,"messageExpression":%q}`, rule, message)
		}
		return `{"type":"object","x-kubernetes-validations":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	for _, c := range []struct {
		name, schema string
		heavy        bool
	}{
		{"no rules", `{"type":"object"}`, false}, {"rules", rules(20, "self == self && self != oldSelf || self == oldSelf", "'a' + 'b'"), false},
		{"a nest", rules(1, nested, ""), true}, {"a nest of a message", rules(1, "true", nested+" ? 'a' : 'b'"), true},
		{"a long rule", rules(1, "self == self"+strings.Repeat(" && self == self", 300), ""), true},
		{"many rules", rules(300, "self == self"+strings.Repeat(" && self == self", 35), ""), true},
	} {
		turn, calls := errors.New("no turn"), 0
		d, _, err := Compile(context.Background(), JSON([]byte(crdOf(c.schema))), Options{Heavy: func(context.Context) error { calls++; return turn }})
		if c.heavy != (calls == 1) || c.heavy != errors.Is(err, turn) || c.heavy != (d == nil) {
			t.Errorf("%s: called %d times, %v", c.name, calls, err)
		}
	}
}
