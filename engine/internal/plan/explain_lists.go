package plan

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// ExplainLists returns the errors about sets and map lists with repeated items or keys, in document order and without
// deduplication. The object may be of any kind.
//
// Upstream: AE/apiserver/schema/listtype/validation.go, ValidateListSetsAndMaps.
func (p *Plan) ExplainLists(d *tree.Doc, root uint32, at At) []violation.Violation {
	if !p.Structural || d.Nodes[root].Kind != tree.Object {
		return nil
	}
	e := checker{walker: walker{d: d, at: at}}
	e.walk(p.Root, root, ListTypesBelow, e.list)
	return e.found
}

// unspecified is the key of an item without it, and of null. It equals only itself.
type unspecified struct{}

// list checks a set or a map list. With one key its value is compared, with several all of them as an object. The error
// about a map list always shows an object.
func (e *checker) list(n *Node, i uint32) {
	isMap := n.Flags&ListMap != 0
	if e.d.Nodes[i].Kind != tree.Array || !isMap && n.Flags&ListSet == 0 {
		return
	}
	k := 0
	for c := e.d.Nodes[i].First; c != 0 && isMap; c, k = e.d.Nodes[c].Next, k+1 {
		if kind := e.d.Nodes[c].Kind; kind != tree.Null && kind != tree.Object {
			e.item(k, c, field.Invalid(nil, e.d.Any(c), "must be an object for an array of list-type map"))
			return
		}
	}
	if e.d.Len(i) < 2 {
		return
	}
	lookUp := e.d.Field
	if len(n.ListKeys) > manyNames {
		lookUp = e.find().Field
	}
	keys := func(c uint32) map[string]any {
		m := map[string]any{}
		for _, key := range n.ListKeys {
			if v := lookUp(c, key.Name); v != 0 {
				m[key.Name] = e.d.Any(v)
			}
		}
		return m
	}
	seen, texts := counter{}, map[string]int{}
	k = 0
	for c := e.d.Nodes[i].First; c != 0 && !e.tick(4+e.textOf(c)/64); c, k = e.d.Nodes[c].Next, k+1 {
		v := c
		if isMap && len(n.ListKeys) == 1 {
			v = lookUp(c, n.ListKeys[0].Name)
		}
		var repeated bool
		switch {
		case isMap && len(n.ListKeys) != 1:
			object := keys(c)
			repeated = (len(object) > 0 || quirk.On(quirk.MapListKeyCollisions)) && seen.repeats(object)
		case v == 0:
			repeated = quirk.On(quirk.MapListKeyCollisions) && seen.repeats(unspecified{})
		case e.d.Nodes[v].Kind == tree.String:
			text := e.d.Str(v)
			texts[text]++
			repeated = texts[text] == 2
		default:
			repeated = seen.repeats(e.d.Any(v))
		}
		switch {
		case repeated && isMap:
			e.item(k, c, field.Duplicate(nil, keys(c)))
		case repeated:
			e.item(k, c, field.Duplicate(nil, e.d.Any(c)))
		}
	}
}

// item adds an error about the k-th item of a list.
func (e *checker) item(k int, c uint32, err *field.Error) {
	schema := e.pointer("x-kubernetes-list-type")
	e.enter(step{kind: stepItem, index: k})
	err.Field = e.bracketed("")
	e.take(err, c, false)
	e.add(violation.List, c, err, schema)
	e.leave()
}

// counter counts values: scalars by Go's equality (1 is not 1.0), arrays and objects by their JSON (where it is).
type counter map[any]int

type compound string

// repeats counts x and reports whether this is its second occurrence, but not for later ones.
func (s counter) repeats(x any) bool {
	switch v := x.(type) {
	case map[string]any, []any:
		b, _ := json.Marshal(v) // it comes from JSON
		x = compound(b)
	case int64:
		if !quirk.On(quirk.SecondDuplicateOnly) {
			x = float64(v)
		}
	}
	s[x]++
	return s[x] == 2
}
