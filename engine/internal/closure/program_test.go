package closure

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// objects makes random documents of a schema.
func objects(t testing.TB, schema string, n int, r random) []document {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	var all []document
	for len(all) < n {
		text, err := json.Marshal(r.object(&s, 0))
		if err != nil {
			t.Fatal(err)
		}
		if text[0] == '{' {
			all = append(all, newDocument(t, text))
		}
	}
	return all
}

func (u *upstream) mustCompile(t testing.TB, text string, optionalOld bool) *compiled {
	t.Helper()
	c, err := u.compile(text, optionalOld)
	if err != nil {
		t.Fatal(err)
	}
	if c.missing != nil {
		t.Fatalf("%s: %v", text, c.missing)
	}
	return c
}

// TestOptionalOldSelf compares rules whose oldSelf is an optional, with and without an old value.
func TestOptionalOldSelf(t *testing.T) {
	u := newUpstream(t, richSchema, true)
	r := random{rand.New(rand.NewPCG(5, 6))}
	all := objects(t, richSchema, 60, r)
	f := &Frame{}
	for _, text := range []string{
		`oldSelf.hasValue()`, `!oldSelf.hasValue() || oldSelf.value().i <= self.i`, `oldSelf.?i.orValue(0) <= self.i`,
		`has(oldSelf.s)`, `oldSelf.o.?a.orValue('') == self.s`, `oldSelf.orValue(self) == self`, `oldSelf.?ls.orValue([]).all(x, x in self.ls)`, `oldSelf.i.hasValue()`,
		`oldSelf.ls[0].orValue('') == 'a'`, `oldSelf.ms.a.hasValue()`,
	} {
		c := u.mustCompile(t, text, true)
		var n tally
		for i, self := range all {
			old := document{}
			if i%3 != 0 {
				old = all[(i*7+1)%len(all)]
			}
			u.compare(t, c, f, self, old, i%2 == 0, &n)
		}
		if n.same == 0 {
			t.Errorf("%s: never answered", text)
		}
	}
}

// TestLimit: a limit at the cost changes nothing, one below it makes the outcome Unknown.
func TestLimit(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	r := random{rand.New(rand.NewPCG(7, 8))}
	all := objects(t, richSchema, 10, r)
	f := &Frame{}
	for _, text := range expressions {
		if strings.Contains(text, "oldSelf") {
			continue
		}
		c := u.mustCompile(t, text, false)
		for _, self := range all {
			d, i, _ := u.load(t, self, document{}, true)
			f.Doc, f.Self, f.Old, f.Limit = d, i, 0, 1000000
			want := c.closure.Eval(f)
			cost := f.Cost
			if want != Unknown {
				if f.Limit = cost; c.closure.Eval(f) != want || f.Cost != cost {
					t.Errorf("%s on %s: %v at %d, but with that limit something else", text, self.text, want, cost)
				}
				if f.Limit = cost - 1; cost > 0 && c.closure.Eval(f) != Unknown {
					t.Errorf("%s on %s: answered below its cost %d", text, self.text, cost)
				}
			}
			d.Release()
		}
	}
}

func TestUnsupported(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	for _, c := range []struct{ text, want string }{
		{`google.protobuf.Duration{seconds: 1} == duration('1s')`, "no closure for a literal of a message"},
		{`{'a': self.s}['a'] == 'a'`, "no closure for a literal of a map"},
		{`self.ms.transformMap(k, v, v + '!').size() == 1`, "no closure for a macro that makes a map"},
		{`self.ms.all(k, v, k != v)`, "no closure for a macro with two variables"},
		{`(dyn(self.ls) + self.lt).size() > 1`, "no closure for the addition of values without a type"},
		{`self.?i.optMap(x, x + 1).orValue(0) == 2`, "no closure for the bound variable of optMap, optFlatMap or sortBy"},
		{`[?self.?s].size() == 2`, "no closure for a list with optional elements"},
		{`dyn(self.ms).all(k, k != 'a')`, "no closure for a macro over a computed map, or over what may be a list or a map"},
		{`self.ls.distinct().size() == self.ls.size()`, "no closure for the function distinct"},
		{`has((self.b ? self.o : self.o).a)`, "no closure for has() on a conditional"},
		{`self.b ? has(self.?o.a) : true`, "no closure for has() on an optional as a branch of a conditional"},
	} {
		x, err := u.compile(c.text, false)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var missing Unsupported
		if !errors.As(x.missing, &missing) || missing.Error() != c.want {
			t.Errorf("%s: %v instead of %q", c.text, x.missing, c.want)
		}
	}
	a, issues := u.env.Compile(`quantity(self.s).sign() == 1`)
	if issues.Err() == nil {
		if _, err := Compile(a.NativeRep(), u.self, Options{}); err == nil {
			t.Error("a function of a library compiled without implementations")
		}
	}
}

// TestShared: one program serves goroutines, each with a frame of its own.
func TestShared(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	c := u.mustCompile(t, `self.lo.filter(x, x.v > 0).map(x, x.name).exists_one(n, n == 'a') || self.ms.all(k, self.ms[k] != 'b')`, false)
	all := objects(t, richSchema, 20, random{rand.New(rand.NewPCG(9, 10))})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			f := &Frame{Limit: 1000000}
			for _, self := range all {
				d, i, _ := u.load(t, self, document{}, true)
				f.Doc, f.Self = d, i
				got, cost := c.closure.Eval(f), f.Cost
				if again := c.closure.Eval(f); again != got || f.Cost != cost {
					t.Errorf("%v at %d, then %v at %d", got, cost, again, f.Cost)
				}
				d.Release()
			}
		})
	}
	group.Wait()
}

// TestSize: what programs say that they retain is what they retain, about.
func TestSize(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	var asts []*ast.AST
	for _, text := range expressions {
		a, issues := u.env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		asts = append(asts, a.NativeRep())
	}
	programs, claimed := make([]*Program, len(asts)), int64(0)
	before := heap()
	for i, a := range asts {
		p, err := Compile(a, u.self, Options{Functions: u.funcs, Value: u.value})
		if err != nil {
			t.Fatal(err)
		}
		programs[i] = p
		claimed += p.Size()
	}
	retained := heap() - before
	t.Logf("%d programs say %d bytes and retain %d", len(asts), claimed, retained)
	if claimed < retained*2/3 || claimed > retained*3/2 {
		t.Errorf("%d programs say %d bytes and retain %d", len(asts), claimed, retained)
	}
	runtime.KeepAlive(asts)
	runtime.KeepAlive(programs)
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
