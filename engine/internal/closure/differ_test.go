package closure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// upstream is what an API server evaluates rules with: the environment's options are those of k8s.io/apiserver/pkg/cel/environment/base.go.
type upstream struct {
	env     *cel.Env
	decl    *apiservercel.DeclType
	schemas map[*Type]common.Schema
	funcs   map[string]*functions.Overload
	schema  common.Schema
	self    *Type
}

var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		library.URLs(), library.Regex(), cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), library.Quantity(),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), library.IP(), library.CIDR(), library.Format(), ext.TwoVarComprehensions(),
		library.SemverLib(library.SemverVersion(1)), ext.Lists(ext.ListsVersion(3)), library.Lists(library.ListsVersion(1)),
	)
})

func newUpstream(t testing.TB, text string, optionalOld bool) *upstream {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	base, err := baseEnv()
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{schemas: map[*Type]common.Schema{}, schema: &openapi.Schema{Schema: &s}}
	u.decl = openapi.SchemaDeclType(&s, false).MaybeAssignTypeName("selfType1")
	provider := apiservercel.NewDeclTypeProvider(u.decl)
	options, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		t.Fatal(err)
	}
	old := u.decl.CelType()
	if optionalOld {
		old = types.NewOptionalType(old)
	}
	options = append(options, cel.Variable("self", u.decl.CelType()), cel.Variable("oldSelf", old))
	if u.env, err = base.Extend(options...); err != nil {
		t.Fatal(err)
	}
	if u.funcs, err = celenv.Functions(base); err != nil {
		t.Fatal(err)
	}
	u.self = u.typeOf(&s)
	return u
}

// typeOf makes a Type as package rule does from structural schemas.
func (u *upstream) typeOf(s *spec.Schema) *Type {
	t := &Type{Nullable: s.Nullable, Format: s.Format}
	defer func() { u.schemas[t] = &openapi.Schema{Schema: s} }()
	t.Preserve, _ = s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	if ios, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); ios {
		t.Kind = Dyn
		return t
	}
	if len(s.Type) > 0 {
		t.Name = s.Type[0]
	}
	switch t.Name {
	case "boolean":
		t.Kind = Bool
	case "integer":
		t.Kind = Int
	case "number":
		t.Kind = Double
	case "string":
		t.Kind = map[string]Kind{"byte": Bytes, "duration": Duration, "date": Date, "date-time": DateTime}[s.Format]
		if t.Kind == Opaque {
			t.Kind = String
		}
	case "array":
		t.Elem = u.typeOf(s.Items.Schema)
		if t.Elem.Kind != Opaque {
			t.Kind = List
		}
		lt, _ := s.Extensions.GetString("x-kubernetes-list-type")
		t.List = map[string]ListType{"atomic": Atomic, "set": Set, "map": MapList}[lt]
		t.Keys, _ = s.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			t.Elem = u.typeOf(s.AdditionalProperties.Schema)
			if t.Elem.Kind != Opaque {
				t.Kind = Map
			}
			return t
		}
		t.Kind, t.Declared = Object, s.Properties != nil
		var names []string
		for n := range s.Properties {
			names = append(names, n)
		}
		sort.Strings(names)
		for i, n := range names {
			p := s.Properties[n]
			ident, _ := apiservercel.Escape(n)
			t.Members = append(t.Members, Member{Name: n, Ident: ident, Slot: int32(i), Type: u.typeOf(&p)})
		}
	}
	return t
}

func (u *upstream) value(data any, t *Type) ref.Val {
	return common.UnstructuredToVal(data, u.schemas[t])
}

// compiled is one expression on both sides.
type compiled struct {
	text     string
	program  cel.Program
	closure  *Program
	missing  error
	optional bool
}

func (u *upstream) compile(text string, optionalOld bool) (*compiled, error) {
	a, issues := u.env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if a.OutputType() != types.BoolType {
		return nil, fmt.Errorf("%s: not a bool but %v", text, a.OutputType())
	}
	p, err := u.env.Program(a,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(1000000), cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostTracking(&library.CostEstimator{}), cel.InterruptCheckFrequency(100),
	)
	if err != nil {
		return nil, err
	}
	c := &compiled{text: text, program: p, optional: optionalOld}
	c.closure, c.missing = Compile(a.NativeRep(), u.self, Options{OptionalOldSelf: optionalOld, Functions: u.funcs, Value: u.value})
	return c, nil
}

// answers of one evaluation of upstream's; Unknown for errors.
func (u *upstream) eval(c *compiled, self, old any) (Outcome, uint64, error) {
	vars := map[string]any{"self": common.UnstructuredToVal(self, u.schema)}
	switch {
	case old != nil && c.optional:
		vars["oldSelf"] = types.OptionalOf(common.UnstructuredToVal(old, u.schema))
	case c.optional:
		vars["oldSelf"] = types.OptionalNone
	case old != nil:
		vars["oldSelf"] = common.UnstructuredToVal(old, u.schema)
	}
	v, details, err := c.program.Eval(vars)
	var cost uint64
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	switch {
	case err != nil:
		return Unknown, cost, err
	case v == types.True:
		return True, cost, nil
	case v == types.False:
		return False, cost, nil
	}
	return Unknown, cost, fmt.Errorf("%v", v)
}

// document is one object on both sides.
type document struct {
	text string
	data any
}

func newDocument(t testing.TB, text []byte) document {
	t.Helper()
	d := document{text: string(text)}
	if err := utiljson.Unmarshal(text, &d.data); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// load parses documents into a Doc, and fills slots as the walks of programs do, if they shall.
func (u *upstream) load(t testing.TB, self, old document, slots bool) (d *tree.Doc, i, j uint32) {
	t.Helper()
	d = tree.Acquire()
	i, err := d.Parse([]byte(self.text), tree.Request, tree.Limits{})
	if err == nil && old.text != "" {
		j, err = d.Parse([]byte(old.text), tree.Old, tree.Limits{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if slots {
		fill(d, i, u.self)
		if j != 0 {
			fill(d, j, u.self)
		}
	}
	return d, i, j
}

func fill(d *tree.Doc, i uint32, t *Type) {
	n := &d.Nodes[i]
	switch {
	case t == nil:
	case t.Kind == Object && n.Kind == tree.Object:
		base := len(d.Slots)
		d.Slots = append(d.Slots, make([]uint32, len(t.Members))...)
		n.Val, n.Flags = uint64(base), n.Flags|tree.Slotted
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			if m := t.Member(d.Key(c)); m != nil {
				d.Slots[base+int(m.Slot)] = c
				fill(d, c, m.Type)
			}
		}
	case n.Kind == tree.Array || n.Kind == tree.Object:
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			fill(d, c, t.Elem)
		}
	}
}

const maxTries = 3000

// tally counts the results of comparisons.
type tally struct{ same, unknown, errors int }

// compare evaluates one expression on both sides. cel-go compares maps in Go's random order, so that its cost and its result
// can differ between evaluations: compare asks up to maxTries times for the answer of ours.
func (u *upstream) compare(t testing.TB, c *compiled, f *Frame, self, old document, slots bool, n *tally) {
	t.Helper()
	if c.closure == nil || old.text == "" && !c.optional && strings.Contains(c.text, "oldSelf") {
		return
	}
	d, i, j := u.load(t, self, old, slots)
	defer d.Release()
	f.Doc, f.Self, f.Old, f.Limit = d, i, j, 1000000
	got := c.closure.Eval(f)
	var wants []string
	for try := range maxTries {
		if try > 0 { // new maps have new orders
			self = newDocument(t, []byte(self.text))
			if old.text != "" {
				old = newDocument(t, []byte(old.text))
			}
		}
		want, cost, err := u.eval(c, self.data, old.data)
		switch {
		case got == Unknown && want == Unknown:
			n.errors++
			return
		case got == Unknown:
			n.unknown++
			return
		case got == want && f.Cost == cost:
			n.same++
			return
		}
		wants = append(wants, fmt.Sprintf("%v at %d, %v", want, cost, err))
	}
	sort.Strings(wants)
	t.Errorf("%s\nself: %s\nold: %s\ngot %v at %d, want %s", c.text, self.text, old.text, got, f.Cost, wants[0])
}

// random makes objects of a schema: mostly valid, of few values, so that these meet.
type random struct{ *rand.Rand }

func (r random) object(s *spec.Schema, depth int) any {
	if s.Nullable && r.IntN(6) == 0 {
		return nil
	}
	if r.IntN(150) == 0 {
		return []any{1, "a", true, nil, map[string]any{}, []any{}, 1.5}[r.IntN(7)]
	}
	if ios, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); ios {
		return []any{0, 1, 5, -3, "5", "10%", "", "1Gi", 7}[r.IntN(9)]
	}
	if len(s.Type) == 0 {
		return []any{1, "a", map[string]any{"q": 1}, []any{}}[r.IntN(4)]
	}
	switch s.Type[0] {
	case "boolean":
		return r.IntN(2) == 0
	case "integer":
		return []any{0, 1, 2, 3, 5, -1, 10, 9223372036854775807, -9223372036854775808, 100}[r.IntN(10)]
	case "number":
		return []any{0, 1, 0.5, -2.5, 3, 1e300, 2.0, 5}[r.IntN(8)]
	case "string":
		switch s.Format {
		case "duration":
			return []any{"1h", "5m30s", "0s", "1 day", "x", "90s"}[r.IntN(6)]
		case "date":
			return []any{"2020-01-02", "2021-12-31", "nope"}[r.IntN(3)]
		case "date-time":
			return []any{"2020-01-02T03:04:05Z", "2021-12-31T00:00:00+02:00", "2020-01-02T03:04:05.678Z", "nope"}[r.IntN(4)]
		case "byte":
			return []any{"aGVsbG8=", "", "/+8=", "%"}[r.IntN(4)]
		}
		return []any{
			"", "a", "b", "abc", "ABC-1", "hello world", "äöü", "日本語テキスト", "10.0.0.0/8", "10.1.2.3", "https://example.com:80/path?x=1", "5", "1.5", "2Gi", "1.2.3",
			"a,b,c", "foo-bar", strings.Repeat("long ", 12), strings.Repeat("é", 33), "1h", "true", "name-1", "a", "b", "k1", "2020-05-06T07:08:09Z",
		}[r.IntN(26)]
	case "array":
		list := []any{}
		for range []int{0, 0, 1, 1, 2, 3, 3, 5, 12}[r.IntN(9)] {
			list = append(list, r.object(s.Items.Schema, depth+1))
		}
		return list
	}
	m := map[string]any{}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for range []int{0, 1, 2, 3, 5, 40}[r.IntN(5)+r.IntN(20)/19] {
			key := []string{"a", "b", "k1", "k2", "k3", "ä", "name-1", ""}[r.IntN(8)]
			if r.IntN(10) == 0 {
				key = fmt.Sprint("key-", r.IntN(60))
			}
			m[key] = r.object(s.AdditionalProperties.Schema, depth+1)
		}
		return m
	}
	for name, p := range s.Properties {
		if r.IntN(10) < 8 {
			m[name] = r.object(&p, depth+1)
		}
	}
	if preserve, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); preserve && r.IntN(2) == 0 {
		m["unknown"] = r.IntN(3)
	}
	return m
}
