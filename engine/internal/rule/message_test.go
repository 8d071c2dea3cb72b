package rule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

func TestMessageExpression(t *testing.T) {
	testenv.SingleGoroutine(t)
	const schema = `{type: object, properties: {s: {type: string}, l: {type: array, items: {type: string}}, i: {type: integer}}, x-kubernetes-validations: [%s]}`
	const own = `spec: Invalid value: own`
	for name, c := range map[string]struct {
		rule      string
		self, old string
		left      int64
		want      string
		ends      bool
	}{
		"used":                    {rule: `rule: "false", message: own, messageExpression: "'its ' + self.s"`, want: `spec: Invalid value: its é`},
		"trimmed":                 {rule: `rule: "false", message: own, messageExpression: "'  its \\t'"`, want: `spec: Invalid value: its`},
		"carriage return":         {rule: `rule: "false", message: own, messageExpression: "'a\\rb'"`, want: "spec: Invalid value: a\rb"},
		"line feed":               {rule: `rule: "false", message: own, messageExpression: "'a\\nb'"`, want: own},
		"line feed at the end":    {rule: `rule: "false", message: own, messageExpression: "'a\\n'"`, want: `spec: Invalid value: a`},
		"empty":                   {rule: `rule: "false", message: own, messageExpression: "' '"`, want: own},
		"too long":                {rule: `rule: "false", message: own, messageExpression: "self.l[0] + 'x'"`, want: own},
		"longest":                 {rule: `rule: "false", message: own, messageExpression: "self.l[0] + ' '"`, want: `spec: Invalid value: ` + strings.Repeat("m", 5120)},
		"error":                   {rule: `rule: "false", message: own, messageExpression: "string(1 / self.i)"`, want: own},
		"no text":                 {rule: `rule: "false", message: own, messageExpression: "1"`, want: own},
		"not compiling":           {rule: `rule: "false", message: own, messageExpression: "self.x"`, want: own},
		"without a message":       {rule: `rule: " false ", messageExpression: "self.x"`, want: `spec: Invalid value: failed rule: false`},
		"unbound oldSelf":         {rule: `rule: "false", message: own, messageExpression: "oldSelf.s"`, old: `{"s":"o"}`, want: own},
		"bound oldSelf":           {rule: `rule: "self.s == oldSelf.s", message: own, messageExpression: "oldSelf.s"`, old: `{"s":"o"}`, want: `spec: Invalid value: o`},
		"optional oldSelf":        {rule: `rule: "oldSelf.hasValue() && false", optionalOldSelf: true, message: own, messageExpression: "oldSelf.hasValue() ? 'a' : 'b'"`, old: `{"s":"o"}`, want: own},
		"optional, as if it were": {rule: `rule: "oldSelf.hasValue() && false", optionalOldSelf: true, message: own, messageExpression: "'plain'"`, old: `{"s":"o"}`, want: `spec: Invalid value: plain`},
		"out of budget":           {rule: `rule: "false", message: own, messageExpression: "self.s + self.s"`, left: 2, ends: true, want: `spec: Invalid value: "object": messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`},
		"over the limit": {rule: `rule: "false", message: own, messageExpression: "self.l[0].split('').map(x, self.l[0].split('').map(y, x + y).join()).join()"`, ends: true,
			want: `spec: Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for messageExpression: "self.l[0].split('').map(x, self.l[0].split('').map(y, x + y).join()).join()"`},
		"duplicate":      {rule: `rule: "false", reason: FieldValueDuplicate, messageExpression: "'its'"`, want: `spec: Duplicate value`},
		"forbidden":      {rule: `rule: "false", reason: FieldValueForbidden, messageExpression: "'its'"`, want: `spec: Forbidden: its`},
		"at a fieldPath": {rule: `rule: "false", fieldPath: ".s", messageExpression: "'its'"`, want: `spec.s: Invalid value: its`},
	} {
		t.Run(name, func(t *testing.T) {
			self := fmt.Sprintf(`{"s":"é","i":0,"l":["%s"]}`, strings.Repeat("m", 5120))
			for _, off := range []bool{false, true} {
				x := trial{schema: fmt.Sprintf(schema, "{"+c.rule+"}"), self: self, old: c.old, left: c.left, notRoot: true, noClosures: off}
				got := x.evaluate(t)
				if text := strings.Join(got.found, "; "); text != c.want || got.more == c.ends {
					t.Errorf("closures off %v: got %s (more: %v), want %s", off, text, got.more, c.want)
				}
				if c.ends != (got.left < 0) {
					t.Errorf("closures off %v: %d of the budget is left", off, got.left)
				}
			}
		})
	}
}
