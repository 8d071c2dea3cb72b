package laws

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// tree is a parsed object.
type tree struct {
	*value.Doc
	root uint32
}

// parse parses an object. The caller releases it. If the text is not JSON, the object is empty.
func parse(object []byte) tree {
	d := value.Acquire()
	root, err := d.ParseJSON(object, value.Limits{MaxBytes: max(len(object), 1)})
	if err != nil {
		root, _ = d.ParseJSON([]byte("{}"), value.Limits{})
	}
	return tree{d, root}
}

// without removes members of the root.
func (t tree) without(names ...string) tree {
	for _, name := range names {
		t.remove(t.root, name)
	}
	return t
}

func (t tree) remove(object uint32, name string) {
	prev := uint32(0)
	for c := t.Nodes[object].First; c != 0; prev, c = c, t.Nodes[c].Next {
		if t.Key(c) == name {
			t.Remove(object, prev, c)
			return
		}
	}
}

// annotations returns the metadata and its annotations, or 0 if they do not exist.
func (t tree) annotations() (metadata, annotations uint32) {
	metadata = t.Field(t.root, "metadata")
	if annotations = t.Field(metadata, "annotations"); t.Nodes[annotations].Kind != value.Object {
		annotations = 0
	}
	return metadata, annotations
}

// withoutKept removes the annotations of conversions. If no annotation remains, it also removes the field annotations,
// unless keep is set.
func (t tree) withoutKept(keep bool) tree {
	metadata, annotations := t.annotations()
	prev, removed := uint32(0), false
	for c := t.Nodes[annotations].First; c != 0; c = t.Nodes[c].Next {
		if !strings.HasPrefix(t.Key(c), lens.AnnotationPrefix) {
			prev = c
			continue
		}
		t.Remove(annotations, prev, c)
		removed = true
	}
	if annotations != 0 {
		t.MarkDirty(t.root, metadata, annotations)
	}
	if removed && !keep && t.Len(annotations) == 0 {
		t.remove(metadata, "annotations")
	}
	return t
}

// difference is a value that differs between two objects.
type difference struct {
	path   value.Path
	is, to string // the values as JSON, "" for an absent one
}

// differs returns the first difference between two values at a path, or nil. The numbers 1 and 1.0 are equal, since API
// servers write both as 1.
func differs(a tree, i uint32, b tree, j uint32, at value.Path) *difference {
	if value.Equal(a.Doc, i, b.Doc, j) {
		return nil
	}
	m, n := &a.Nodes[i], &b.Nodes[j]
	if m.Kind != n.Kind || m.Kind != value.Object && m.Kind != value.Array {
		if isNumber(m) && isNumber(n) && shown(a, i) == shown(b, j) {
			return nil
		}
		return &difference{at.Detach(), shown(a, i), shown(b, j)}
	}
	if m.Kind == value.Array {
		c, e, k := m.First, n.First, 0
		for ; c != 0 && e != 0; c, e, k = a.Nodes[c].Next, b.Nodes[e].Next, k+1 {
			if found := differs(a, c, b, e, at.With(value.At(k))); found != nil {
				return found
			}
		}
		if c == e { // both are 0
			return nil
		}
		return &difference{at.With(value.At(k)).Detach(), shown(a, c), shown(b, e)}
	}
	for c := m.First; c != 0; c = a.Nodes[c].Next {
		step := at.With(value.Name(a.Key(c)))
		e := b.Field(j, a.Key(c))
		if e == 0 {
			return &difference{step.Detach(), shown(a, c), ""}
		}
		if found := differs(a, c, b, e, step); found != nil {
			return found
		}
	}
	for e := n.First; e != 0; e = b.Nodes[e].Next {
		if a.Field(i, b.Key(e)) == 0 {
			return &difference{at.With(value.Name(b.Key(e))).Detach(), "", shown(b, e)}
		}
	}
	return nil
}

func isNumber(n *value.Node) bool { return n.Kind == value.Int || n.Kind == value.Float }

// The number of bytes of a value and of an object that a text shows.
const (
	maxShown       = 80
	maxShownObject = 600
)

// shown returns a value as shortened JSON, or "" for the node 0.
func shown(t tree, i uint32) string {
	if i == 0 {
		return ""
	}
	return violation.Shorten(string(t.AppendJSON(nil, i)), maxShown)
}

// named returns a path as text.
func named(p value.Path) string {
	if len(p) == 0 {
		return "the object"
	}
	return p.Dotted()
}

// state returns the text of a value, or "absent".
func state(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}
