package document

import (
	"iter"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Value is a value of a document. It is valid during Read, and is not safe for concurrent use. The zero Value is that of
// a missing field.
type Value struct {
	doc  *tree.Doc
	node uint32
}

// Read parses one JSON value and calls use with it. Integers within int64 are integers, and other numbers are floats. Of
// duplicate keys, the last one counts. The error is a *LimitError, a *SyntaxError with upstream's text, or that of use.
func Read(json []byte, l Limits, use func(root Value) error) error {
	doc := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := doc.ParseJSON(json, l)
	if err == nil {
		err = use(Value{doc, root})
	}
	doc.Release()
	return err
}

// Exists reports whether the document has the value.
func (v Value) Exists() bool { return v.node != 0 }

// kind returns the kind of a value that exists.
func (v Value) kind() tree.Kind { return v.doc.Nodes[v.node].Kind }

// Field returns a member of an object. It searches all members.
func (v Value) Field(key string) Value {
	if !v.Exists() {
		return Value{}
	}
	return Value{v.doc, v.doc.Field(v.node, key)}
}

// Elements yields the elements of an array. Another value has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.Exists() || v.kind() != tree.Array {
			return
		}
		for c := v.doc.Nodes[v.node].First; c != 0 && yield(Value{v.doc, c}); {
			c = v.doc.Nodes[c].Next
		}
	}
}

// Raw returns the value as it is written, nil for a missing one. It is a part of the text that was read.
func (v Value) Raw() []byte {
	if !v.Exists() {
		return nil
	}
	return v.doc.Raw(v.node)
}

// Any returns a copy of the value as unstructured objects have it: map[string]any, []any, int64, float64, string, bool,
// or nil, also for a missing value.
func (v Value) Any() any {
	if !v.Exists() {
		return nil
	}
	return v.doc.Any(v.node)
}

// Equal reports whether Any would return a value that is equal to other, by reflect.DeepEqual, without the excepted
// members at the root of both. It does not allocate.
func (v Value) Equal(other any, except ...string) bool {
	if !v.Exists() {
		return false
	}
	n := &v.doc.Nodes[v.node]
	switch other := other.(type) {
	case nil:
		return n.Kind == tree.Null
	case bool:
		return n.Kind == tree.True && other || n.Kind == tree.False && !other
	case int64:
		return n.Kind == tree.Int && v.doc.Int(v.node) == other
	case float64:
		return n.Kind == tree.Float && v.doc.Float(v.node) == other
	case string:
		return n.Kind == tree.String && v.doc.Str(v.node) == other
	case map[string]any:
		return v.equalMembers(other, except)
	case []any:
		if n.Kind != tree.Array || other == nil || v.doc.Len(v.node) != len(other) {
			return false
		}
		c := n.First
		for _, element := range other {
			if !(Value{v.doc, c}).Equal(element) {
				return false
			}
			c = v.doc.Nodes[c].Next
		}
		return true
	}
	return false
}

// equalMembers is Equal for an object.
func (v Value) equalMembers(other map[string]any, except []string) bool {
	n := &v.doc.Nodes[v.node]
	if n.Kind != tree.Object || other == nil {
		return false
	}
	left := len(other)
	for _, key := range except {
		if _, ok := other[key]; ok {
			left--
		}
	}
	for c := n.First; c != 0; c = v.doc.Nodes[c].Next {
		key := v.doc.Key(c)
		if slices.Contains(except, key) {
			continue
		}
		if member, ok := other[key]; !ok || !(Value{v.doc, c}).Equal(member) {
			return false
		}
		left--
	}
	return left == 0
}
