package metadata

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Faults is Validate over the tree for common errors: a missing or malformed name, namespace, label, annotation or
// finalizer. ok is false if there may be other errors, which only Validate finds. The metadata must be coerced and
// belong to a root object.
func Faults(d *tree.Doc, meta uint32, r Rules) (found []violation.Violation, ok bool) {
	if meta == 0 || d.Nodes[meta].Kind != tree.Object || r.Embedded {
		return nil, false
	}
	for c := d.Nodes[meta].First; c != 0; c = d.Nodes[c].Next {
		switch key := d.Key(c); key {
		case "name", "namespace", "labels", "annotations", "finalizers":
		default:
			if !plainMember(d, c, key) {
				return nil, false
			}
		}
	}
	f := faults{d: d, meta: meta}
	f.ofName()
	f.ofNamespace(r.Namespaced)
	if !f.ofLabels() || !f.ofAnnotations() || !f.ofFinalizers() || f.repeated() {
		return nil, false
	}
	return f.found, true
}

// faults is one run of Faults.
type faults struct {
	d     *tree.Doc
	meta  uint32
	found []violation.Violation
}

// location is the path of a field of metadata, as text and as segments.
type location struct {
	field string
	path  tree.Path
}

func locationOf(key string) location {
	return location{"metadata." + key, slices.Clip(tree.Path{tree.Name("metadata"), tree.Name(key)})}
}

var (
	atName        = locationOf("name")
	atNamespace   = locationOf("namespace")
	atLabels      = locationOf("labels")
	atAnnotations = locationOf("annotations")
	atFinalizers  = locationOf("finalizers")
)

// entry returns the path of a label or annotation. Upstream's text is that of the map.
func (l location) entry(key string) location { return location{l.field, l.path.With(tree.Entry(key))} }

// add adds an error about a node.
func (f *faults) add(at location, node uint32, err *field.Error) {
	err.Field, err.FromImperative = at.field, true
	v := violation.Of(violation.Metadata, err, at.path)
	v.Node = node
	if f.found == nil {
		f.found = make([]violation.Violation, 0, 4) // the usual number
	}
	f.found = append(f.found, v)
}

func (f *faults) ofName() {
	c := f.d.Field(f.meta, "name")
	if name := f.text(c); name != "" {
		f.each(atName, c, name, "", subdomainFaults(name))
		return
	}
	detail := nameRequired
	if f.text(f.d.Field(f.meta, "generateName")) != "" {
		detail = notGenerated
	}
	f.add(atName, cmp.Or(c, f.meta), field.Required(nil, detail))
}

func (f *faults) ofNamespace(namespaced bool) {
	c := f.d.Field(f.meta, "namespace")
	switch name := f.text(c); {
	case namespaced && name == "":
		f.add(atNamespace, cmp.Or(c, f.meta), field.Required(nil, ""))
	case namespaced:
		f.each(atNamespace, c, name, "", labelFaults(name))
	case name != "":
		f.add(atNamespace, c, field.Forbidden(nil, "not allowed on this type"))
	}
}

// each adds the errors about a string.
func (f *faults) each(at location, node uint32, text, origin string, details []string) {
	if len(details) > 0 {
		text = strings.Clone(text)
	}
	for _, detail := range details {
		f.add(at, node, field.Invalid(nil, text, detail).WithOrigin(origin))
	}
}

// Upstream's origins of errors about labels and annotations.
const (
	originOfKey   = "format=k8s-label-key"
	originOfValue = "format=k8s-label-value"
)

// ofLabels validates labels, sorted by key. Errors about a key precede those about its value.
func (f *faults) ofLabels() (ok bool) {
	var few [mostFaults]uint32
	wrong, ok := f.wrong(few[:0], f.d.Field(f.meta, "labels"), func(key, text string) bool {
		return isQualifiedName(key) && (text == "" || isNamePart(text))
	})
	for _, c := range wrong {
		key := strings.Clone(f.d.Key(c))
		at := atLabels.entry(key)
		f.each(at, c, key, originOfKey, qualifiedFaults(key))
		f.each(at, c, f.text(c), originOfValue, labelValueFaults(f.text(c)))
	}
	return ok
}

func (f *faults) ofAnnotations() (ok bool) {
	var few [mostFaults]uint32
	total := 0
	wrong, ok := f.wrong(few[:0], f.d.Field(f.meta, "annotations"), func(key, text string) bool {
		total += len(key) + len(text)
		return isQualifiedName(key)
	})
	for _, c := range wrong {
		key := strings.Clone(f.d.Key(c))
		f.each(atAnnotations.entry(key), c, key, originOfKey, qualifiedFaults(strings.ToLower(key)))
	}
	return ok && total <= maxAnnotations
}

func (f *faults) ofFinalizers() (ok bool) {
	known := 0 // finalizers of the garbage collector, which exclude each other
	list := f.d.Field(f.meta, "finalizers")
	for c := f.d.Nodes[list].First; c != 0; c = f.d.Nodes[c].Next {
		name := f.text(c)
		if name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents {
			known++
		}
		if len(f.found) > mostFaults {
			return false
		}
		f.each(atFinalizers, list, name, "", qualifiedFaults(name))
	}
	return known < 2
}

// mostFaults is how many entries of a map may be invalid. Validate handles more.
const mostFaults = 16

// wrong returns the invalid entries of a map, sorted by key. ok is false if there are too many, or if one is not a
// string.
func (f *faults) wrong(list []uint32, entries uint32, right func(key, text string) bool) (_ []uint32, ok bool) {
	d := f.d
	for c := d.Nodes[entries].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case d.Nodes[c].Kind != tree.String:
			return nil, false
		case right(d.Key(c), d.Str(c)):
			continue
		case len(list) == cap(list):
			return nil, false
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b uint32) int { return strings.Compare(d.Key(a), d.Key(b)) })
	return list, true
}

// repeated reports whether two errors are equal. Upstream reports equal errors once, and Validate knows which.
func (f *faults) repeated() bool {
	for i := range f.found {
		a := f.found[i].Error
		for j := range i {
			if b := f.found[j].Error; a.Field == b.Field && a.Detail == b.Detail && a.BadValue == b.BadValue {
				return true
			}
		}
	}
	return false
}

// text returns the string of a node, or "".
func (f *faults) text(c uint32) string {
	if f.d.Nodes[c].Kind != tree.String {
		return ""
	}
	return f.d.Str(c)
}
