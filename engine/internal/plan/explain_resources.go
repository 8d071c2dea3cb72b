package plan

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// ExplainEmbedded returns the errors about apiVersion, kind and metadata of embedded resources, in document order. The
// object may be of any kind, and need not be coerced.
//
// Upstream: AE/apiserver/schema/objectmeta/validation.go, Validate, without the resource root.
func (p *Plan) ExplainEmbedded(d *value.Doc, root uint32, at At) []violation.Violation {
	if !p.Structural || p.Root.Flags&EmbeddedBelow == 0 {
		return nil
	}
	e := embeddedExplainer{walker: walker{d: d, at: at}}
	e.judge(p.Root, root)
	return e.found
}

type embeddedExplainer struct {
	walker
	found []violation.Violation
}

func (e *embeddedExplainer) judge(n *Node, i uint32) {
	if n == nil || n.Flags&EmbeddedBelow == 0 {
		return
	}
	if e.d.Nodes[i].Kind == value.Object && n.Flags&Embedded != 0 {
		e.resource(i)
	}
	e.below(n, i, e.judge)
}

// resource validates an object as a resource. The structured path leads to the member at or above the error.
func (e *embeddedExplainer) resource(i uint32) {
	if limit := new(value.LimitError); errors.As(metadata.Fits(e.d, e.d.Field(i, "metadata")), &limit) {
		e.at.Budget.Fail(limit)
		e.done = true
		return
	}
	at := e.field()
	schema := e.pointer(e.steps, "x-kubernetes-embedded-resource")
	for _, err := range metadata.ValidateEmbedded(e.d, i, at) {
		if e.take(err, i, false); e.done {
			return
		}
		key := "metadata"
		for _, name := range [...]string{"apiVersion", "kind"} {
			if err.Field == at.Child(name).String() {
				key = name
			}
		}
		if err.Type == field.ErrorTypeRequired && key != "metadata" && !quirk.On(quirk.EmbeddedMetadata) {
			continue
		}
		node := e.d.Field(i, key)
		if node == 0 {
			node = i
		}
		e.enter(step{kind: stepProperty, name: key})
		v := e.violation(violation.Embedded, node, err, nil, "")
		e.leave()
		v.Schema = schema
		e.found = append(e.found, v)
	}
}

// ExplainLists returns the errors about sets and map lists with repeated items or keys, in document order and without
// deduplication. The object may be of any kind.
//
// Upstream: AE/apiserver/schema/listtype/validation.go, ValidateListSetsAndMaps.
func (p *Plan) ExplainLists(d *value.Doc, root uint32, at At) []violation.Violation {
	if !p.Structural || p.Root.Flags&ListTypesBelow == 0 || d.Nodes[root].Kind != value.Object {
		return nil
	}
	e := listExplainer{walker: walker{d: d, at: at}}
	e.judge(p.Root, root)
	return e.found
}

type listExplainer struct {
	walker
	found []violation.Violation
}

func (e *listExplainer) judge(n *Node, i uint32) {
	if n == nil || n.Flags&ListTypesBelow == 0 {
		return
	}
	if e.d.Nodes[i].Kind == value.Array {
		switch {
		case n.Flags&ListSet != 0:
			e.set(i)
		case n.Flags&ListMap != 0:
			e.mapList(n, i)
		}
	}
	e.below(n, i, e.judge)
}

// unspecified is the key of an item without it, and of null. It equals only itself.
type unspecified struct{}

func (e *listExplainer) set(i uint32) {
	if e.d.Len(i) < 2 {
		return
	}
	seen := make(counter, e.d.Len(i))
	k := 0
	for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
		if e.tick(1 + e.textOf(c)/64) {
			return
		}
		if x := e.d.Any(c); seen.repeats(x) {
			e.duplicate(k, c, x)
		}
		k++
	}
}

func (e *listExplainer) mapList(n *Node, i uint32) {
	k := 0
	for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
		if kind := e.d.Nodes[c].Kind; kind != value.Null && kind != value.Object {
			e.report(k, c, "x-kubernetes-list-type", func(p *field.Path) *field.Error {
				return field.Invalid(p, e.d.Any(c), "must be an object for an array of list-type map")
			})
			return
		}
		k++
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
	k = -1
	for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
		k++
		if e.tick(4 + e.textOf(c)/64) {
			return
		}
		// With one key its value is compared, with several all of them as an object. The error always shows an object.
		var repeated bool
		var v uint32
		if len(n.ListKeys) == 1 {
			v = lookUp(c, n.ListKeys[0].Name)
		}
		switch {
		case len(n.ListKeys) != 1:
			object := keys(c)
			if len(object) == 0 && !quirk.On(quirk.MapListKeyCollisions) {
				continue
			}
			repeated = seen.repeats(object)
		case v == 0:
			repeated = quirk.On(quirk.MapListKeyCollisions) && seen.repeats(unspecified{})
		case e.d.Nodes[v].Kind == value.String:
			text := e.d.Str(v)
			texts[text]++
			repeated = texts[text] == 2
		default:
			repeated = seen.repeats(e.d.Any(v))
		}
		if repeated {
			e.duplicate(k, c, keys(c))
		}
	}
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

func (e *listExplainer) duplicate(k int, c uint32, shown any) {
	e.report(k, c, "x-kubernetes-list-type", func(p *field.Path) *field.Error { return field.Duplicate(p, shown) })
}

func (e *listExplainer) report(k int, c uint32, keyword string, fill func(*field.Path) *field.Error) {
	schema := e.pointer(e.steps, keyword)
	e.enter(step{kind: stepItem, index: k})
	err := fill(nil)
	err.Field = e.bracketed("")
	v := e.violation(violation.List, c, err, nil, "")
	e.take(v.Error, c, false)
	e.leave()
	v.Schema = schema
	e.found = append(e.found, v)
}
