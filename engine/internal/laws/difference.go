package laws

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// objectTree is a parsed object.
type objectTree struct {
	*tree.Doc
	root uint32
}

// parse parses an object. The caller releases it. If the text is not JSON, the object is empty.
func parse(object []byte) objectTree {
	d := tree.Acquire()
	root, err := d.ParseJSON(object, tree.Limits{MaxBytes: max(len(object), 1)})
	if err != nil {
		root, _ = d.ParseJSON([]byte("{}"), tree.Limits{})
	}
	return objectTree{d, root}
}

// without removes members of the root.
func (t objectTree) without(names ...string) objectTree {
	for _, name := range names {
		t.remove(t.root, name)
	}
	return t
}

func (t objectTree) remove(object uint32, name string) {
	prev := uint32(0)
	for c := t.Nodes[object].First; c != 0; prev, c = c, t.Nodes[c].Next {
		if t.Key(c) == name {
			t.Remove(object, prev, c)
			return
		}
	}
}

// annotations returns the metadata and its annotations, or 0 if they do not exist.
func (t objectTree) annotations() (metadata, annotations uint32) {
	metadata = t.Field(t.root, "metadata")
	if annotations = t.Field(metadata, "annotations"); t.Nodes[annotations].Kind != tree.Object {
		annotations = 0
	}
	return metadata, annotations
}

// withoutKept removes the annotations of conversions. If no annotation remains, it also removes the field annotations,
// unless keep is set.
func (t objectTree) withoutKept(keep bool) objectTree {
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
	path   tree.Path
	is, to string // the values as JSON, "" for an absent one
}

// differs returns the first difference between two values at a path, or nil. The numbers 1 and 1.0 are equal, since API
// servers write both as 1.
func differs(a objectTree, i uint32, b objectTree, j uint32, at tree.Path) *difference {
	if tree.Equal(a.Doc, i, b.Doc, j) {
		return nil
	}
	m, n := &a.Nodes[i], &b.Nodes[j]
	if m.Kind != n.Kind || m.Kind != tree.Object && m.Kind != tree.Array {
		if isNumber(m) && isNumber(n) && shown(a, i) == shown(b, j) {
			return nil
		}
		return &difference{at.Detach(), shown(a, i), shown(b, j)}
	}
	if m.Kind == tree.Array {
		c, e, k := m.First, n.First, 0
		for ; c != 0 && e != 0; c, e, k = a.Nodes[c].Next, b.Nodes[e].Next, k+1 {
			if found := differs(a, c, b, e, at.With(tree.At(k))); found != nil {
				return found
			}
		}
		if c == e { // both are 0
			return nil
		}
		return &difference{at.With(tree.At(k)).Detach(), shown(a, c), shown(b, e)}
	}
	for c := m.First; c != 0; c = a.Nodes[c].Next {
		step := at.With(tree.Name(a.Key(c)))
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
			return &difference{at.With(tree.Name(b.Key(e))).Detach(), "", shown(b, e)}
		}
	}
	return nil
}

func isNumber(n *tree.Node) bool { return n.Kind == tree.Int || n.Kind == tree.Float }

// The number of bytes of a value and of an object that a text shows.
const (
	maxShown       = 80
	maxShownObject = 600
)

// shown returns a value as shortened JSON, or "" for the node 0.
func shown(t objectTree, i uint32) string {
	if i == 0 {
		return ""
	}
	return violation.Shorten(string(t.AppendJSON(nil, i)), maxShown)
}

// named returns a path as text.
func named(p tree.Path) string {
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
