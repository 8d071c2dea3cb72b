package metadata

import (
	"github.com/crdeval/crdeval/engine/value"
)

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
func Normalize(d *value.Doc, meta uint32) (normalized, changed bool) {
	if d.Nodes[meta].Kind != value.Object {
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

func dropEmpty(d *value.Doc, meta uint32) {
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
func fateOf(d *value.Doc, key string, i uint32) fate {
	n := &d.Nodes[i]
	switch key {
	case "name", "namespace", "generateName", "uid", "resourceVersion", "selfLink":
		return stringFate(d, i)
	case "generation":
		switch {
		case n.Kind == value.Null, n.Kind == value.Int && n.Val == 0:
			return drop
		case n.Kind == value.Int:
			return keep
		}
	case "deletionGracePeriodSeconds":
		switch n.Kind {
		case value.Null:
			return drop
		case value.Int:
			return keep
		}
	case "creationTimestamp", "deletionTimestamp":
		return timeFate(d, i)
	case "labels", "annotations":
		return stringMapFate(d, i)
	case "finalizers":
		return listFate(d, i, func(d *value.Doc, e uint32) bool { return d.Nodes[e].Kind == value.String })
	case "ownerReferences":
		return listFate(d, i, isOwnerReference)
	case "managedFields":
		return listFate(d, i, isManagedFieldsEntry)
	}
	return doubt
}

func stringFate(d *value.Doc, i uint32) fate {
	switch d.Nodes[i].Kind {
	case value.Null:
		return drop
	case value.String:
		if d.Str(i) == "" {
			return drop
		}
		return keep
	}
	return doubt
}

func timeFate(d *value.Doc, i uint32) fate {
	switch d.Nodes[i].Kind {
	case value.Null:
		return drop
	case value.String:
		if isCanonicalTime(d.Str(i)) {
			return keep
		}
	}
	return doubt
}

// isCanonicalTime accepts 2006-01-02T15:04:05Z, which metav1.Time prints. It rejects rare valid times (leap days, the
// 31st of short months, year 1).
func isCanonicalTime(s string) bool {
	if len(s) != len("2006-01-02T15:04:05Z") {
		return false
	}
	for i := range len(s) {
		switch i {
		case 4, 7:
			if s[i] != '-' {
				return false
			}
		case 10:
			if s[i] != 'T' {
				return false
			}
		case 13, 16:
			if s[i] != ':' {
				return false
			}
		case 19:
			if s[i] != 'Z' {
				return false
			}
		default:
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	month, day := two(5), two(8)
	return two(0) >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= 28+daysPast28(month) &&
		two(11) <= 23 && two(14) <= 59 && two(17) <= 59
}

// daysPast28 is how many days after the 28th a month has in every year.
func daysPast28(month int) int {
	switch month {
	case 2:
		return 0
	case 4, 6, 9, 11:
		return 2
	}
	return 3
}

func stringMapFate(d *value.Doc, i uint32) fate {
	switch d.Nodes[i].Kind {
	case value.Null:
		return drop
	case value.Object:
		if d.Nodes[i].First == 0 {
			return drop
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if d.Nodes[c].Kind != value.String {
				return doubt
			}
		}
		return keep
	}
	return doubt
}

func listFate(d *value.Doc, i uint32, fits func(*value.Doc, uint32) bool) fate {
	switch d.Nodes[i].Kind {
	case value.Null:
		return drop
	case value.Array:
		if d.Nodes[i].First == 0 {
			return drop
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if !fits(d, c) {
				return doubt
			}
		}
		return keep
	}
	return doubt
}

// isOwnerReference accepts a reference that prints as it reads. The four strings must be present, since they are
// printed even if empty.
func isOwnerReference(d *value.Doc, i uint32) bool {
	if d.Nodes[i].Kind != value.Object {
		return false
	}
	required := 0
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		kind := d.Nodes[c].Kind
		switch d.Key(c) {
		case "apiVersion", "kind", "name", "uid":
			if kind != value.String {
				return false
			}
			required++
		case "controller", "blockOwnerDeletion":
			if kind != value.True && kind != value.False {
				return false
			}
		default:
			return false
		}
	}
	return required == 4
}

func isManagedFieldsEntry(d *value.Doc, i uint32) bool {
	if d.Nodes[i].Kind != value.Object {
		return false
	}
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		switch d.Key(c) {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			if stringFate(d, c) != keep {
				return false
			}
		case "time":
			if timeFate(d, c) != keep {
				return false
			}
		case "fieldsV1":
			if d.Nodes[c].Kind != value.Object || d.Nodes[c].Flags&value.Lossy != 0 { // 1.0 becomes the integer 1
				return false
			}
		default:
			return false
		}
	}
	return true
}
