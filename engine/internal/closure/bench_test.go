package closure

import (
	"encoding/json"
	"testing"
)

// benchmarks are rules as real definitions have them.
var benchmarks = []struct{ name, rule string }{
	{"has", `!has(self.s) || has(self.t)`},
	{"equal", `self.s == 'RequestRedirect' ? has(self.o) : true`},
	{"in", `self.s in ['Exact', 'PathPrefix'] ? !self.t.contains('//') : true`},
	{"matches", `self.t.matches('^(?:[-A-Za-z0-9/._~!$&()*+,;=:@]|[%][0-9a-fA-F]{2})+$')`},
	{"all", `self.ls.all(x, x != '')`},
	{"nested", `self.lo.all(x, self.lo.exists_one(y, x.name == y.name))`},
	{"filter", `[has(self.s), has(self.t), has(self.i)].filter(x, x == true).size() == 2`},
	{"count", `(has(self.s) ? 1 : 0) + (has(self.t) ? 1 : 0) + (has(self.i) ? 1 : 0) == 2`},
	{"map", `self.ms.all(k, k != '' && self.ms[k] != 'x')`},
	{"duration", `duration(self.ms.d) > duration('1s')`},
	{"split", `self.t.split('/').size() > 1`},
	{"replace", `self.t.replace('/', '.') != ''`},
	{"optional", `self.?s.orValue('') != ''`},
	{"old", `self.ls == oldSelf.ls`},
}

func BenchmarkEval(b *testing.B) {
	u := newUpstream(b, richSchema, false)
	text := `{"s":"Exact","t":"/a/path/to/what","o":{"a":"x"},"ls":["a","b","c","d"],"lo":[{"name":"a","v":1},{"name":"b","v":2},{"name":"c","v":3}],"ms":{"a":"b","c":"d","d":"1h"}}`
	self := newDocument(b, []byte(text))
	d, i, j := u.load(b, self, self, true)
	defer d.Release()
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			x, err := u.compile(c.rule, false)
			if err != nil || x.missing != nil {
				b.Fatal(err, x.missing)
			}
			f := &Frame{Doc: d, Self: i, Old: j, Limit: 1000000}
			b.ReportAllocs()
			for b.Loop() {
				if x.closure.Eval(f) == Unknown {
					b.Fatal("unknown")
				}
			}
		})
	}
}

// TestNoAllocations: what rules do most allocates nothing, once the frame is warm.
func TestNoAllocations(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	self := newDocument(t, json.RawMessage(`{"s":"Exact","t":"/a/b","o":{"a":"x"},"ls":["a","b"],"lo":[{"name":"a","v":1},{"name":"b"}],"ms":{"a":"b","d":"1h"},"i":1}`))
	d, i, j := u.load(t, self, self, true)
	defer d.Release()
	for _, c := range benchmarks {
		if c.name == "replace" { // a function of cel-go's
			continue
		}
		x, err := u.compile(c.rule, false)
		if err != nil || x.missing != nil {
			t.Fatal(err, x.missing)
		}
		f := &Frame{Doc: d, Self: i, Old: j, Limit: 1000000}
		if n := testing.AllocsPerRun(20, func() { x.closure.Eval(f) }); n != 0 {
			t.Errorf("%s: %v allocations", c.rule, n)
		}
	}
}
