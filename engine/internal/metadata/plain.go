package metadata

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Rules are the constraints on an object's metadata.
type Rules struct {
	// Namespaced requires a namespace; otherwise a namespace is forbidden. Embedded resources may have one.
	Namespaced bool
	// Embedded says that the metadata belongs to an embedded resource: the name is optional and need only be a path
	// segment.
	Embedded bool
}

// Plain reports without allocating whether metadata is plainly valid, so that Validate finds no error. The metadata
// must be coerced. Node 0 stands for none.
func Plain(d *tree.Doc, meta uint32, r Rules) bool {
	if meta == 0 || d.Nodes[meta].Kind != tree.Object {
		return false
	}
	named, spaced := r.Embedded, false
	for c := d.Nodes[meta].First; c != 0; c = d.Nodes[c].Next {
		switch key := d.Key(c); key {
		case "name":
			named = true
			if r.Embedded && !isPathSegment(d.Str(c)) || !r.Embedded && !isSubdomain(d.Str(c)) {
				return false
			}
		case "namespace":
			spaced = true
			if !isLabel(d.Str(c)) {
				return false
			}
		default:
			if !plainMember(d, c, key) {
				return false
			}
		}
	}
	return named && (r.Embedded || spaced == r.Namespaced)
}

// plainMember reports whether a field of metadata other than the name and the namespace is plainly valid.
func plainMember(d *tree.Doc, c uint32, key string) bool {
	switch key {
	case "generation":
		return int64(d.Nodes[c].Val) >= 0
	case "uid", "resourceVersion", "selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds":
		return true
	case "labels":
		return plainLabels(d, c)
	case "annotations":
		return plainAnnotations(d, c)
	case "finalizers":
		return plainFinalizers(d, c)
	case "ownerReferences":
		return plainOwners(d, c)
	case "managedFields":
		return plainManagers(d, c)
	case "generateName":
		// Upstream replaces a dash at the end of a prefix before it validates.
		return isSubdomain(strings.TrimSuffix(d.Str(c), "-"))
	}
	return false
}

func plainLabels(d *tree.Doc, labels uint32) bool {
	for c := d.Nodes[labels].First; c != 0; c = d.Nodes[c].Next {
		if !isQualifiedName(d.Key(c)) {
			return false
		}
		if v := d.Str(c); v != "" && !isNamePart(v) {
			return false
		}
	}
	return true
}

// maxAnnotations is upstream's TotalAnnotationSizeLimitB: keys and values together, in bytes.
const maxAnnotations = 256 << 10

func plainAnnotations(d *tree.Doc, annotations uint32) bool {
	total := 0
	for c := d.Nodes[annotations].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		if !isQualifiedName(key) {
			return false
		}
		total += len(key) + len(d.Str(c))
	}
	return total <= maxAnnotations
}

// plainFinalizers leaves the two finalizers of the garbage collector, which exclude each other, to Validate.
func plainFinalizers(d *tree.Doc, finalizers uint32) bool {
	for c := d.Nodes[finalizers].First; c != 0; c = d.Nodes[c].Next {
		name := d.Str(c)
		if !isQualifiedName(name) || name == "orphan" || name == "foregroundDeletion" {
			return false
		}
	}
	return true
}

func plainOwners(d *tree.Doc, owners uint32) bool {
	controllers := 0
	for o := d.Nodes[owners].First; o != 0; o = d.Nodes[o].Next {
		for c := d.Nodes[o].First; c != 0; c = d.Nodes[c].Next {
			switch key := d.Key(c); key {
			case "kind", "name", "uid", "apiVersion":
				v := d.Str(c)
				if v == "" || key == "kind" && v == "Event" {
					return false
				}
				if slash := strings.IndexByte(v, '/'); key == "apiVersion" && slash >= 0 &&
					(slash == len(v)-1 || strings.IndexByte(v[slash+1:], '/') >= 0) {
					return false
				}
			case "controller":
				if d.Nodes[c].Kind == tree.True {
					controllers++
				}
			}
		}
	}
	return controllers <= 1
}

// Upstream's bounds on managed fields, in bytes.
const (
	maxManager     = 128
	maxSubresource = 256
)

func plainManagers(d *tree.Doc, entries uint32) bool {
	for e := d.Nodes[entries].First; e != 0; e = d.Nodes[e].Next {
		operation := false
		for c := d.Nodes[e].First; c != 0; c = d.Nodes[c].Next {
			switch d.Key(c) {
			case "operation":
				operation = d.Str(c) == "Apply" || d.Str(c) == "Update"
			case "fieldsType":
				if d.Str(c) != "FieldsV1" {
					return false
				}
			case "manager":
				if !isPrintable(d.Str(c)) || len(d.Str(c)) > maxManager {
					return false
				}
			case "subresource":
				if len(d.Str(c)) > maxSubresource {
					return false
				}
			}
		}
		if !operation {
			return false
		}
	}
	return true
}

// DistinctOwners reports whether all owner references have different uids. It returns false for long lists. Metadata
// must be coerced. Node 0 stands for no owners.
func DistinctOwners(d *tree.Doc, owners uint32) bool {
	if owners == 0 || d.Len(owners) < 2 {
		return true
	}
	if d.Len(owners) > mostCompared {
		return false
	}
	for a := d.Nodes[owners].First; a != 0; a = d.Nodes[a].Next {
		uid := d.Field(a, "uid")
		for b := d.Nodes[a].Next; b != 0; b = d.Nodes[b].Next {
			if other := d.Field(b, "uid"); uid == 0 || other == 0 || d.Str(uid) == d.Str(other) {
				return false
			}
		}
	}
	return true
}

// mostCompared is up to how many owners are compared pairwise.
const mostCompared = 16
