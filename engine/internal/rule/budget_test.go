package rule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestBudget(t *testing.T) {
	const schema = `{type: object, properties: {i: {type: integer}, l: {type: array, items: {type: integer}}}, x-kubernetes-validations: [{rule: "self.i == 1"}, {rule: "self.i < 9", message: b}]}`
	const exhausted = `spec: Invalid value: "object": ` + outOfBudget
	// Each rule costs 3: self, i, the comparison.
	for _, c := range []struct {
		left, rest int64
		self, want string
	}{
		{left: 6, rest: 0, self: `{"i":1}`},
		{left: 5, rest: -1, self: `{"i":1}`, want: exhausted},
		{left: 5, rest: -1, self: `{"i":2}`, want: `spec: Invalid value: failed rule: self.i == 1; ` + exhausted},
		{left: 3, rest: -1, self: `{"i":1}`, want: exhausted},
		{left: 2, rest: -1, self: `{"i":1}`, want: exhausted},
		{left: -1, rest: -1, self: `{"i":1}`, want: exhausted},
		{left: 9, rest: 3, self: `{"i":9}`, want: `spec: Invalid value: failed rule: self.i == 1; spec: Invalid value: b`},
	} {
		for _, off := range []bool{false, true} {
			got := trial{schema: schema, self: c.self, left: c.left, notRoot: true, noClosures: off}.evaluate(t)
			if text := strings.Join(got.found, "; "); text != c.want || got.left != c.rest || got.more != (c.rest >= 0) {
				t.Errorf("%d left, closures off %v: got %s, %d left, more %v; want %s and %d", c.left, off, text, got.left, got.more, c.want, c.rest)
			}
		}
	}
}

// TestCallLimit: whatever costs more than one call may ends all rules, before or after an error of its own.
func TestCallLimit(t *testing.T) {
	const schema = `{type: array, items: {type: integer}, x-kubernetes-validations: [{rule: "true"}, {rule: "self.all(x, self.all(y, x + y < 9))", message: m}, {rule: "false"}]}`
	for _, c := range []struct {
		limit uint64
		ends  bool
	}{{39, true}, {40, false}} {
		for _, off := range []bool{false, true} {
			got := trial{schema: schema, self: `[1,2]`, limit: c.limit, notRoot: true, noClosures: off}.evaluate(t)
			want := `spec: Invalid value: failed rule: false`
			if c.ends {
				want = `spec: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: m`
			}
			if text := strings.Join(got.found, "; "); text != want || got.more == c.ends {
				t.Errorf("limit %d, closures off %v: got %s with %d left", c.limit, off, text, got.left)
			}
		}
	}
}

// TestHoldsCharges: Holds charges what Evaluate does, or nothing.
func TestHoldsCharges(t *testing.T) {
	s := props(t, `{type: object, properties: {i: {type: integer}}, x-kubernetes-validations: [{rule: "self.i == 1"}, {rule: "self.i >= oldSelf.i"}, {rule: "has(self.i)"}]}`)
	set := compile(t, celcheck.NewShared().Field(s), s.XValidations)
	d := tree.Acquire()
	defer d.Release()
	one, two := parse(t, d, `{"i":1}`, tree.Request), parse(t, d, `{"i":2}`, tree.Old)
	for _, c := range []struct {
		self, old  uint32
		left, cost int64
		clean      bool
	}{
		{one, 0, CostBudget, 4, true}, {one, one, CostBudget, 9, true}, {one, two, CostBudget, 0, false}, {two, 0, CostBudget, 0, false},
		{one, 0, 4, 4, true}, {one, 0, 3, 0, false}, {one, 0, 0, 0, false},
	} {
		r := Start(d)
		r.Left = c.left
		if clean := set.Holds(r, c.self, c.old); clean != c.clean || c.left-r.Left != c.cost {
			t.Errorf("%+v: clean %v at a cost of %d", c, clean, c.left-r.Left)
		}
		r.Close()
	}
	r := Start(d)
	defer r.Close()
	if allocs := testing.AllocsPerRun(100, func() { set.Holds(r, one, one) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestOneSetManyGoroutines is for the race detector: a Set is shared, and so are the cached programs of the fallback.
func TestOneSetManyGoroutines(t *testing.T) {
	s := props(t, `{type: object, properties: {i: {type: integer}, m: {type: object, additionalProperties: {type: string}}}, x-kubernetes-validations: [`+
		`{rule: "self.i == 1", messageExpression: "'not ' + string(self.i)"}, {rule: "self.m.all(k, self.m[k] != 'x')"}, {rule: "1 / self.i == 1"}]}`)
	set := compile(t, celcheck.NewShared().Field(s), s.XValidations)
	results := make(chan string)
	const goroutines, rounds = 8, 20
	for g := range goroutines {
		go func() {
			for k := range rounds {
				d := tree.Acquire()
				root, err := d.Parse(fmt.Appendf(nil, `{"i":%d,"m":{"a":"x"}}`, k%2), tree.Request, tree.Limits{})
				if err != nil {
					results <- err.Error()
					continue
				}
				r := Start(d)
				r.NoClosures = g%2 == 0
				set.Evaluate(r, Site{Self: root, Position: testPosition{}})
				texts := fmt.Sprint(k%2, len(r.Found))
				r.Close()
				d.Release()
				results <- texts
			}
		}()
	}
	for range goroutines * rounds {
		if got := <-results; got != "0 3" && got != "1 1" {
			t.Error(got)
		}
	}
}
