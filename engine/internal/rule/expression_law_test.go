package rule

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/testenv"
)

// lawExpressions are evaluated for random objects, beside those of expressionCases.
var lawExpressions = [][2]string{
	{"string", `has(self.spec.labels) && 'a' in self.spec.labels ? self.spec.labels['a'] : self.spec.host`},
	{"string", `self.spec.?labels[?'a'].orValue(self.spec.host) + self.spec.?tls.?cert.orValue('-')`},
	{"strings", `self.spec.labels.map(k, k).filter(k, k != 'a')`},
	{"strings", `self.spec.labels.map(k, self.spec.labels[k])`},
	{"map", `self.spec.labels.transformMap(k, v, k != 'a', v + k)`},
	{"ints", `self.spec.ports.filter(p, has(p.port)).map(p, p.port)`},
	{"ints", `self.spec.named.filter(p, has(p.port)).map(p, p.port)`},
	{"ints", `self.spec.ports.map(p, p.?port.orValue(0))`},
	{"int", `self.spec.ports.size() + self.spec.names.size()`},
	{"bool", `self.spec.ports.exists(p, p.port > 0) || self.spec.named.exists(p, p.port > 0)`},
	{"bool", `self.spec.ports.all(p, p.name != '') && has(self.spec.tls.deep)`},
	{"bool", `self.spec.tls == self.spec.tls`},
	{"bool", `self.spec.host in self.spec.names ? self.spec.on : !self.spec.on`},
	{"objects", `self.spec.byName.map(k, {'name': k, ?'port': self.spec.byName[k].?port})`},
	{"objectMap", `self.spec.named.transformMapEntry(i, p, {p.name: {?'port': p.?port}})`},
	{"any", `[self.spec.tls, self.spec.ports, self.spec.labels, self.spec.byName]`},
	{"any", `self.spec`},
	{"any", `self.spec.open`},
	{"string", `string(self.spec.data) + string(self.spec.wait)`},
	{"int", `self.spec.named[0].port + self.spec.ports[0].port`},
	{"strings", `(self.spec.names + self.spec.set).map(n, n + '!')`},
	{"strings", `self.spec.ports.sortBy(p, p.port).map(p, p.name)`},
	{"int", `int(self.spec.ios)`},
	{"int", `100 / self.spec.port`},
	{"bool", `self.metadata.name != ''`},
}

// TestExpressionLaws: for random objects, closures and cel-go have the same result, so has cel-go with all of self, and a
// part of an object has the result of the whole object or none.
func TestExpressionLaws(t *testing.T) {
	testenv.SingleGoroutine(t)
	scope := sourceScope(t)
	all := lawExpressions
	for _, c := range expressionCases {
		if !strings.HasPrefix(c.want, "COMPILE") {
			all = append(all, [2]string{c.target, c.text})
		}
	}
	g := sample.New(props(t, sourceSchema), sample.Options{APIVersion: "example.com/v1", Kind: "Thing"})
	var objects, parts []string
	for n := range uint64(testenv.Volume(40)) {
		r := sample.NewRandom(1, n)
		o := g.Object(r)
		objects, parts = append(objects, string(o.JSON())), append(parts, string(g.Partial(n, o).JSON()))
	}
	results, given := 0, 0
	for _, c := range all {
		x, err := CompileExpression(t.Context(), scope, c[1], target(t, c[0]))
		if err != nil {
			t.Errorf("%s: %v", c[1], err)
			continue
		}
		reads := *x.reads
		reads.parts = &interpret.Parts{Whole: true}
		unfiltered := *x
		unfiltered.reads = &reads
		for i, self := range objects {
			got, left := evaluateExpression(t, x, self, true, false)
			fallback, also := evaluateExpression(t, x, self, true, true)
			whole, _ := evaluateExpression(t, &unfiltered, self, true, true)
			if got != fallback || left != also {
				t.Errorf("%s of %s: got %s, with cel-go %s; %d and %d are left", c[1], self, got, fallback, left, also)
			}
			if whole != fallback {
				t.Errorf("%s of %s: got %s, of its parts %s", c[1], self, whole, fallback)
			}
			part, _ := evaluateExpression(t, x, parts[i], false, i%2 == 0)
			if part != "absent" && part != got {
				t.Errorf("%s: %s of %s, but %s of %s", c[1], part, parts[i], got, self)
			}
			if got != "absent" {
				results++
			}
			if part != "absent" {
				given++
			}
		}
	}
	t.Logf("%d of %d evaluations have a result, and %d of the parts", results, len(all)*len(objects), given)
	if results < len(all)*len(objects)/5 || given < len(objects) {
		t.Errorf("only %d evaluations have a result, and %d of the parts", results, given)
	}
}
