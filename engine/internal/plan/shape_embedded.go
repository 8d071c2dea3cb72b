package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// CoerceEmbedded checks the types of apiVersion and kind and coerces the metadata of each embedded resource. o.Path is
// the path of the value, or nil; o.Lenient removes malformed fields; o.Track asks for the unknown fields of metadata,
// which are returned sorted. found is the first error in document order. err is a *tree.LimitError about the paths of
// unknown fields. The Doc is unusable after either.
//
// Upstream: AE/apiserver/schema/objectmeta, CoerceWithOptions, without the resource root.
func (p *Plan) CoerceEmbedded(d *tree.Doc, root uint32, o metadata.Options) (unknown []string,
	found *violation.Violation, err error) {
	if !p.Structural || p.Root.Flags&EmbeddedBelow == 0 {
		return nil, nil, nil
	}
	c := coercer{walker: walker{d: d, at: At{Field: o.Path}}, o: o}
	if c.coerce(p.Root, root); c.found != nil || c.err != nil {
		return nil, c.found, c.err
	}
	slices.Sort(c.unknown)
	return c.unknown, nil, nil
}

type coercer struct {
	walker
	o       metadata.Options
	unknown []string
	bytes   int // of unknown
	found   *violation.Violation
	err     error
}

// goesOn reports whether the walk continues.
func (w *coercer) goesOn() bool { return w.found == nil && w.err == nil }

func (w *coercer) coerce(n *Node, i uint32) (dirty bool) {
	if n == nil || n.Flags&EmbeddedBelow == 0 {
		return false
	}
	switch w.d.Nodes[i].Kind {
	case tree.Array:
		k := 0
		for c := w.d.Nodes[i].First; c != 0 && w.goesOn(); c, k = w.d.Nodes[c].Next, k+1 {
			w.enter(step{kind: stepItem, index: k})
			dirty = w.coerce(n.Items, c) || dirty
			w.leave()
		}
	case tree.Object:
		var prev, next uint32
		for c := w.d.Nodes[i].First; c != 0 && w.goesOn(); c = next {
			next = w.d.Nodes[c].Next
			key := w.d.Key(c)
			if n.Flags&Embedded != 0 && isMeta(key) {
				removed, changed := w.coerceMeta(i, prev, c, key)
				dirty = dirty || removed || changed
				if removed {
					continue
				}
			} else if s, child := n.member(key); child != nil {
				w.enter(s)
				dirty = w.coerce(child, c) || dirty
				w.leave()
			}
			prev = c
		}
	}
	if dirty {
		w.d.MarkDirty(i)
	}
	return dirty
}

// coerceMeta coerces one of apiVersion, kind and metadata of an embedded resource. Nothing below them is an embedded
// resource: registration allows a schema of metadata to restrict only name and generateName.
func (w *coercer) coerceMeta(object, prev, c uint32, key string) (removed, changed bool) {
	if key == "metadata" {
		o := w.o
		o.Path = w.field()
		changed, unknown, err := metadata.Coerce(w.d, object, o)
		w.unknown = append(w.unknown, unknown...)
		for _, path := range unknown {
			w.bytes += len(path)
		}
		w.err = pathsFit(0, w.bytes)
		if err != nil && !w.o.Lenient { // unreadable metadata is not changed if lenient
			w.fail(c, key, err.Error())
		}
		return false, changed
	}
	switch {
	case w.d.Nodes[c].Kind == tree.String:
	case w.o.Lenient:
		w.d.Remove(object, prev, c)
		return true, false
	default:
		w.fail(c, key, "must be a string")
	}
	return false, false
}

func (w *coercer) fail(c uint32, key, detail string) {
	w.enter(step{kind: stepProperty, name: key})
	v := w.violation(violation.Decode, c, field.Invalid(w.field(), w.d.Any(c), detail), nil, "")
	w.leave()
	w.found = &v
}
