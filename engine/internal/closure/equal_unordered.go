package closure

import (
	"encoding/binary"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/internal/value"
)

// equalUnordered compares lists whose order does not matter to the first of them: a set or a map list. What is neither two sets of strings nor two map
// lists is left to upstream's own values.
func (f *Frame) equalUnordered(a, b val) (same, ok bool) {
	i, t := a.node()
	if b.kind == kindMap || b.kind == kindNode && b.of.(*Type).Kind != List {
		return false, false
	}
	n := f.size(b)
	if n != uint64(f.Doc.Nodes[i].Live) {
		return false, true
	}
	if n == 0 {
		return true, true
	}
	if b.kind == kindNode && b.of == a.of {
		j, _ := b.node()
		switch {
		case t.List == Set && t.Elem.Kind == String && !t.Elem.Nullable:
			return f.equalSets(i, j)
		case t.List == MapList && t.Elem.Kind == Object && plainKeys(t.Keys):
			return f.equalMapLists(i, j, t)
		}
	}
	return f.equalRefs(a, b)
}

// plainKeys reports whether the keys of a map list are names that upstream finds: it looks for the escaped ones.
func plainKeys(keys []string) bool {
	for _, k := range keys {
		if escaped, ok := apiservercel.Escape(k); ok && escaped != k {
			return false
		}
	}
	return len(keys) > 0 && len(keys) <= 3 // upstream formats more keys than these in Go's syntax
}

// fewElements is up to how many elements are compared with each other instead of indexed.
const fewElements = 16

// equalSets compares two sets of strings of one size.
func (f *Frame) equalSets(i, j uint32) (same, ok bool) {
	d := f.Doc
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind != value.String {
			return false, false
		}
	}
	if d.Nodes[i].Live <= fewElements {
		if same, ok = f.within(i, j); !same || !ok {
			return same, ok
		}
		return f.within(j, i)
	}
	set := make(map[string]bool, d.Nodes[i].Live) // true: the other one has it too
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		set[d.Str(c)] = false
	}
	seen := 0
	for c := d.Nodes[j].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind != value.String || !f.tick() {
			return false, false
		}
		found, in := set[d.Str(c)]
		if !in {
			return false, true
		}
		if !found {
			set[d.Str(c)] = true
			seen++
		}
	}
	return seen == len(set), true
}

// within reports whether all strings of a small list are in another one.
func (f *Frame) within(i, j uint32) (all, ok bool) {
	d := f.Doc
	for x := d.Nodes[i].First; x != 0; x = d.Nodes[x].Next {
		found := false
		for y := d.Nodes[j].First; y != 0 && !found; y = d.Nodes[y].Next {
			if d.Nodes[y].Kind != value.String {
				return false, false
			}
			found = d.Str(x) == d.Str(y)
		}
		if !found {
			return false, true
		}
	}
	return true, true
}

// equalMapLists compares two map lists of one size: each element of the second with the last element of the first that has its key.
func (f *Frame) equalMapLists(i, j uint32, t *Type) (same, ok bool) {
	d := f.Doc
	byKey := make(map[string]uint32, d.Nodes[i].Live)
	var key []byte
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if key, ok = f.mapListKey(key[:0], c, t); !ok || !f.tick() {
			return false, false
		}
		byKey[string(key)] = c
	}
	seen := make(map[string]struct{}, len(byKey))
	for c := d.Nodes[j].First; c != 0; c = d.Nodes[c].Next {
		if key, ok = f.mapListKey(key[:0], c, t); !ok || !f.tick() {
			return false, false
		}
		other, found := byKey[string(key)]
		if !found {
			return false, true
		}
		x, ok := f.read(other, t.Elem)
		y, also := f.read(c, t.Elem)
		if !ok || !also {
			return false, false
		}
		if same, ok = f.equal(x, y, false); !ok || !same {
			return false, ok
		}
		seen[string(key)] = struct{}{}
	}
	return len(seen) == len(byKey), true
}

// mapListKey appends the keys of an element, so that different ones differ. It is false for elements and keys that upstream cannot compare.
func (f *Frame) mapListKey(to []byte, element uint32, t *Type) ([]byte, bool) {
	d := f.Doc
	if d.Nodes[element].Kind != value.Object {
		return nil, false
	}
	for _, name := range t.Keys {
		k := d.Field(element, name)
		n := &d.Nodes[k]
		to = append(to, byte(n.Kind)) // Null for what is missing
		switch n.Kind {
		case value.Null, value.False, value.True:
		case value.Int:
			to = binary.BigEndian.AppendUint64(to, n.Val)
		case value.String:
			s := d.Str(k)
			to = append(binary.AppendUvarint(to, uint64(len(s))), s...)
		default:
			return nil, false
		}
	}
	return to, true
}
