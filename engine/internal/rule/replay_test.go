package rule

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/internal/value"
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

// TestReplayIsUpstream compares programs planned on the base environment, as replays are, with those of the environment that upstream makes
// for a rule: value, error and cost.
func TestReplayIsUpstream(t *testing.T) {
	s := props(t, everything)
	scope := Root(s)
	d := value.Acquire()
	defer d.Release()
	node := parse(t, d, everyValue, value.Request)
	env, err := scope.extended(Stored(), false)
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
		`self.o.a__dash__b == 4`, `self.o.namespace == 'ns'`, `self.o.__namespace__ == 'ns'`, `has(self.nul)`, `self.?nul.orValue('x') == 'x'`, `self.?i.hasValue()`,
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
			theirs, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&k8slibrary.CostEstimator{SizeEstimator: &sizes{self: scope.Decl}}),
				cel.InterruptCheckFrequency(celconfig.CheckFrequency))
			if err != nil {
				t.Fatal(err)
			}
			r := Start(d)
			defer r.Close()
			e := evaluation{run: r, set: &Set{self: scope.Type(), declared: scope.Declared()}, at: Site{Self: node}}
			ours := e.replayed(text, false, false)
			v, details, err := theirs.ContextEval(context.Background(), &e.replay.plain)
			got := fmt.Sprint(answer{ours.value, ours.err, ours.cost})
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

// TestReplayOrder: what depends on the order of a map's keys is always the same, that of the document.
func TestReplayOrder(t *testing.T) {
	s := `{type: object, properties: {m: {type: object, additionalProperties: {type: string}}, n: {type: integer}}, x-kubernetes-validations: [` +
		`{rule: "self.m.map(k, int(self.m[k])).size() == 2", message: a}, {rule: "self.m.exists(k, k == 'b')"}, {rule: "self.m.map(k, k)[0] == 'c'", message: b}, ` +
		`{rule: "self.m.transformMap(k, v, k).map(k, k)[0] == 'a'", message: c}, {rule: "{'b': 1, 'a': 2}.exists(k, k == 'a')"}, ` +
		`{rule: "{self.m.a: 1, self.m.c: 2, 'w': 3}.map(k, k) == ['w', 'x', 'y']", message: d}]}`
	var first judged
	for i := range 20 {
		got := trial{schema: s, self: `{"m":{"c":"x","a":"y","b":"z"}}`, notRoot: true, noClosures: i%2 == 0}.judge(t)
		if i == 0 {
			first = got
		}
		if fmt.Sprint(got.found, got.left) != fmt.Sprint(first.found, first.left) {
			t.Fatalf("%v with %d left, once %v with %d", got.found, got.left, first.found, first.left)
		}
	}
	const want = `[spec: Invalid value: "object": type conversion error from 'string' to 'int' evaluating rule: a]`
	if fmt.Sprint(first.found) != want {
		t.Errorf("got %v, want %s", first.found, want)
	}
}
