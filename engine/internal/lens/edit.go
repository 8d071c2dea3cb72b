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
func newObject(d *value.Doc, key string) uint32 {
	c := parsed(d, "{}")
	d.SetKey(c, key)
	return c
}

// newString returns a node of a string.
func newString(d *value.Doc, s string) uint32 { return parsed(d, string(value.AppendString(nil, s))) }

// parsed returns a node of a short JSON text that is known to be correct.
func parsed(d *value.Doc, text string) uint32 {
	root, err := d.Parse([]byte(text), value.Arena, value.Limits{MaxBytes: max(len(text), 1)})
	if err != nil {
		panic("lens: " + err.Error())
	}
	return root
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
