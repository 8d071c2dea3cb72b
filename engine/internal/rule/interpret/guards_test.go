package interpret

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

const guardSchema = `
type: object
properties:
  s: {type: string}
  t: {type: string}
  p: {type: string}
  i: {type: integer}
  ios: {x-kubernetes-int-or-string: true}
  l: {type: array, items: {type: integer}}
  ls: {type: array, items: {type: string}}
  ll: {type: array, items: {type: array, items: {type: integer}}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
  ml:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [k]
    items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer}}}
  m: {type: object, additionalProperties: {type: integer}}
  o: {type: object, properties: {a: {type: string}, l: {type: array, items: {type: integer}}}}
`

// guardExpressions call every guarded function with every kind of operand that it treats differently.
var guardExpressions = []string{
	"self.l.distinct()", "self.ls.distinct()", "self.ll.distinct()", "self.ml.distinct()", "[self.l, self.l].distinct()", "dyn(self.l).distinct()",
	"self.l.sort()", "self.ls.sort()", "dyn(self.l).sort()", "self.ml.sortBy(e, e.k)", "self.ls.sortBy(e, e.size())", "[dyn(1), dyn('a')].sort()",
	"sets.contains(self.l, self.l)", "sets.contains(self.l, [1, 2])", "sets.intersects(self.ls, ['none'])", "sets.equivalent(self.l, self.l)", "sets.contains(self.set, self.ls)",
	"lists.range(3)", "lists.range(-1)", "lists.range(5000)", "lists.range(2000000)", "lists.range(5000) == lists.range(5000)", "4999 in lists.range(5000)", "lists.range(3000).sum()",
	"self.ll.flatten()", "self.ll.flatten(2)", "self.ll.flatten(-1)", "[[self.ll], [[self.l]]].flatten(3)", "self.l.slice(0, 1)", "self.l.slice(1, 0)", "self.l.reverse()", "self.l.reverse() == self.l",
	"self.s + self.t", "dyn(self.s) + self.t", "self.ios + 'x'", "bytes(self.s) + b'a'", "self.l + self.l", "self.set + ['zz', 'a']", "self.ml + self.ml", "(self.l + self.l).distinct()",
	"(lists.range(3000) + lists.range(3000))[4000]", "(lists.range(3000) + [1])[-1]", "(lists.range(3000) + []).size()", "([] + lists.range(3000)).size()", "(lists.range(3000) + self.l) == (lists.range(3000) + self.l)",
	"(lists.range(3000) + lists.range(3)) == lists.range(3003)", "2 in (lists.range(3000) + self.l)", "'x' in (lists.range(3000).map(x, dyn(x)) + self.l)", "lists.range(3000) + dyn(1) == []",
	"(lists.range(2000) + lists.range(2000) + lists.range(2000)).sum()", "type(lists.range(3000)) == list", "lists.range(3000).map(x, x + 1).size()", "lists.range(3000).all(i, v, i == v)", "(lists.range(3000) + [7]).exists(i, v, i == 3000 && v == 7)",
	"self.s.split('')", "self.s.split(' ').join('-')", "self.s.split('', 3)", "self.s.split('a') == self.t.split('a')", "'a' in self.s.split('')", "self.s.split('').distinct()", "self.s.split(' ').map(x, x + '!').join()",
	"self.ls.join()", "self.ls.join(', ')", "self.ls.join(self.s)", "dyn(self.l).join(',')", "[self.s, self.t].join(self.s)",
	"self.s.replace('a', 'bb')", "self.s.replace('', '-')", "self.s.replace('a', self.t, 2)", "self.s.replace('zzz', self.t)",
	"'%s'.format([self.s])", "'%s %s %d'.format([self.l, self.m, self.i])", "'%s'.format([self.o.l])", "'%d'.format([self.ios])", "'%s'.format(self.ls)", "'%s'.format([dyn(self.ml)])", "'%.3f'.format([1.5])",
	"self.s.indexOf(self.t)", "self.s.indexOf('e ')", "self.s.indexOf('e ', 5)", "self.s.indexOf('e ', -1)", "self.s.indexOf('', 3)", "self.s.indexOf('zz', 100000)", "self.s.indexOf(self.s)", "self.s.indexOf(self.s, 1)", "self.s.indexOf('é w')",
	"self.s.lastIndexOf(self.t)", "self.s.lastIndexOf('e ')", "self.s.lastIndexOf('e ', 5)", "self.s.lastIndexOf('e ', 4000)", "self.s.lastIndexOf('e ', -1)", "self.s.lastIndexOf('', 3)", "self.s.lastIndexOf(self.s)", "self.s.lastIndexOf(self.s, 0)", "self.t.lastIndexOf(self.s)", "self.s.lastIndexOf('é w', 2000)", "self.s.lastIndexOf('e ', 1000000)",
	"self.l.indexOf(2)", "self.l.lastIndexOf(2)", "dyn(self.ls).indexOf('b')", "dyn(self.s).indexOf('b')",
	"self.s.matches('^a')", "self.s.matches(self.p)", "matches(self.s, 'b+$')", "dyn(self.s).matches('x')", "self.s.matches(self.p + '[')", "self.s.matches('(?i)E W')", "self.ios.matches('a')",
	"self.s.find('[a-e]+')", "self.s.find(self.p)", "self.s.find('zzz')", "self.s.find('[')", "self.s.find(self.p + '(')", "self.s.find('e$')",
	"self.s.findAll('[a-e]+')", "self.s.findAll(self.p)", "self.s.findAll('x*')", "self.s.findAll(r'\\b.')", "self.s.findAll('^.|e$')", "self.s.findAll('(?m)^.')", "self.s.findAll('[a-e]+', 3)", "self.s.findAll('a.*z|a', 1)", "self.s.findAll(self.p, 0)", "self.s.findAll(self.p + '(')", "self.s.findAll(r'\\Qe')", "self.s.findAll('a|b|')", "self.s.findAll(r'\\B')",
	"quantity('1Ki').isGreaterThan(quantity('1'))", "quantity(self.s).isInteger()", "isQuantity(self.t)", "isURL(self.s)", "url('http://a/' + self.s.replace(' ', '')).getHost()", "duration(self.t)", "isSemver(self.s)", "semver('1.2.3').major()",
	"format.dns1123Label().validate(self.s).hasValue()", "format.dns1123Label().validate('a').hasValue()", "int('12')", "double(self.s)", "int(self.t)",
	"self.ls[9999].matches('a') || true", "self.ls[9999].matches(self.s) || true", "self.ls[9999].replace('a', 'b') == '' || true", "self.ls[9999] + self.s == '' || true", "[self.ls[9999]].distinct().size() == 0 || true",
	"self.ll[99].distinct().size() == 1 || true", "self.ll[99].sort().size() == 1 || true", "self.s.split(self.ls[9999]).size() == 1 || self.i == 1", "self.s.indexOf('a', self.l[9999]) == 0 || true",
	"self == self", "self.ml == self.ml", "self.set == self.set", "self.m == self.m", "self.o == self.o", "5 in self.l", "self.l.isSorted()", "self.l.sum()", "self.l.max()", "self.ls.min()", "self.l.all(x, self.l.exists(y, y == x))", "self.l.includes(3)",
	"self.m.all(k, self.m[k] >= 0)", "self.m.map(k, k).size()", "self.ml.all(e, e.v >= 0)", "self.ml.filter(e, e.k == 'a').size()", "'k1' in self.m",
}

// guardData are values of guardSchema: empty, small, and on both sides of the sizes that guards test.
func guardData() map[string]any {
	numbers := func(n int) (l []any) {
		for i := range n {
			l = append(l, int64(i*7%n))
		}
		return l
	}
	texts := func(n int) (l []any) {
		for i := range n {
			l = append(l, fmt.Sprint("t", i*5%n))
		}
		return l
	}
	object := func(n int, s, t, p string) any {
		ml, m := []any{}, map[string]any{}
		for i := range n {
			ml = append(ml, map[string]any{"k": fmt.Sprint("k", i), "v": int64(i)})
		}
		for i := range min(n, 1) { // one key: the order of more is random
			m[fmt.Sprint("k", i)] = int64(i)
		}
		return map[string]any{
			"s": s, "t": t, "p": p, "i": int64(1), "ios": "a", "l": numbers(n), "ls": texts(n), "ll": []any{numbers(n), numbers(3)}, "set": texts(n), "ml": ml, "m": m,
			"o": map[string]any{"a": s, "l": numbers(n)},
		}
	}
	long := strings.Repeat("the é we abcde ", 400)
	return map[string]any{
		"empty":  map[string]any{},
		"small":  object(5, "abcde e w", "e w", "[a-c]+"),
		"medium": object(300, long, "é we abcde the é we abcdf", "(e|w|é)+ (the|é|we|abcdefghijklmnopqrstuvwxyz)"),
		"large":  object(1500, long+long+"zz", long, `\b(e|w|é|abcdefghijklmnopqrstuvwxyz)+\b`),
	}
}

// textResult is the result of an evaluation as text.
type textResult struct{ value, err, cost string }

func textOf(v ref.Val, details *cel.EvalDetails, err error) (o textResult) {
	if err != nil {
		o.err = err.Error()
	} else {
		var text strings.Builder
		describe(&text, v)
		o.value = text.String()
	}
	if c := details.ActualCost(); c != nil {
		o.cost = fmt.Sprint(*c)
	}
	return o
}

// describe writes what an expression can observe of a value.
func describe(out *strings.Builder, v ref.Val) {
	switch v := v.(type) {
	case traits.Lister:
		out.WriteByte('[')
		for it := v.Iterator(); it.HasNext() == types.True; {
			describe(out, it.Next())
			out.WriteByte(' ')
		}
		fmt.Fprintf(out, "]%v", v.Size())
	case traits.Mapper:
		fmt.Fprintf(out, "{%v}", v.Size())
	default:
		fmt.Fprintf(out, "%v:%v", v.Type(), v.Value())
	}
}

// rig compiles and evaluates expressions over a schema.
type rig struct {
	t      testing.TB
	scope  *celcheck.Scope
	schema common.Schema
}

func newRig(t testing.TB, text string) *rig {
	t.Helper()
	s := &schema.Props{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	scope := celcheck.NewShared().Field(s)
	return &rig{t, scope, celcheck.SchemaOf(scope.Type())}
}

// plan plans an expression; guarded with the options of this package.
func (r *rig) plan(text string, limit uint64, guarded bool) (cel.Program, error) {
	r.t.Helper()
	env := celenv.Stored()
	checked, _ := r.scope.TypeCheck(env, text, false)
	if checked == nil {
		r.t.Fatalf("%s does not compile", text)
	}
	options := []cel.ProgramOption{cel.CostLimit(limit)}
	if guarded {
		options = append(programOptions(env), options...)
	}
	return env.Plan(checked, options...)
}

// evaluation is an Evaluation whose large values poll.
func evaluation(done <-chan struct{}, limit uint64, large bool) *Evaluation {
	return &Evaluation{Input: Input{Stop: interrupt.On(done), Limit: limit}, large: large}
}

// TestGuardsChangeNothing: values, errors and costs are cel-go's, at every limit. Large data is for a sample of the
// expressions by default, and for all of them in make conformance.
func TestGuardsChangeNothing(t *testing.T) {
	testenv.SingleGoroutine(t)
	r := newRig(t, guardSchema)
	never := make(chan struct{})
	evaluated := 0
	for i, text := range guardExpressions {
		for name, data := range guardData() {
			if name == "large" && !testenv.Sampled(i) {
				continue
			}
			evaluate := func(limit uint64, guarded bool) (o textResult, cost uint64) {
				vars := activation{self: common.UnstructuredToVal(data, r.schema)}
				if guarded {
					vars.evaluation = evaluation(never, limit, name == "large")
					vars.self = common.UnstructuredToVal(data, celcheck.PolledSchemaOf(r.scope.Type(), vars.evaluation.poll))
				}
				program, err := r.plan(text, limit, guarded)
				if err != nil {
					return textResult{err: "plan: " + err.Error()}, 0
				}
				v, details, err := program.ContextEval(context.Background(), &vars)
				if c := details.ActualCost(); c != nil {
					cost = *c
				}
				evaluated++
				return textOf(v, details, err), cost
			}
			compare := func(limit uint64) (cost uint64) {
				want, cost := evaluate(limit, false)
				if got, _ := evaluate(limit, true); got != want {
					t.Errorf("%s over %s, limit %d:\ngot  %.500v\nwant %.500v", text, name, limit, got, want)
				}
				return cost
			}
			cost := compare(celconfig.PerCallLimit)
			if cost > 1 && cost <= celconfig.PerCallLimit {
				compare(cost - 1)
			}
		}
	}
	t.Log(evaluated, "evaluations")
}

// TestInterruption: evaluations that would take minutes, hours or all memory end when they are interrupted, or at a bound.
// The test bounds the CPU time between the interruption and the end, not the elapsed time.
func TestInterruption(t *testing.T) {
	const allowed = 5 * time.Second // some milliseconds are needed
	r := newRig(t, guardSchema)
	long := strings.Repeat("a", 3<<20)
	numbers := make([]any, 1<<20)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	texts := make([]any, 1<<18)
	keyed := make([]any, 1<<18)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
		keyed[i] = map[string]any{"k": texts[i]}
	}
	list := map[string]any{"l": numbers, "ls": texts, "set": texts, "ml": keyed, "ll": []any{numbers}}
	text := func(p string) map[string]any {
		return map[string]any{"s": long, "t": long[:1<<20] + "b", "p": p, "i": int64(0)}
	}
	half := text(`(a|b)*x$`)
	half["s"] = long[:1<<20]
	for _, c := range []struct {
		expression string
		data       map[string]any
	}{
		{"self.l.all(x, self.l.all(y, x != y || x == y))", list},
		{"self.l == self.l && self.l.sum() > 0 && self.l.isSorted() && self.ls.max() != '' && !(-1 in self.l)", list},
		{"self.l.indexOf(-1) == -1 && self.l.lastIndexOf(-1) == -1 && !self.ls.includes('x')", list},
		{"self.set == self.set && self.ml == self.ml", list},
		{"(self.set + self.set) == self.set && (self.ml + self.ml) == self.ml", list},
		{"(self.l + self.l).sum() == 0", list},
		{"'%s'.format([self.l]) == ''", list},
		{"self.ls.join('') == ''", list},
		{"self.ll.flatten() == self.l", list},
		{"dyn(self.l).sort() == self.l", list},
		{"[self.s.split('')].all(big, lists.range(700).map(x, big).distinct().size() == 1)", text("")},
		{"self.s.split('') == self.t.split('') && 'c' in self.s.split('')", text("")},
		{"self.s.matches('(a|b)*x$')", text("")},
		{"self.s.matches('(a|b)*?é$')", text("")},
		{"'a'.matches(self.s)", text("")},
		{"self.s.find('a[^b]*b') == ''", text("")},
		{"self.s.findAll('a[^b]*b|a').size() == 0", text("")},
		{"self.s.findAll(r'\\ba|a[^b]*b|a').size() == 0", text("")},
		{"self.s.findAll(self.p).size() == 0", half},
		{"self.s.indexOf(self.t) == -1 && self.s.lastIndexOf(self.t) == -1", text("")},
		{"quantity(self.s.replace('a', '1')).isInteger()", text("")},
		{"duration(self.s.replace('a', '1ns')) == duration('1h')", text("")},
		{"self.s.replace('', self.t) == ''", text("")},
		{"[dyn(self.s)].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).size() == 1", text("")},
		{"self.ls.join(self.s) == ''", map[string]any{"ls": texts, "s": long}},
		{"lists.range(700).map(x, lists.range(1000)).flatten().size() == 0", nil},
		{"[self.s].map(x, [x, x, x, x, x]).map(x, [x, x, x, x, x]).all(x, '%s'.format([x]) == '')", text("")},
	} {
		program, err := r.plan(c.expression, celconfig.PerCallLimit, true)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		vars := activation{evaluation: evaluation(ctx.Done(), celconfig.PerCallLimit, true)}
		interrupted := make(chan time.Duration, 1)
		timer := time.AfterFunc(50*time.Millisecond, func() { cancel(); interrupted <- testenv.CPUTime() })
		vars.self = common.UnstructuredToVal(c.data, celcheck.PolledSchemaOf(r.scope.Type(), vars.evaluation.poll))
		v, details, err := program.ContextEval(ctx, &vars)
		work := time.Duration(0)
		if !timer.Stop() {
			work = testenv.CPUTime() - <-interrupted
		}
		cancel()
		why := fmt.Sprint(textOf(v, details, err))
		if vars.evaluation.bound != nil {
			why = vars.evaluation.bound.Error()
		}
		t.Logf("%5.1f ms of CPU after its end  %-80.80s %.90s", work.Seconds()*1e3, c.expression, why)
		if work > allowed {
			t.Errorf("%s used %v of CPU after its end", c.expression, work)
		}
	}
}
