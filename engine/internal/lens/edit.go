package lens

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// segment returns the step from a list or map to its k-th item.
func segment(d *tree.Doc, container, item uint32, k int) tree.Segment {
	if d.Nodes[container].Kind == tree.Array {
		return tree.At(k)
	}
	return tree.Entry(strings.Clone(d.Key(item)))
}

// objectAt returns a member of an object. If it is absent or null, it becomes an empty object.
func objectAt(d *tree.Doc, object uint32, name string) uint32 {
	c := d.Field(object, name)
	switch {
	case d.Nodes[object].Kind != tree.Object:
	case c == 0:
		c = newObject(d, name)
		d.Append(object, c)
	case d.Nodes[c].Kind == tree.Null:
		d.Replace(c, newObject(d, ""))
	}
	return c
}

// newObject returns an empty object with a key.
func newObject(d *tree.Doc, key string) uint32 { return newNode(d, key, "{}") }

// newString returns a string with a key.
func newString(d *tree.Doc, key, s string) uint32 {
	return newNode(d, key, string(tree.AppendString(nil, s)))
}

// newNode returns the node of a short JSON text, which must be valid, with a key.
func newNode(d *tree.Doc, key, json string) uint32 {
	i, err := d.Parse([]byte(json), tree.Arena, tree.Limits{MaxBytes: max(len(json), 1)})
	if err != nil {
		panic("lens: " + err.Error())
	}
	d.SetKey(i, key)
	return i
}

func removeMember(d *tree.Doc, object, member uint32) {
	prev := uint32(0)
	for c := d.Nodes[object].First; c != 0; prev, c = c, d.Nodes[c].Next {
		if c == member {
			d.Remove(object, prev, c)
			return
		}
	}
}
