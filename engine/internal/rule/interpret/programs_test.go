package interpret

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// everything is a schema with a value of each type.
const everything = `
type: object
required: [i]
properties:
  i: {type: integer}
  num: {type: number}
  s: {type: string, maxLength: 10}
  b: {type: boolean}
  by: {type: string, format: byte}
  du: {type: string, format: duration}
  da: {type: string, format: date}
  dt: {type: string, format: date-time}
  ios: {x-kubernetes-int-or-string: true}
  l: {type: array, items: {type: integer}}
  ls: {type: array, items: {type: string}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
  ml: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer}}}}
  m: {type: object, additionalProperties: {type: integer}}
  o: {type: object, properties: {a-b: {type: integer}, namespace: {type: string}}}
  nul: {type: string, nullable: true}
  p: {x-kubernetes-preserve-unknown-fields: true}
`

const everyValue = `{"i":1,"num":1.5,"s":"héllo","b":true,"by":"aGVsbG8=","du":"1h","da":"2024-01-02","dt":"2024-01-02T03:04:05Z","ios":"50%","l":[3,1,2],` +
	`"ls":["a","b"],"set":["x","y"],"ml":[{"k":"a","v":1},{"k":"b","v":2}],"m":{"k":7},"o":{"a-b":4,"namespace":"ns"},"nul":null,"p":{"x":1}}`

// TestFallbackIsUpstream compares programs planned on the base environment with those of the environment that upstream makes
// for a rule: value, error and cost.
func TestFallbackIsUpstream(t *testing.T) {
	r := newRig(t, everything)
	d := tree.Acquire()
	defer d.Release()
	node, err := d.Parse([]byte(everyValue), tree.Request, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	base := celenv.Stored().Base
	named := r.scope.Decl.MaybeAssignTypeName("selfType0")
	declarations, err := apiservercel.NewDeclTypeProvider(named).EnvOptions(base.CELTypeProvider())
	if err != nil {
		t.Fatal(err)
	}
	env, err := base.Extend(append(declarations, cel.Variable("self", named.CelType()))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`self.i == 1`, `self.num > 1`, `has(self.s) && self.s.startsWith('h')`, `self.s.size() == 5`, `self.l.all(x, x > 0)`, `self.l.exists_one(x, x == 1)`,
		`self.l.map(x, x * 2).sum() == 12`, `self.l.filter(x, x > 1).size() == 2`, `self.l.sort() == [1, 2, 3]`, `self.l.distinct().size() == 3`,
		`self.l.slice(0, 2) == [3, 1]`, `self.l.reverse()[0] == 2`, `[[1], [2]].flatten() == [1, 2]`, `lists.range(3) == [0, 1, 2]`, `self.ml.sortBy(x, x.v)[0].k == 'a'`,
		`sets.contains(self.ls, ['a'])`, `sets.equivalent(self.ls, ['b', 'a'])`, `sets.intersects(self.l, [9])`, `self.set == ['y', 'x']`, `self.set + ['z'] == ['x', 'y', 'z']`,
		`self.ml == self.ml`, `(self.ml + [self.ml[0]]).size() == 2`, `self.m.all(k, self.m[k] == 7)`, `self.m.map(k, k) == ['k']`, `self.m.exists(k, v, v == 7)`,
		`self.m.transformList(k, v, k) == ['k']`, `self.m.transformMap(k, v, v + 1) == {'k': 8}`, `'k' in self.m`, `self.m == {'k': 7}`, `{'a': 1}.all(k, k == 'a')`,
		`self.o.a__dash__b == 4`, `self.o.__namespace__ == 'ns'`, `has(self.nul)`, `self.?nul.orValue('x') == 'x'`, `self.?i.hasValue()`,
		`self.?i.optMap(x, x + 1).orValue(0) == 2`, `optional.of(1).or(optional.of(2)).value() == 1`, `optional.none().orValue(1 / 0) == 1`, `[?self.?s] == ['x']`,
		`self.by == b'hello'`, `self.du == duration('1h')`, `self.da < self.dt`, `self.dt.getFullYear() == 2024`, `type(self.ios) == string`, `self.ios == '50%'`,
		`self.ios + 1 == 2`, `self.ios == 1 || self.i == 1`, `self.i in [1, 2, 3]`, `self.i in []`, `self.s in self.ls`, `self.s.matches('^h.*o$')`, `self.s.find('l+') == 'll'`,
		`self.s.findAll('[a-z]').size() == 4`, `self.s.replace('l', 'r').upperAscii() == 'x'`, `self.s.split('l').join('-') == 'x'`, `'%s %d'.format([self.s, self.i]) == 'x'`,
		`quantity('1Gi').isGreaterThan(quantity('1'))`, `ip('127.0.0.1').isLoopback()`, `cidr('10.0.0.0/8').containsIP('10.1.2.3')`, `url('https://a.b/c').getHost() == 'a.b'`,
		`semver('1.2.3').major() == 1`, `format.dns1123Label().validate('a-b').hasValue()`, `self.l.includes(3)`, `self.l.indexOf(2) == 2`, `self.ls.min() == 'a'`, `self.l.isSorted()`,
		`1 / (self.i - 1) == 1`, `self.l[9] == 1`, `self.m['x'] == 1`, `self.l[9] == 1 || true`, `true || self.l[9] == 1`, `int(self.s) == 1`, `self.i + 9223372036854775807 == 0`,
		`self.b ? self.i == 1 : self.l[9] == 1`, `self.l.all(x, self.l.all(y, x + y < 100))`, `[1, 2].map(x, self.l.map(y, x * y)) == []`, `string(self.i) + self.s == '1x'`,
		`self.o == self.o`, `dyn(self.o) == dyn({})`, `duration('1h') > self.du`, `size('abc') == 3 && !self.b`, `-self.i == -1`, `self.num / 0.0 > 1.0`, `'a' < 'b' && self.i % 2 == 1`,
		`{'a': self.i}.a == 1`, `[1, 2, 3].exists(x, x == self.i)`, `self.ml.exists(e, e.k == 'b' && e.v == 2)`, `self.ml.map(e, e.k) == ['a', 'b']`, `self.s.charAt(0) == 'h'`,
	} {
		t.Run(text, func(t *testing.T) {
			ast, issues := env.Compile(text)
			if issues != nil {
				t.Fatal(issues)
			}
			theirs, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&k8slibrary.CostEstimator{}),
				cel.InterruptCheckFrequency(celconfig.CheckFrequency))
			if err != nil {
				t.Fatal(err)
			}
			e := New(Input{Doc: d, Self: node, Declared: r.scope.Declared(), Type: r.scope.Type(), Limit: celconfig.PerCallLimit})
			ours := e.Eval(text, false, false)
			v, details, err := theirs.ContextEval(context.Background(), e.Activation(false))
			got := fmt.Sprint(answer{ours.Value, ours.Err, ours.Cost})
			if want := fmt.Sprint(answer{v, err, *details.ActualCost()}); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

type answer struct {
	value any
	err   error
	cost  uint64
}

func (a answer) String() string {
	if b, ok := a.value.(types.Bool); ok {
		return fmt.Sprintf("%v, %v, cost %d", bool(b), a.err, a.cost)
	}
	return fmt.Sprintf("%T, %v, cost %d", a.value, a.err, a.cost)
}

// TestCachedPrograms: the programs of the process are bounded, and are dropped with the types of their expressions.
func TestCachedPrograms(t *testing.T) {
	declared := &closure.Type{Kind: closure.Object, Name: "object", Declared: true}
	compiled := func(text string) programKey {
		e := Evaluation{Input: Input{Declared: declared, Limit: celconfig.PerCallLimit, Context: t.Context()}}
		if _, err := e.program(text, false); err != nil {
			t.Fatal(err)
		}
		return programKey{weak.Make(declared), text, false, false, celconfig.PerCallLimit}
	}
	isCached := func(key programKey) bool {
		_, ok := cached.Cached(key)
		return ok
	}
	first := compiled("true")
	if !isCached(first) {
		t.Fatal("nothing is cached")
	}
	cached.Add(programKey{text: "large"}, program{bytes: maxCachedBytes / 2})
	if isCached(first) || cached.Stats().Bytes > maxCachedBytes {
		t.Error("the least recently used program is still cached")
	}
	cached.Remove(programKey{text: "large"})
	second := compiled("false")
	declared = nil
	for isCached(second) { // until the cleanup of the type runs
		runtime.GC()
	}
}
