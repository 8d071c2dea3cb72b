package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// hostileRules are rules that an API server accepts, and the worst objects of 3 MiB for them. Some of them take an API
// server seconds, some hours, some all of its memory. The rule is that of spec.
var hostileRules = []struct{ name, rule, spec string }{
	{"nested folds over a list", "self.l.all(x, self.l.all(y, x != y || x == y))", `{"l":[` + repeated(800, `%d`) + `],"pad":"` + pad(3_000_000) + `"}`},
	{"many nested folds", "self.groups.all(g, g.l.all(x, g.l.all(y, x < y || y <= x)))", `{"groups":[` + strings.TrimSuffix(strings.Repeat(`{"l":[`+repeated(40, `%d`)+`]},`, 400), ",") + `],"pad":"` + pad(2_900_000) + `"}`},
	{"maps in a fold that no closure takes", "self.l.map(x, self.l.map(y, y + x)).size() >= 0", `{"l":[` + repeated(800, `%d`) + `],"pad":"` + pad(3_000_000) + `"}`},
	{"a pattern over a long text", "self.s.matches('(a|b)*x$')", `{"s":"` + pad(3_100_000) + `"}`},
	{"a pattern over a long wide text", "self.s.matches('(é|b)*x$')", `{"s":"` + strings.Repeat("é", 1_550_000) + `"}`},
	{"a pattern of the object's own", "'a'.matches(self.s)", `{"s":"` + strings.Repeat("(a|b)*", 500_000) + `"}`},
	{"matches that look ahead to the end", "self.s.findAll('a[^b]*b|a').size() >= 0", `{"s":"` + pad(3_100_000) + `"}`},
	{"distinct at the limit", "self.l.distinct().size() >= 0 && self.l.map(x, [x]).distinct().size() >= 0", `{"l":[` + repeated(800, `%d`) + `],"pad":"` + pad(3_000_000) + `"}`},
	{"distinct lists of a long text's parts", "self.n.map(x, self.s.split('')).distinct().size() >= 0", `{"n":[1,2,3],"s":"` + pad(3_100_000) + `"}`},
	{"a search that nearly matches everywhere", "self.s.indexOf(self.t) == -1", `{"s":"` + pad(2_000_000) + `","t":"` + pad(1_000_000) + `b"}`},
	{"a replacement of everything", "self.s.replace('a', self.t).size() >= 0", `{"s":"` + pad(1_500_000) + `","t":"` + pad(1_500_000) + `"}`},
	{"a text doubled twenty times", "[dyn(self.s)]" + strings.Repeat(".map(x, x + x)", 20) + ".size() >= 0", `{"s":"` + pad(3_100_000) + `"}`},
	{"a number of three million digits", "quantity(self.s).isInteger()", `{"s":"` + strings.Repeat("1", 3_100_000) + `"}`},
	{"a number of a hundred million digits", "self.ls.all(x, quantity(x).compareTo(quantity('64Gi')) != 0)", `{"ls":["1e99999999"]}`},
	{"many numbers of a thousand digits", "self.ls.all(x, quantity(x).add(quantity('1n')).compareTo(quantity('64Gi')) != 0)", `{"ls":[` + strings.TrimSuffix(strings.Repeat(`"1e1000",`, 4000), ",") + `]}`},
	{"an object printed", "'%s%s%s%s%s%s'.format([self.free, self.free, self.free, self.free, self.free, self.free]).size() >= 0", `{"free":{` + repeated(200_000, `"k%d":"v"`) + `}}`},
	{"a large map", "self.free.all(k, self.free[k] != 'x' || k == 'y')", `{"free":{` + repeated(200_000, `"k%d":"v"`) + `}}`},
	{"a large map compared", "self.free == self.free && self.free == self.free", `{"free":{` + repeated(200_000, `"k%d":"v"`) + `}}`},
	{"a long list sorted", "self.long == self.long && dyn(self.long).isSorted()", `{"long":[` + repeated(400_000, `%d`) + `]}`},
	{"a pattern of the schema", "true", `{"p":"` + pad(3_100_000) + `"}`},
}

func pad(n int) string { return strings.Repeat("a", n) }

func hostileRule(rule string) string {
	return fmt.Sprintf(`{"type":"object","x-kubernetes-validations":[{"rule":%q}],"properties":{
"l":{"type":"array","maxItems":800,"items":{"type":"integer"}},"ls":{"type":"array","maxItems":4000,"items":{"type":"string","maxLength":10}},
"n":{"type":"array","maxItems":3,"items":{"type":"integer"}},"long":{"type":"array","items":{"type":"integer"}},
"groups":{"type":"array","maxItems":400,"items":{"type":"object","properties":{"l":{"type":"array","maxItems":40,"items":{"type":"integer"}}}}},
"s":{"type":"string"},"t":{"type":"string"},"p":{"type":"string","pattern":"^(é|[a-z]|aa)+\\s?$"},"pad":{"type":"string"},
"free":{"type":"object","additionalProperties":{"type":"string"}}}}`, rule)
}

// TestDeadlinesOfRules: whatever a rule does, a deadline ends it.
func TestDeadlinesOfRules(t *testing.T) {
	slow(t)
	const allowed = 50 * time.Millisecond
	for _, c := range hostileRules {
		t.Run(c.name, func(t *testing.T) {
			d, report, err := Compile(context.Background(), JSON([]byte(crdOf(hostileRule(c.rule)))), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d == nil {
				t.Fatalf("rejected: %.300v", report.Violations[0].Error())
			}
			item := Create{Object: JSON([]byte(objectOf(c.spec)))}
			for range 2 { // the second time pools are warm
				ctx, cancel := context.WithTimeout(context.Background(), allowed)
				begin := testenv.CPUTime()
				v, err := d.Validate(ctx, item, ValidateOptions{})
				took := testenv.CPUTime() - begin
				cancel()
				outcome := fmt.Sprint(err)
				if v != nil {
					outcome = fmt.Sprintf("allowed %v, %d violations", v.Allowed, len(v.Violations))
				}
				t.Logf("%.1f MB: %.1f ms of CPU time: %.100s", float64(len(item.Object.JSON))/1e6, took.Seconds()*1e3, outcome)
				if took > 5*time.Second { // the deadline and the parser on an idle machine: about 0.1 s
					t.Errorf("took %v of CPU time with a deadline of %v", took, allowed)
				}
			}
		})
	}
}
