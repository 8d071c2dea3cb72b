package lens

import (
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// segment returns the step from a list or map to its k-th item.
func segment(d *value.Doc, container, item uint32, k int) value.Segment {
	if d.Nodes[container].Kind == value.Array {
		return value.At(k)
	}
	return value.Entry(strings.Clone(d.Key(item)))
}

// objectAt returns a member of an object. If it is absent or null, it becomes an empty object.
func objectAt(d *value.Doc, object uint32, name string) uint32 {
	c := d.Field(object, name)
	switch {
	case d.Nodes[object].Kind != value.Object:
	case c == 0:
		c = newObject(d, name)
		d.Append(object, c)
	case d.Nodes[c].Kind == value.Null:
		d.Replace(c, newObject(d, ""))
	}
	return c
}

// newObject returns an empty object with a key.
func newObject(d *value.Doc, key string) uint32 { return newNode(d, key, "{}") }

// newString returns a string with a key.
func newString(d *value.Doc, key, s string) uint32 {
	return newNode(d, key, string(value.AppendString(nil, s)))
}

// newNode returns the node of a short JSON text, which must be valid, with a key.
func newNode(d *value.Doc, key, json string) uint32 {
	i, err := d.Parse([]byte(json), value.Arena, value.Limits{MaxBytes: max(len(json), 1)})
	if err != nil {
		panic("lens: " + err.Error())
	}
	d.SetKey(i, key)
	return i
}

func removeMember(d *value.Doc, object, member uint32) {
	prev := uint32(0)
	for c := d.Nodes[object].First; c != 0; prev, c = c, d.Nodes[c].Next {
		if c == member {
			d.Remove(object, prev, c)
			return
		}
	}
}
