package closure

import (
	encoding "encoding/binary"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// equal compares two values as cel-go and upstream's values of unstructured data do. ok is false where these have an
// error and where the result is not known. top is set for the operands of an operator: cel-go's types.Equal compares
// their nulls first, unlike nulls in upstream's lists and maps.
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
	case kindInt:
		if b.kind == kindInt {
			return a.word == b.word, true
		}
	case kindDouble:
		if b.kind == kindDouble {
			return a.float() == b.float(), true
		}
	case kindString, kindBytes:
		return a.kind == b.kind && a.text() == b.text(), true
	case kindNode:
		if b.kind == kindNode || b.kind == kindList {
			return f.equalNodes(a, b)
		}
		return false, false
	case kindList:
		return f.equalLists(a, b)
	}
	return f.equalRefs(a, b)
}

// equalNodes compares a container of the document with another container.
func (f *Frame) equalNodes(a, b val) (same, ok bool) {
	i, t := a.node()
	if t.Kind == List {
		if t.unordered() {
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

// equalLists compares element by element, in order. Upstream's lists return the first result that is not true; cel-go's
// lists continue after an error.
func (f *Frame) equalLists(a, b val) (same, ok bool) {
	if b.kind != kindList && (b.kind != kindNode || b.typ().Kind != List) {
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

// manyMembers is the number of members from which an object is indexed if it has another order.
const manyMembers = 32

// equalObjects compares objects or maps as upstream's unstructuredMap does, with undeclared members of preserved data.
func (f *Frame) equalObjects(i uint32, t *Type, j uint32, u *Type) (same, ok bool) {
	d := f.Doc
	m, n := &d.Nodes[i], &d.Nodes[j]
	if m.Kind != tree.Object || n.Kind != tree.Object {
		return false, false
	}
	if m.Live != n.Live {
		return false, true
	}
	next := n.First // members mostly have the same order
	var byName map[string]uint32
	for c := m.First; c != 0; c = d.Nodes[c].Next {
		if !f.tick() {
			return false, false
		}
		key := d.Key(c)
		other := next
		if other == 0 || d.Key(other) != key {
			if byName == nil && n.Live > manyMembers {
				byName = make(map[string]uint32, n.Live)
				for o := n.First; o != 0; o = d.Nodes[o].Next {
					byName[d.Key(o)] = o
				}
			}
			if other = byName[key]; byName == nil {
				other = d.Field(j, key)
			}
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
		if m == nil { // preserved: compared if both have it
			if t != u {
				return false, false
			}
			return j == 0 || tree.Equal(f.Doc, i, f.Doc, j), true
		}
		if strings.Contains(key, "__") {
			return false, false // upstream unescapes the name and may find another member
		}
		if te = m.Type; u.Kind == Object {
			n := u.Member(key)
			if n == nil {
				return false, false
			}
			ue = n.Type
		}
		if f.Doc.Nodes[i].Kind == tree.Null {
			i = 0
		}
		if f.Doc.Nodes[j].Kind == tree.Null {
			j = 0
		}
	}
	switch {
	case i == 0 || j == 0:
		return i == j, true
	case te == nil || ue == nil:
		return false, false
	case te.Kind == Opaque:
		known := te.Name == "" && te == ue && f.Doc.Nodes[i].Kind != tree.Null && f.Doc.Nodes[j].Kind != tree.Null
		return tree.Equal(f.Doc, i, f.Doc, j), known
	}
	x, ok := f.read(i, te)
	y, also := f.read(j, ue)
	if !ok || !also {
		return false, false
	}
	return f.equal(x, y, false)
}

// equalRefs compares cel-go's and upstream's own values.
func (f *Frame) equalRefs(a, b val) (same, ok bool) {
	defer unknownOnPanic(&ok)
	x, y, ok := f.refs(a, b)
	if !ok {
		return false, false
	}
	r, ok := types.Equal(x, y).(types.Bool)
	return r == types.True, ok
}

// equalUnordered compares a set or a map list with a list. Sets of strings and map lists with plain keys are indexed,
// others are compared by upstream's own values.
func (f *Frame) equalUnordered(a, b val) (same, ok bool) {
	i, t := a.node()
	if b.kind == kindNode && b.typ().Kind != List {
		return false, false
	}
	n := f.size(b)
	if n != uint64(f.Doc.Nodes[i].Live) {
		return false, true
	}
	if n == 0 {
		return true, true
	}
	stringSet := t.List == Set && t.Elem.Kind == String && !t.Elem.Nullable
	objectList := t.List == MapList && t.Elem.Kind == Object && hasPlainKeys(t)
	if b.kind != kindNode || b.typ() != t || !stringSet && !objectList {
		return f.equalRefs(a, b)
	}
	j, _ := b.node()
	return f.equalIndexed(i, j, t)
}

// hasPlainKeys reports whether upstream finds the keys of a map list: it looks for escaped names, and formats more than
// three keys in Go's syntax.
func hasPlainKeys(t *Type) bool {
	return len(t.Keys) > 0 && len(t.Keys) <= 3 && !slices.ContainsFunc(t.Keys, func(k string) bool {
		escaped, ok := apiservercel.Escape(k)
		return ok && escaped != k
	})
}

// equalIndexed compares each element of the second list with the last element of the first that has its key.
func (f *Frame) equalIndexed(i, j uint32, t *Type) (same, ok bool) {
	d := f.Doc
	byKey := make(map[string]uint32, d.Nodes[i].Live)
	var buffer [64]byte
	key := buffer[:0]
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if key, ok = f.elementKey(key[:0], c, t); !ok || !f.tick() {
			return false, false
		}
		byKey[string(key)] = c
	}
	seen := make(map[uint32]bool, len(byKey))
	for c := d.Nodes[j].First; c != 0; c = d.Nodes[c].Next {
		if key, ok = f.elementKey(key[:0], c, t); !ok || !f.tick() {
			return false, false
		}
		other, found := byKey[string(key)]
		if !found {
			return false, true
		}
		seen[other] = true
		if t.List == Set {
			continue
		}
		x, ok := f.read(other, t.Elem)
		y, also := f.read(c, t.Elem)
		if !ok || !also {
			return false, false
		}
		if same, ok = f.equal(x, y, false); !ok || !same {
			return false, ok
		}
	}
	return len(seen) == len(byKey), true
}

// elementKey appends the string of a set's element or the keys of a map list's. It is false where upstream cannot
// compare them.
func (f *Frame) elementKey(to []byte, element uint32, t *Type) ([]byte, bool) {
	d := f.Doc
	switch kind := d.Nodes[element].Kind; {
	case t.List == Set && kind == tree.String:
		return append(to, d.Str(element)...), true
	case t.List == Set || kind != tree.Object:
		return nil, false
	}
	for _, name := range t.Keys {
		k := d.Field(element, name)
		n := &d.Nodes[k]
		to = append(to, byte(n.Kind)) // Null if it is missing
		switch n.Kind {
		case tree.Null, tree.False, tree.True:
		case tree.Int:
			to = encoding.BigEndian.AppendUint64(to, n.Val)
		case tree.String:
			s := d.Str(k)
			to = append(encoding.BigEndian.AppendUint64(to, uint64(len(s))), s...)
		default:
			return nil, false
		}
	}
	return to, true
}
