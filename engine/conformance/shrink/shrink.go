// Package shrink makes failing cases small. It removes parts of a CRD and of an object as long as they still fail.
package shrink

import "github.com/crdeval/crdeval/engine/conformance/jsontree"

// Documents shrinks several documents together: a CRD, an object, an old object. fails must report whether the current
// documents still fail in the same way; it is called at most budget times. The documents are changed in place; nil ones
// are skipped.
func Documents(fails func() bool, budget int, documents ...*jsontree.Node) {
	s := &shrinker{fails: fails, budget: budget}
	for changed := true; changed && s.budget > 0; {
		changed = false
		for _, d := range documents {
			if d != nil {
				changed = s.document(d) || changed
			}
		}
	}
}

type shrinker struct {
	fails  func() bool
	budget int
}

func (s *shrinker) still() bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	return s.fails()
}

// document removes children of a container, large blocks first, and then shrinks the remaining ones.
func (s *shrinker) document(n *jsontree.Node) bool {
	changed := false
	for block := n.Len(); block > 0; block /= 2 {
		for at := n.Len() - block; at >= 0; at -= block {
			members, items := n.Members, n.Items
			if n.Kind == jsontree.Array {
				n.Items = append(append([]*jsontree.Node{}, items[:at]...), items[at+block:]...)
			} else {
				n.Members = append(append([]jsontree.Member{}, members[:at]...), members[at+block:]...)
			}
			if s.still() {
				changed = true
			} else {
				n.Members, n.Items = members, items
			}
			if s.budget <= 0 {
				return changed
			}
		}
	}
	for k := range n.Len() {
		child := n.Child(k)
		if child.Kind != jsontree.Scalar {
			if s.hoist(n, k) {
				changed = true
			}
			changed = s.document(n.Child(k)) || changed
			continue
		}
		if text, ok := child.Text(); ok && len(text) > 8 {
			n.SetChild(k, jsontree.Str("a"))
			if s.still() {
				changed = true
				continue
			}
			n.SetChild(k, child)
			for len(text) > 64 { // long texts fail because of their length: halve them
				n.SetChild(k, jsontree.Str(text[:len(text)/2]))
				if !s.still() {
					n.SetChild(k, jsontree.Str(text))
					break
				}
				text, changed = text[:len(text)/2], true
			}
		}
	}
	return changed
}

// hoist replaces a container by one of its own children.
func (s *shrinker) hoist(n *jsontree.Node, k int) bool {
	old := n.Child(k)
	for c := range old.Len() {
		if old.Child(c).Kind == jsontree.Scalar && n.Kind == jsontree.Object {
			continue
		}
		n.SetChild(k, old.Child(c))
		if s.still() {
			return true
		}
		n.SetChild(k, old)
	}
	return false
}
