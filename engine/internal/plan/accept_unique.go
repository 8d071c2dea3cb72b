package plan

import (
	"hash/maphash"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// hashFrom is the number of elements from which uniqueness is checked with a hash table instead of pairwise.
const hashFrom = 12

var seed = maphash.MakeSeed()

// unique reports whether the elements of a set, or the keys of a map list, are plainly distinct. It doubts what
// upstream compares as JSON text (compound elements, several keys), unless a comparison of the values is the same.
// (AE/apiserver/schema/listtype/validation.go)
func (w *acceptor) unique(n *Node, i uint32) bool {
	d := w.d
	compounds := 0
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if w.tick(1) {
			return false
		}
		switch k := d.Nodes[c].Kind; {
		case n.Flags&ListMap != 0:
			if k != tree.Object || d.Nodes[i].Live > 1 && !w.plainKeys(n, c) {
				return false
			}
		case k == tree.Array || k == tree.Object:
			if compounds++; compounds > 1 {
				return false
			}
		}
	}
	if d.Nodes[i].Live < 2 {
		return true
	}
	if d.Nodes[i].Live >= hashFrom {
		return w.uniqueByHash(n, i)
	}
	for a := d.Nodes[i].First; a != 0; a = d.Nodes[a].Next {
		for b := d.Nodes[a].Next; b != 0; b = d.Nodes[b].Next {
			if w.sameElement(n, a, b) {
				return false
			}
		}
	}
	return true
}

// plainKeys reports whether all keys of a map list's element are scalars. Of several keys none may be a float, since 1
// and 1.0 are the same JSON text.
func (w *acceptor) plainKeys(n *Node, e uint32) bool {
	for j := range n.ListKeys {
		k := w.field(e, n.ListKeys[j].Slot, n.ListKeys[j].Name)
		if k == 0 {
			continue
		}
		switch w.d.Nodes[k].Kind {
		case tree.Array, tree.Object:
			return false
		case tree.Float:
			if len(n.ListKeys) > 1 {
				return false
			}
		}
	}
	return true
}

func (w *acceptor) sameElement(n *Node, a, b uint32) bool {
	if n.Flags&ListMap == 0 {
		return w.sameScalar(a, b)
	}
	for j := range n.ListKeys {
		k := &n.ListKeys[j]
		if !w.sameScalar(w.field(a, k.Slot, k.Name), w.field(b, k.Slot, k.Name)) {
			return false
		}
	}
	return true
}

// sameScalar compares as Go compares interface values: 1 and 1.0 differ. Node 0 is an absent key. One of the values may
// be an array or an object.
func (w *acceptor) sameScalar(a, b uint32) bool {
	if a == 0 || b == 0 {
		return a == b
	}
	return tree.Equal(w.d, a, w.d, b)
}

// uniqueByHash keeps its table at the end of the Doc's slots.
func (w *acceptor) uniqueByHash(n *Node, i uint32) bool {
	d := w.d
	size := uint32(32)
	for size < d.Nodes[i].Live*2 {
		size *= 2
	}
	base := len(d.Slots)
	d.Slots = grow(d.Slots, int(size))
	table := d.Slots[base:]
	distinct := true
insert:
	for e := d.Nodes[i].First; e != 0; e = d.Nodes[e].Next {
		if w.tick(1) {
			distinct = false
			break
		}
		h := w.hash(n, e) & (size - 1)
		for ; table[h] != 0; h = (h + 1) & (size - 1) {
			if w.sameElement(n, table[h], e) {
				distinct = false
				break insert
			}
		}
		table[h] = e
	}
	d.Slots = d.Slots[:base]
	return distinct
}

func (w *acceptor) hash(n *Node, e uint32) uint32 {
	if n.Flags&ListMap == 0 {
		return mix(0, hashScalar(w.d, e))
	}
	h := uint32(0)
	for j := range n.ListKeys {
		h = mix(h, hashScalar(w.d, w.field(e, n.ListKeys[j].Slot, n.ListKeys[j].Name)))
	}
	return h
}

// hashScalar is seeded, so that input cannot be chosen to collide.
func hashScalar(d *tree.Doc, i uint32) uint64 {
	if i == 0 {
		return 1
	}
	switch n := &d.Nodes[i]; n.Kind {
	case tree.Int:
		return maphash.Comparable(seed, n.Val)
	case tree.String:
		return maphash.String(seed, d.Str(i))
	case tree.Float:
		if d.Float(i) == 0 {
			return 2 // for -0 too
		}
		return maphash.Comparable(seed, n.Val)
	default:
		return uint64(n.Kind)
	}
}

func mix(h uint32, v uint64) uint32 {
	v = (v ^ uint64(h)) * 0x9E3779B97F4A7C15
	return uint32(v >> 32)
}
