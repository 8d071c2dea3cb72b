package closure

import (
	"math/rand/v2"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestReads: an expression has the same outcome and cost for all values with the same key.
func TestReads(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	all := objects(t, richSchema, testenv.Volume(300), random{rand.New(rand.NewPCG(11, 12))})
	type result struct {
		outcome Outcome
		cost    uint64
		text    string
	}
	f := &Frame{Limit: 1000000}
	bounded := 0
	for _, text := range append([]string{
		`has(self.s) && self.s == 'a'`, `!has(self.o) || has(self.o.a)`, `self.lo.filter(x, has(x.v)).size() < 2`, `self.lo.exists_one(x, x.name == 'a')`,
		`self.ldur.filter(x, has(self.s)).size() > 1`, `has(self.dur) || has(self.dt) || has(self.by)`, `'a' in self.ms || has(self.s)`, `self.ls.all(x, x in ['a', 'b'])`,
		`self.lli.all(l, l.size() > 1 || has(self.b))`, `has(self.b) && self.b`, `(has(self.s) ? self.ls : self.lt).size() > 1`, `self.ms.size() > 1 || has(self.s)`,
	}, expressions...) {
		a, issues := u.env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		reads := &Reads{}
		p, err := Compile(a.NativeRep(), u.self, Options{Functions: u.funcs, Value: u.value, Reads: reads})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		reads.closures = 1 << 20
		code := reads.Code()
		if code == "" {
			continue
		}
		bounded++
		known := map[string]result{}
		for _, self := range all {
			d, i, _ := u.load(t, self, document{}, true)
			if key := AppendKey([]byte{}, d, i, code); key != nil {
				f.Doc, f.Self = d, i
				got := result{p.Eval(f), f.Cost, self.text}
				was, ok := known[string(key)]
				if ok && (was.outcome != got.outcome || was.cost != got.cost && got.outcome != Unknown) {
					t.Errorf("%s: %v for %s and %v for %s, with one key", text, was.outcome, was.text, got.outcome, got.text)
				}
				known[string(key)] = got
			}
			d.Release()
		}
	}
	t.Logf("%d of the expressions have keys", bounded)
	if bounded < 30 {
		t.Errorf("only %d expressions have keys", bounded)
	}
}
