package lens

import "github.com/crdeval/crdeval/engine/internal/tree"

// Normalize removes from an object what a conversion by the rules of two versions loses by design, so that the object
// before and after a round trip can be compared: dropped fields, the order of lists that are maps in the other version,
// and empty objects whose fields rules move. Unless whole is set, it also removes the fields that only expressions read:
// an expression has no result if a partial object lacks something that it reads. Normalize changes nothing if the
// versions have no rules of their own.
func (s *Set) Normalize(d *tree.Doc, root uint32, from, to string, whole bool) {
	if p := s.conversions[[2]string{from, to}]; p != nil && p.root.node != nil {
		p.root.node.normalize(d, root, whole)
	}
}

func (n *node) normalize(d *tree.Doc, i uint32, whole bool) {
	if len(n.children) > 0 && d.Nodes[i].Kind == tree.Object {
		prev := uint32(0)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			child := n.child(d.Key(c))
			lost := child != nil && (child.dropped || child.read && !whole)
			if child != nil && !lost {
				child.normalize(d, c, whole)
			}
			if child != nil && (lost || len(child.children) > 0 && d.Nodes[c].Kind == tree.Object && d.Len(c) == 0) {
				d.Remove(i, prev, c)
				continue
			}
			prev = c
		}
		d.MarkDirty(i)
	}
	if n.each != nil && n.each.node != nil {
		for c := d.Nodes[i].First; c != 0 && d.Nodes[i].Kind >= tree.Array; c = d.Nodes[c].Next {
			n.each.node.normalize(d, c, whole)
		}
		d.MarkDirty(i)
	}
	if n.list != nil && n.list.toMap && d.Nodes[i].Kind == tree.Array {
		n.list.sort(d, i)
		d.MarkDirty(i)
	}
}
