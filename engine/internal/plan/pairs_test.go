package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// pairSchema is a schema node that both this package and upstream's can read.
type pairSchema struct {
	typ        string
	properties map[string]*pairSchema
	additional *pairSchema
	items      *pairSchema
	listType   string
	keys       []string
}

func (s *pairSchema) Child(name string) *pairSchema {
	if c, ok := s.properties[name]; ok {
		return c
	}
	return s.additional
}

// node returns the compiled form of the schema.
func (s *pairSchema) node() *Node {
	if s == nil {
		return nil
	}
	n := &Node{Type: s.typ, Additional: s.additional.node(), Items: s.items.node(), details: &details{}}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		n.Names, n.Props = append(n.Names, name), append(n.Props, s.properties[name].node())
	}
	if s.listType == "map" {
		n.Flags |= ListMap
	}
	for _, key := range s.keys {
		n.ListKeys = append(n.ListKeys, ListKey{Name: key})
	}
	return n
}

type upstream struct {
	common.Schema
	s *pairSchema
}

func (u upstream) Type() string           { return u.s.typ }
func (u upstream) XListType() string      { return u.s.listType }
func (u upstream) XListMapKeys() []string { return u.s.keys }
func (u upstream) Items() common.Schema {
	if u.s.items == nil {
		return nil
	}
	return upstream{s: u.s.items}
}
func (u upstream) Properties() map[string]common.Schema {
	all := map[string]common.Schema{}
	for k, p := range u.s.properties {
		all[k] = upstream{s: p}
	}
	return all
}
func (u upstream) AdditionalProperties() common.SchemaOrBool {
	if u.s.additional == nil {
		return nil
	}
	return orBool{u.s.additional}
}

type orBool struct{ s *pairSchema }

func (o orBool) Schema() common.Schema { return upstream{s: o.s} }
func (o orBool) Allows() bool          { return true }

var (
	scalar = &pairSchema{typ: "string"}
	object = func(p map[string]*pairSchema) *pairSchema { return &pairSchema{typ: "object", properties: p} }
	ab     = object(map[string]*pairSchema{"a": scalar, "b": scalar, "v": scalar, "l": {typ: "array", items: scalar}})
	byA    = &pairSchema{typ: "array", listType: "map", keys: []string{"a"}, items: ab}
	byAB   = &pairSchema{typ: "array", listType: "map", keys: []string{"a", "b"}, items: ab}
)

func parseAs(t testing.TB, d *tree.Doc, text string, s tree.Source) uint32 {
	root, err := d.Parse([]byte(text), s, tree.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return root
}

func TestPairEqual(t *testing.T) {
	tests := []struct {
		what     string
		schema   *pairSchema
		new, old string
		want     bool
	}{
		{"scalars", scalar, `1`, `1`, true},
		{"an integer is no float", scalar, `1`, `1.0`, false},
		{"minus zero is zero", scalar, `-0.0`, `0.0`, true},
		{"kinds", scalar, `"1"`, `1`, false},
		{"null is null", scalar, `null`, `null`, true},
		{"null is not false", scalar, `null`, `false`, false},
		{"an object is no array", ab, `{}`, `[]`, false},
		{"empty objects", ab, `{}`, `{}`, true},
		{"order of members", ab, `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"a null is not absent", ab, `{"a":null}`, `{}`, false},
		{"a null for another", ab, `{"a":null}`, `{"b":null}`, false},
		{"an undeclared member is not equal to itself", ab, `{"a":1,"x":2}`, `{"a":1,"x":2}`, false},
		{"not even below", object(map[string]*pairSchema{"o": ab}), `{"o":{"x":2}}`, `{"o":{"x":2}}`, false},
		{"members of a map", &pairSchema{typ: "object", additional: scalar}, `{"p":1,"q":2}`, `{"q":2,"p":1}`, true},
		{"no schema", object(nil), `{"p":1}`, `{"p":1}`, false},

		{"a list as a unit", &pairSchema{typ: "array", items: ab}, `[{"x":1}]`, `[{"x":1}]`, true},
		{"its order", &pairSchema{typ: "array", items: scalar}, `[1,2]`, `[2,1]`, false},
		{"a set's order", &pairSchema{typ: "array", items: scalar, listType: "set"}, `[1,2]`, `[2,1]`, false},
		{"a set as a unit", &pairSchema{typ: "array", items: scalar, listType: "set"}, `[1,2]`, `[1,2]`, true},
		{"a list without schema", &pairSchema{typ: "array"}, `[{"x":1.0}]`, `[{"x":1}]`, false},
		{"numbers in it", &pairSchema{typ: "array", items: scalar}, `[1]`, `[1.0]`, false},

		{"a map list in another order", byA, `[{"a":1},{"a":2}]`, `[{"a":2},{"a":1}]`, true},
		{"an undeclared member in it", byA, `[{"a":1,"x":1}]`, `[{"a":1,"x":1}]`, false},
		{"empty map lists", byA, `[]`, `[]`, true},
		{"elements without their key", byA, `[{"b":1}]`, `[{"b":1}]`, false},
		{"a null key", byA, `[{"a":null}]`, `[{"a":null}]`, false},
		{"no objects", byA, `[1]`, `[1]`, false},
		{"duplicates have the first one's old value", byA, `[{"a":1,"v":1},{"a":1,"v":1}]`, `[{"a":1,"v":1},{"a":1,"v":2}]`, true},
		{"and no other", byA, `[{"a":1,"v":1},{"a":1,"v":2}]`, `[{"a":1,"v":1},{"a":1,"v":2}]`, false},
		{"an atomic list in it", byA, `[{"a":1,"l":[{"x":1}]}]`, `[{"a":1,"l":[{"x":1}]}]`, true},
		{"no keys", &pairSchema{typ: "array", listType: "map", items: ab}, `[{"a":1}]`, `[{"a":1}]`, false},
		{"no schema of the elements", &pairSchema{typ: "array", listType: "map", keys: []string{"a"}}, `[{"a":1}]`, `[{"a":1}]`, false},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			d := new(tree.Doc)
			d.Reset()
			self, old := parseAs(t, d, test.new, tree.Request), parseAs(t, d, test.old, tree.Old)
			var trees Pairs
			trees.Init(d, nil)
			if got := trees.Root(test.schema.node(), self, old).Equal(); got != test.want {
				t.Errorf("equal: %v, want %v", got, test.want)
			}
			theirs := common.NewCorrelatedObject(d.Any(self), d.Any(old), upstream{s: test.schema})
			if got := theirs.CachedDeepEqual(); got != test.want {
				t.Errorf("upstream: %v, want %v", got, test.want)
			}
		})
	}
}

func TestPairIndex(t *testing.T) {
	tests := []struct {
		what    string
		schema  *pairSchema
		element string
		old     string
		want    int // index in old, -1: none
	}{
		{"one key", byA, `{"a":"x"}`, `[{"a":"y"},{"a":"x"}]`, 1},
		{"the first of duplicates", byA, `{"a":"x"}`, `[{"a":"x","v":1},{"a":"x","v":2}]`, 0},
		{"an integer is no float", byA, `{"a":1}`, `[{"a":1.0}]`, -1},
		{"a text is no integer", byA, `{"a":"1"}`, `[{"a":1}]`, -1},
		{"one float differs in any digit", byA, `{"a":1.00000001}`, `[{"a":1.00000002}]`, -1},
		{"minus zero", byA, `{"a":-0.0}`, `[{"a":0.0}]`, 0},
		{"several floats by six", byAB, `{"a":1.00000001,"b":1}`, `[{"a":1.00000002,"b":1}]`, 0},
		{"and minus zero has a sign", byAB, `{"a":-0.0,"b":1}`, `[{"a":0.0,"b":1}]`, -1},
		{"booleans", byAB, `{"a":true,"b":false}`, `[{"a":true,"b":true},{"a":true,"b":false}]`, 1},
		{"a key is missing", byAB, `{"a":1}`, `[{"a":1}]`, -1},
		{"a key is an object", byA, `{"a":{}}`, `[{"a":{}}]`, -1},
		{"other elements than objects are skipped", byA, `{"a":1}`, `[null,1,{"b":1},{"a":1}]`, 3},
		{"no object", byA, `"a"`, `[{"a":1}]`, -1},
		{"another list", &pairSchema{typ: "array", items: ab}, `{"a":1}`, `[{"a":1}]`, -1},
		{"a set", &pairSchema{typ: "array", listType: "set", items: scalar}, `1`, `[1]`, -1},
		{"the old value is no list", byA, `{"a":1}`, `{"a":1}`, -1},
		{"the old value is null", byA, `{"a":1}`, `null`, -1},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			d := new(tree.Doc)
			d.Reset()
			self, old := parseAs(t, d, `[`+test.element+`]`, tree.Request), parseAs(t, d, test.old, tree.Old)
			var trees Pairs
			trees.Init(d, nil)
			want := uint32(0)
			if test.want >= 0 {
				want = d.Index(old, test.want)
			}
			if got := trees.Root(test.schema.node(), self, old).Index(d.Index(self, 0)).old; got != want {
				t.Errorf("old value %d, want %d", got, want)
			}
			theirs := common.NewCorrelatedObject(d.Any(self), d.Any(old), upstream{s: test.schema}).Index(0)
			if (theirs != nil) != (test.want >= 0) {
				t.Errorf("upstream has %v", theirs)
			}
		})
	}
}

// TestLongMapLists holds the tables of long lists against the search of short ones.
func TestLongMapLists(t *testing.T) {
	for _, s := range []*pairSchema{byA, byAB} {
		r := rand.New(rand.NewPCG(1, 2))
		keys := []string{`1`, `1.0`, `0.0`, `-0.0`, `"1"`, `true`, `null`, `1.00000001`, `1.00000002`, `"é"`, `{}`, `2`, `3`}
		element := func() string {
			return fmt.Sprintf(`{"a":%s,"b":%s}`, keys[r.IntN(len(keys))], keys[r.IntN(len(keys))])
		}
		var old, self []byte
		for k := range 400 {
			if k > 0 {
				old, self = append(old, ','), append(self, ',')
			}
			old, self = append(old, element()...), append(self, element()...)
		}
		d := new(tree.Doc)
		d.Reset()
		i, j := parseAs(t, d, `[`+string(self)+`]`, tree.Request), parseAs(t, d, `[`+string(old)+`]`, tree.Old)
		var trees Pairs
		trees.Init(d, nil)
		n := s.node()
		theirs := common.MakeMapList(upstream{s: s}, d.Any(j).([]any))
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			got, want := trees.sameKeys(n, j, c), uint32(0)
			if trees.hasKeys(n.ListKeys, c) {
				want = trees.search(n.ListKeys, j, c)
			}
			if got != want {
				t.Errorf("%s: %d, by search %d", d.Raw(c), got, want)
			}
			if (theirs.Get(d.Any(c)) != nil) != (got != 0) {
				t.Errorf("%s: %d, upstream %v", d.Raw(c), got, theirs.Get(d.Any(c)))
			}
		}
		if trees.tables[j] == nil {
			t.Error("a long list has no table")
		}
	}
}

// TestRandomPairs compares with upstream at every position of random pairs.
func TestRandomPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		s := randomSchema(r, 3)
		x := randomValue(r, s, 3)
		y := x
		if r.IntN(3) > 0 {
			y = change(r, x)
		}
		if r.IntN(4) == 0 {
			y = randomValue(r, s, 3)
		}
		a, _ := json.Marshal(x)
		b, _ := json.Marshal(y)
		d := tree.Acquire()
		self, old := parseAs(t, d, string(a), tree.Request), parseAs(t, d, string(b), tree.Old)
		var trees Pairs
		trees.Init(d, nil)
		compare(t, d, trees.Root(s.node(), self, old), common.NewCorrelatedObject(d.Any(self), d.Any(old), upstream{s: s}))
		if t.Failed() {
			t.Fatalf("new %s, old %s", a, b)
		}
		d.Release()
	}
}

func compare(t *testing.T, d *tree.Doc, ours Pair, theirs *common.CorrelatedObject) {
	if ours.Known() != (theirs != nil) {
		t.Errorf("known: %v", ours.Known())
		return
	}
	if got, want := ours.Equal(), theirs.CachedDeepEqual(); got != want {
		t.Errorf("%s: equal %v, want %v", d.AppendJSON(nil, ours.self), got, want)
	}
	if !ours.Known() {
		return
	}
	k := 0
	for c := d.Nodes[ours.self].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[ours.self].Kind == tree.Object {
			compare(t, d, ours.Member(c), theirs.Key(string([]byte(d.Key(c)))))
		} else {
			compare(t, d, ours.Index(c), theirs.Index(k))
		}
		k++
	}
}

var names = []string{"a", "b", "v", "x"}

func randomSchema(r *rand.Rand, depth int) *pairSchema {
	if depth == 0 || r.IntN(5) == 0 {
		return scalar
	}
	switch r.IntN(4) {
	case 0:
		return &pairSchema{typ: "object", additional: randomSchema(r, depth-1)}
	case 1:
		s := &pairSchema{typ: "array", items: randomSchema(r, depth-1), listType: []string{"", "atomic", "set", "map"}[r.IntN(4)]}
		if s.listType == "map" {
			s.keys = [][]string{{"a"}, {"a", "b"}}[r.IntN(2)]
			s.items = object(map[string]*pairSchema{"a": scalar, "b": scalar, "v": randomSchema(r, depth-1)})
		}
		return s
	}
	s := object(map[string]*pairSchema{})
	for _, name := range names[:r.IntN(4)] {
		s.properties[name] = randomSchema(r, depth-1)
	}
	return s
}

func randomValue(r *rand.Rand, s *pairSchema, depth int) any {
	if depth < 0 || r.IntN(12) == 0 {
		return []any{nil, 1, 1.5, "1", true, map[string]any{"x": 1}, []any{1}}[r.IntN(7)]
	}
	switch s.typ {
	case "object":
		o := map[string]any{}
		for _, name := range names {
			if c := s.Child(name); c != nil && r.IntN(3) > 0 {
				o[name] = randomValue(r, c, depth-1)
			}
		}
		if r.IntN(8) == 0 {
			o["x"] = 1
		}
		return o
	case "array":
		l := []any{}
		for range r.IntN(4) {
			l = append(l, randomValue(r, s.items, depth-1))
		}
		return l
	}
	return []any{1, 2, "1", true, 1.25, nil}[r.IntN(6)]
}

// change gives v with little changed: something else somewhere, or a list in another order.
func change(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := map[string]any{}
		for k, x := range v {
			o[k] = x
			if r.IntN(3) == 0 {
				o[k] = change(r, x)
			}
		}
		return o
	case []any:
		l := append([]any(nil), v...)
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		if len(l) > 0 && r.IntN(2) == 0 {
			l[0] = change(r, l[0])
		}
		return l
	}
	return []any{v, v, 1, "2"}[r.IntN(4)]
}
