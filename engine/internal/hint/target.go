package hint

import (
	"bytes"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// target describes the values at a path: by a node of the schema or, for metadata and for CRDs, by a Go type of the
// API. The values of a default in a CRD have the type and the enum that their schema gives. Nothing is known about the
// values of the zero target.
type target struct {
	node  *plan.Node
	api   schema.Shape
	given *given
}

// given is a part of a schema in the manifest of a CRD.
type given struct {
	types []string
	enum  []any
}

// objectMeta has the fields of metadata.
var objectMeta = schema.ShapeOf(reflect.TypeFor[metav1.ObjectMeta]())

// resourceFields are the fields of every resource, whatever its schema declares.
var resourceFields = []string{"apiVersion", "kind", "metadata"}

// target returns the target at a path.
func (f *Finder) target(path tree.Path) target {
	t := f.top
	for _, s := range path {
		if s.IsIndex() {
			t = t.items()
		} else {
			t = t.child(s.Key())
		}
	}
	return t
}

func (t target) isResource() bool {
	return t.node != nil && (t.node.Has(plan.Root) || t.node.Has(plan.Embedded))
}

// known reports whether anything is known about the values.
func (t target) known() bool { return t.node != nil || t.api.Known() }

func (t target) child(name string) target {
	switch {
	case t.api.Known():
		return target{api: t.api.Child(name)}
	case t.isResource() && name == "metadata":
		return target{api: objectMeta}
	}
	return target{node: t.node.Child(name)}
}

func (t target) items() target {
	switch {
	case t.api.Known():
		return target{api: t.api.Items()}
	case t.node != nil:
		return target{node: t.node.Items}
	}
	return target{}
}

// types returns the JSON types of valid values, nil for any.
func (t target) types() []string {
	switch {
	case t.api.Known():
		return t.api.Types()
	case t.node != nil:
		return t.node.Types()
	case t.given != nil:
		return t.given.types
	}
	return nil
}

// enum returns the values of the enums that all valid values are in, nil without one.
func (t target) enum() []any {
	if t.given != nil {
		return t.given.enum
	}
	return enumOf(t.node)
}

func enumOf(n *plan.Node) []any {
	if n == nil || n.Valid == nil {
		return nil
	}
	if n.Valid.Enum != nil {
		return n.Valid.Enum.Values
	}
	for _, part := range n.Valid.AllOf {
		if values := enumOf(part); values != nil {
			return values
		}
	}
	return nil
}

// allows reports whether the types and enums of a target allow a value in JSON. An enum in not counts if not has nothing
// else.
func (f *Finder) allows(t target, json []byte) bool {
	if t.node != nil {
		return f.nodeAllows(t.node, json)
	}
	return isOfType(json, t.types()) && (t.given == nil || f.contains(t.given.enum, json))
}

func (f *Finder) nodeAllows(n *plan.Node, json []byte) bool {
	if f.work++; f.work >= maxWork || !isOfType(json, n.Types()) {
		return false
	}
	v := n.Valid
	if v == nil {
		return true
	}
	allows := func(part *plan.Node) bool { return f.nodeAllows(part, json) }
	rejects := func(part *plan.Node) bool { return !f.nodeAllows(part, json) }
	switch {
	case v.Enum != nil && !f.contains(v.Enum.Values, json), slices.ContainsFunc(v.AllOf, rejects):
		return false
	case len(v.AnyOf) > 0 && !slices.ContainsFunc(v.AnyOf, allows), len(v.OneOf) > 0 && !slices.ContainsFunc(v.OneOf, allows):
		return false
	}
	return v.Not == nil || !isEnum(v.Not) || rejects(v.Not)
}

// isEnum reports whether an enum is all that a schema has.
func isEnum(n *plan.Node) bool {
	if n.Valid == nil || n.Valid.Enum == nil || len(n.Types()) > 0 || len(n.Names) > 0 {
		return false
	}
	v := *n.Valid
	v.Enum = nil
	v.Operators = nil
	return reflect.DeepEqual(v, plan.Validation{}) && reflect.DeepEqual(*n.Valid.Operators, plan.Operators{})
}

// contains reports whether an enum has a value in JSON. Without an enum, it has every value.
func (f *Finder) contains(enum []any, json []byte) bool {
	f.work += 4 * len(enum)
	return len(enum) == 0 || slices.ContainsFunc(enum, func(one any) bool {
		return bytes.Equal(tree.AppendAny(nil, one), json)
	})
}

// isOfType reports whether a value in JSON is of one of the types; without types any value is.
func isOfType(json []byte, types []string) bool {
	if len(types) == 0 {
		return true
	}
	kind := "null"
	switch c := json[0]; {
	case c == '"':
		kind = "string"
	case c == '{':
		kind = "object"
	case c == '[':
		kind = "array"
	case c == 't' || c == 'f':
		kind = "boolean"
	case c != 'n' && !bytes.ContainsAny(json, ".eE"):
		return slices.Contains(types, "integer") || slices.Contains(types, "number")
	case c != 'n':
		kind = "number"
	}
	return slices.Contains(types, kind)
}

// declares reports whether the target has a field of the name.
func (t target) declares(name string) bool {
	if t.node == nil {
		return t.api.HasFields() && t.api.Child(name).Known()
	}
	_, found := slices.BinarySearch(t.node.Names, name)
	return found || t.isResource() && slices.Contains(resourceFields, name)
}

// names returns the names of the fields.
func (t target) names() []string {
	switch {
	case t.node == nil:
		return t.api.Names()
	case t.isResource():
		return slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.node.Names, resourceFields))))
	}
	return t.node.Names
}
