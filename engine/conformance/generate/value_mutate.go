package generate

import "github.com/crdeval/crdeval/engine/conformance/jsontree"

// Mutate changes one random node of a document without a schema: delete, duplicate, retype, null, rename, reorder,
// nest.
func Mutate(r Rand, doc *jsontree.Node) {
	type position struct {
		parent *jsontree.Node
		index  int
	}
	var positions []position
	doc.Walk(func(_, parent *jsontree.Node, index int) {
		if parent != nil {
			positions = append(positions, position{parent, index})
		}
	})
	if len(positions) == 0 {
		return
	}
	s := Pick(r, positions)
	old := s.parent.Child(s.index)
	switch r.IntN(12) {
	case 0, 1:
		s.parent.RemoveChild(s.index)
	case 2:
		s.parent.SetChild(s.index, jsontree.Null())
	case 3, 4:
		s.parent.SetChild(s.index, Any(r, 2))
	case 5:
		s.parent.SetChild(s.index, near(r, old))
	case 6:
		if s.parent.Kind == jsontree.Array {
			s.parent.Items = append(s.parent.Items, old.Clone())
		} else {
			s.parent.Members = append(s.parent.Members, jsontree.Member{Key: s.parent.Members[s.index].Key, Value: old.Clone()})
		}
	case 7:
		if s.parent.Kind == jsontree.Object {
			s.parent.Members[s.index].Key = Pick(r, Keys)
		} else {
			s.parent.SetChild(s.index, jsontree.Arr(old))
		}
	case 8:
		if s.parent.Kind == jsontree.Object {
			s.parent.Members = append(s.parent.Members, jsontree.Member{Key: Pick(r, Keys), Value: Any(r, 2)})
		} else {
			s.parent.Items = append(s.parent.Items, Any(r, 1))
		}
	case 9:
		if old.Kind == jsontree.Array {
			s.parent.SetChild(s.index, jsontree.Obj("a", old))
		} else {
			s.parent.SetChild(s.index, jsontree.Arr(old))
		}
	case 10:
		other := Pick(r, positions)
		s.parent.SetChild(s.index, other.parent.Child(other.index).Clone())
	case 11:
		if n := s.parent.Len(); n > 1 {
			j := r.IntN(n)
			if s.parent.Kind == jsontree.Array {
				s.parent.Items[s.index], s.parent.Items[j] = s.parent.Items[j], s.parent.Items[s.index]
			} else {
				s.parent.Members[s.index], s.parent.Members[j] = s.parent.Members[j], s.parent.Members[s.index]
			}
		}
	}
}
