package laws

import "github.com/crdeval/crdeval/engine/internal/tree"

// throughHub converts an object to the hub and back, without what the conversion from the hub to the other version loses
// by design. A round trip through the hub leaves the same, apart from empty objects.
func (t *tester) throughHub(object []byte, whole bool) ([]byte, error) {
	return t.transform(object, func(d *tree.Doc, root uint32) error {
		if err := t.converter.Convert(t.ctx, d, root, t.from.Name, t.via, whole); err != nil {
			return err
		}
		before := parse(d.AppendDecoded(nil, root))
		defer before.Release()
		t.converter.Normalize(d, root, t.via, t.to.Name, whole)
		objectTree{d, root}.addObjects(root, before, before.root)
		return t.converter.Convert(t.ctx, d, root, t.via, t.from.Name, whole)
	})
}

// addObjects adds the objects of another value that the object i lacks, but not their values. An annotation can
// restore fields below them.
func (t objectTree) addObjects(i uint32, other objectTree, j uint32) {
	for e := other.Nodes[j].First; e != 0; e = other.Nodes[e].Next {
		if other.Nodes[e].Kind != tree.Object {
			continue
		}
		c := t.Field(i, other.Key(e))
		if c == 0 {
			var err error
			if c, err = t.Parse([]byte("{}"), tree.Arena, tree.Limits{}); err != nil {
				return
			}
			t.SetKey(c, other.Key(e))
			t.Append(i, c)
		}
		if t.Nodes[c].Kind == tree.Object {
			t.addObjects(c, other, e)
			t.MarkDirty(i, c)
		}
	}
}

// prune removes the objects without values below a value.
func (t objectTree) prune(i uint32) {
	prev := uint32(0)
	for c := t.Nodes[i].First; c != 0; c = t.Nodes[c].Next {
		t.prune(c)
		if t.Nodes[i].Kind == tree.Object && t.Nodes[c].Kind == tree.Object && t.Len(c) == 0 {
			t.Remove(i, prev, c)
			continue
		}
		prev = c
	}
}
