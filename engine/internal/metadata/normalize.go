package metadata

import "github.com/crdeval/crdeval/engine/internal/tree"

// fate is the effect of the round trip through metav1.ObjectMeta on a field.
type fate uint8

const (
	keep  fate = iota // the field stays
	drop              // the field is removed: null, empty string, empty map
	doubt             // only apimachinery knows
)

// Normalize does the round trip of the metadata at node meta through metav1.ObjectMeta on the tree, if that only
// removes empty fields. Otherwise normalized is false and the tree is unchanged: there are unknown fields, malformed
// values or times to rewrite, and Coerce is required. If changed, the caller must mark the ancestors of meta dirty.
func Normalize(d *tree.Doc, meta uint32) (normalized, changed bool) {
	if d.Nodes[meta].Kind != tree.Object {
		return false, false
	}
	drops := false
	for c := d.Nodes[meta].First; c != 0; c = d.Nodes[c].Next {
		switch fateOf(d, d.Key(c), c) {
		case doubt:
			return false, false
		case drop:
			drops = true
		}
	}
	if drops {
		dropEmpty(d, meta)
	}
	return true, drops
}

func dropEmpty(d *tree.Doc, meta uint32) {
	prev := uint32(0)
	for c := d.Nodes[meta].First; c != 0; {
		next := d.Nodes[c].Next
		if fateOf(d, d.Key(c), c) == drop {
			d.Remove(meta, prev, c)
		} else {
			prev = c
		}
		c = next
	}
}

// fateOf returns the effect on one field of metav1.ObjectMeta. All but time stamps and pointers are omitted if empty.
func fateOf(d *tree.Doc, key string, i uint32) fate {
	n, kind := &d.Nodes[i], kindOf(key)
	switch {
	case kind == noKind:
		return doubt
	case n.Kind == tree.Null:
		return drop
	case n.Kind != kind:
		return doubt
	}
	empty := kind != tree.Int && n.First == 0
	switch key {
	case "generation":
		empty = n.Val == 0
	case "creationTimestamp", "deletionTimestamp":
		if !isCanonicalTime(d.Str(i)) {
			return doubt
		}
		return keep
	default:
		if kind == tree.String {
			empty = d.Str(i) == ""
		}
	}
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		if !isEntry(d, key, c) {
			return doubt
		}
	}
	if empty {
		return drop
	}
	return keep
}

// noKind is the kind of an unknown field.
const noKind = tree.Null

// kindOf returns the kind of a field of metav1.ObjectMeta.
func kindOf(key string) tree.Kind {
	switch key {
	case "name", "namespace", "generateName", "uid", "resourceVersion", "selfLink", "creationTimestamp",
		"deletionTimestamp":
		return tree.String
	case "generation", "deletionGracePeriodSeconds":
		return tree.Int
	case "labels", "annotations":
		return tree.Object
	case "finalizers", "ownerReferences", "managedFields":
		return tree.Array
	}
	return noKind
}

// isEntry reports whether a member or element of a field prints as it reads.
func isEntry(d *tree.Doc, key string, i uint32) bool {
	switch key {
	case "ownerReferences":
		return isOwnerReference(d, i)
	case "managedFields":
		return isManagedFieldsEntry(d, i)
	}
	return d.Nodes[i].Kind == tree.String
}

// isCanonicalTime accepts 2006-01-02T15:04:05Z, which metav1.Time prints. It rejects rare valid times (leap days, year
// 1).
func isCanonicalTime(s string) bool {
	const layout, daysPast28 = "0000-00-00T00:00:00Z", "303232332323"
	if len(s) != len(layout) {
		return false
	}
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (layout[i] == '0') || !digit && s[i] != layout[i] {
			return false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	month, day := two(5), two(8)
	return two(0) >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= 28+int(daysPast28[month-1]-'0') &&
		two(11) <= 23 && two(14) <= 59 && two(17) <= 59
}

// isOwnerReference accepts a reference that prints as it reads. The four strings must be present, since they are
// printed even if empty.
func isOwnerReference(d *tree.Doc, i uint32) bool {
	if d.Nodes[i].Kind != tree.Object {
		return false
	}
	required := 0
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		kind := d.Nodes[c].Kind
		switch d.Key(c) {
		case "apiVersion", "kind", "name", "uid":
			if kind != tree.String {
				return false
			}
			required++
		case "controller", "blockOwnerDeletion":
			if kind != tree.True && kind != tree.False {
				return false
			}
		default:
			return false
		}
	}
	return required == 4
}

func isManagedFieldsEntry(d *tree.Doc, i uint32) bool {
	if d.Nodes[i].Kind != tree.Object {
		return false
	}
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			if d.Nodes[c].Kind != tree.String || d.Str(c) == "" {
				return false
			}
		case "time":
			if d.Nodes[c].Kind != tree.String || !isCanonicalTime(d.Str(c)) {
				return false
			}
		case "fieldsV1":
			if d.Nodes[c].Kind != tree.Object || d.Nodes[c].Flags&tree.Lossy != 0 { // 1.0 becomes the integer 1
				return false
			}
		default:
			return false
		}
	}
	return true
}
