package closure

import (
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/internal/value"
)

// equal compares two values as cel-go and upstream's values of unstructured data do; ok is false where these have an error, and where the answer
// depends on more than is known here. top: the operands of an operator, whose nulls are compared before all else (cel-go's types.Equal), unlike
// those inside of upstream's lists and maps.
func (f *Frame) equal(a, b val, top bool) (same, ok bool) {
	if a.opt || b.opt {
		return f.equalRefs(a, b)
	}
	if a.kind == kindNull || b.kind == kindNull {
		switch {
		case a.kind == b.kind:
			return true, true
		case top || a.kind == kindNull || a.kind < kindNode:
			return false, true
		}
		return false, false
	}
	if a.kind == kindRef || b.kind == kindRef && a.kind >= kindNode {
		return f.equalRefs(a, b)
	}
	switch a.kind {
	case kindBool, kindDuration:
		return a.kind == b.kind && a.word == b.word, true
	case kindString, kindBytes:
		return a.kind == b.kind && a.text == b.text, true
	case kindInt, kindUint, kindDouble:
		return equalNumbers(a, b)
	case kindNode:
		if b.kind == kindNode || b.kind == kindList || b.kind == kindMap {
			return f.equalNodes(a, b)
		}
		return false, false
	case kindList:
		if a.wide {
			return false, false
		}
		return f.equalLists(a, b)
	}
	return f.equalRefs(a, b)
}

func equalNumbers(a, b val) (same, ok bool) {
	switch {
	case a.kind == kindDouble && b.kind == kindDouble:
		return a.float() == b.float(), true
	case a.kind == b.kind:
		return a.word == b.word, true
	case a.kind == kindInt && b.kind == kindDouble && !nan(b.word):
		return compareDoubleInt(b.float(), int64(a.word)) == 0, true
	case a.kind == kindDouble && b.kind == kindInt && !nan(a.word):
		return compareDoubleInt(a.float(), int64(b.word)) == 0, true
	case a.kind == kindUint || b.kind == kindUint:
		return false, false
	}
	return false, true
}

// equalNodes compares a container of the document with another container.
func (f *Frame) equalNodes(a, b val) (same, ok bool) {
	i, t := a.node()
	if t.Kind == List {
		if t.List == Set || t.List == MapList {
			return f.equalUnordered(a, b)
		}
		return f.equalLists(a, b)
	}
	if b.kind != kindNode {
		return f.equalRefs(a, b)
	}
	j, u := b.node()
	if u.Kind == List {
		return false, false
	}
	return f.equalObjects(i, t, j, u)
}

// equalLists compares element by element, in order. Upstream's lists give the first element's answer that is not true, cel-go's go on.
func (f *Frame) equalLists(a, b val) (same, ok bool) {
	if b.kind != kindList && (b.kind != kindNode || b.of.(*Type).Kind != List) {
		return false, a.kind == kindList
	}
	if f.size(a) != f.size(b) {
		return false, true
	}
	p, q := f.elements(a), f.elements(b)
	for !p.done() {
		x, ok := p.take(f)
		y, also := q.take(f)
		if !ok || !also || !f.tick() {
			return false, false
		}
		if same, ok = f.equal(x, y, a.kind == kindList); !ok || !same {
			return false, ok
		}
	}
	return true, true
}

// equalObjects compares objects or maps as upstream's unstructuredMap does: undeclared members of preserved data too, by their JSON.
func (f *Frame) equalObjects(i uint32, t *Type, j uint32, u *Type) (same, ok bool) {
	d := f.Doc
	m, n := &d.Nodes[i], &d.Nodes[j]
	if m.Kind != value.Object || n.Kind != value.Object {
		return false, false
	}
	if m.Live != n.Live {
		return false, true
	}
	next := n.First // the members of equal objects mostly come in the same order
	for c := m.First; c != 0; c = d.Nodes[c].Next {
		if !f.tick() {
			return false, false
		}
		key := d.Key(c)
		other := next
		if other == 0 || d.Key(other) != key {
			other = f.find(j, key)
		}
		if other != 0 {
			next = d.Nodes[other].Next
		}
		if same, ok = f.equalMembers(key, c, t, other, u); !ok || !same {
			return same, ok
		}
	}
	return true, true
}

func (f *Frame) equalMembers(key string, i uint32, t *Type, j uint32, u *Type) (same, ok bool) {
	te, ue := t.Elem, u.Elem
	if t.Kind == Object {
		m := t.Member(key)
		if m == nil { // preserved: compared where both have it
			if t != u {
				return false, false
			}
			return j == 0 || semanticEqual(f.Doc, i, j), true
		}
		if strings.Contains(key, "__") {
			return false, false // upstream unescapes the key, though it is a name: it may find another member or none
		}
		if te = m.Type; u.Kind == Object {
			n := u.Member(key)
			if n == nil {
				return false, false
			}
			ue = n.Type
		}
		if f.Doc.Nodes[i].Kind == value.Null {
			i = 0
		}
		if f.Doc.Nodes[j].Kind == value.Null {
			j = 0
		}
	}
	switch {
	case i == 0 || j == 0:
		return i == j, true
	case te == nil || ue == nil:
		return false, false
	case te.Kind == Opaque:
		return semanticEqual(f.Doc, i, j), te.Name == "" && te == ue && f.Doc.Nodes[i].Kind != value.Null && f.Doc.Nodes[j].Kind != value.Null
	}
	x, ok := f.read(i, te)
	y, also := f.read(j, ue)
	if !ok || !also {
		return false, false
	}
	return f.equal(x, y, false)
}

// semanticEqual is apimachinery's equality.Semantic.DeepEqual on unstructured data: as reflect.DeepEqual, but empty and null are the same.
func semanticEqual(d *value.Doc, i, j uint32) bool { return value.Equal(d, i, d, j) }

// equalRefs leaves the answer to cel-go's and upstream's own values.
func (f *Frame) equalRefs(a, b val) (same, ok bool) {
	defer unknownOnPanic(&ok)
	x, ok := f.ref(a)
	y, also := f.ref(b)
	if !ok || !also {
		return false, false
	}
	r, ok := types.Equal(x, y).(types.Bool)
	return r == types.True, ok
}
