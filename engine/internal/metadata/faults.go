package metadata

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Faults is Validate over the tree, for the faults that are common: a name, a namespace, a label, an annotation or a finalizer that is missing
// or none. It has the places of what it finds, too. Not ok: something else may be wrong, and only Validate knows. The metadata must have been
// coerced and be that of a root object.
func Faults(d *value.Doc, meta uint32, r Rules) (found []violation.Violation, ok bool) {
	if meta == 0 || d.Nodes[meta].Kind != value.Object || r.Embedded {
		return nil, false
	}
	f := faults{d: d, meta: meta}
	for c := d.Nodes[meta].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		switch member := f.of(key); {
		case member != nil:
			*member = c
		case !plainMember(d, c, key):
			return nil, false
		}
	}
	f.ofName()
	f.ofNamespace(r.Namespaced)
	if !f.ofLabels() || !f.ofAnnotations() || !f.ofFinalizers() || f.repeated() {
		return nil, false
	}
	return f.found, true
}

// faults is one run of Faults: the members that it judges, 0 for those that are not there.
type faults struct {
	d                                                *value.Doc
	meta                                             uint32
	name, namespace, labels, annotations, finalizers uint32
	found                                            []violation.Violation
}

func (f *faults) of(key string) *uint32 {
	switch key {
	case "name":
		return &f.name
	case "namespace":
		return &f.namespace
	case "labels":
		return &f.labels
	case "annotations":
		return &f.annotations
	case "finalizers":
		return &f.finalizers
	}
	return nil
}

// place is a member of metadata: what upstream calls it, and the way to it.
type place struct {
	field string
	path  value.Path
}

func placeOf(key string) place {
	return place{"metadata." + key, slices.Clip(value.Path{value.Name("metadata"), value.Name(key)})}
}

var (
	atName        = placeOf("name")
	atNamespace   = placeOf("namespace")
	atLabels      = placeOf("labels")
	atAnnotations = placeOf("annotations")
	atFinalizers  = placeOf("finalizers")
)

// entry is the place of a label or annotation, which upstream calls by the name of the map.
func (p place) entry(key string) place { return place{p.field, p.path.With(value.Entry(key))} }

// add takes note of an error about a node.
func (f *faults) add(at place, node uint32, err *field.Error) {
	err.Field, err.FromImperative = at.field, true
	v := violation.Of(violation.Metadata, err, at.path)
	v.Node = node
	if f.found == nil {
		f.found = make([]violation.Violation, 0, usualFaults)
	}
	f.found = append(f.found, v)
}

// usualFaults is how many faults metadata mostly has, if it has any.
const usualFaults = 4

func (f *faults) ofName() {
	if f.text(f.name) == "" {
		detail := nameRequired
		if f.text(f.d.Field(f.meta, "generateName")) != "" {
			detail = notGenerated
		}
		f.add(atName, cmp.Or(f.name, f.meta), field.Required(nil, detail))
		return
	}
	f.each(atName, f.name, f.text(f.name), "", subdomainFaults)
}

func (f *faults) ofNamespace(namespaced bool) {
	switch name := f.text(f.namespace); {
	case namespaced && name == "":
		f.add(atNamespace, cmp.Or(f.namespace, f.meta), field.Required(nil, ""))
	case namespaced:
		f.each(atNamespace, f.namespace, name, "", labelFaults)
	case name != "":
		f.add(atNamespace, f.namespace, field.Forbidden(nil, "not allowed on this type"))
	}
}

// each adds what is wrong with a text.
func (f *faults) each(at place, node uint32, text, origin string, faults func(string) []string) {
	if wrong := faults(text); len(wrong) > 0 {
		f.adds(at, node, text, origin, wrong)
	}
}

func (f *faults) adds(at place, node uint32, text, origin string, wrong []string) {
	text = strings.Clone(text)
	for _, detail := range wrong {
		f.add(at, node, field.Invalid(nil, text, detail).WithOrigin(origin))
	}
}

// Upstream's names for the kinds of errors about labels and annotations.
const (
	originOfKey   = "format=k8s-label-key"
	originOfValue = "format=k8s-label-value"
)

// ofLabels goes through the labels that are wrong by their keys, which are said to be wrong before their values are.
func (f *faults) ofLabels() (ok bool) {
	var few [mostFaults]uint32
	wrong, ok := f.wrong(few[:0], f.labels, func(key, text string) bool {
		return isQualifiedName(key) && (text == "" || isNamePart(text))
	})
	for _, c := range wrong {
		key := strings.Clone(f.d.Key(c))
		at := atLabels.entry(key)
		f.each(at, c, key, originOfKey, qualifiedFaults)
		f.each(at, c, f.text(c), originOfValue, labelValueFaults)
	}
	return ok
}

func (f *faults) ofAnnotations() (ok bool) {
	var few [mostFaults]uint32
	total := 0
	wrong, ok := f.wrong(few[:0], f.annotations, func(key, text string) bool {
		total += len(key) + len(text)
		return isQualifiedName(key)
	})
	for _, c := range wrong {
		key := strings.Clone(f.d.Key(c))
		f.adds(atAnnotations.entry(key), c, key, originOfKey, qualifiedFaults(strings.ToLower(key)))
	}
	return ok && total <= maxAnnotations
}

func (f *faults) ofFinalizers() (ok bool) {
	known := 0 // the garbage collector's, which exclude each other
	for c := f.d.Nodes[f.finalizers].First; c != 0; c = f.d.Nodes[c].Next {
		name := f.text(c)
		if name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents {
			known++
		}
		if len(f.found) > mostFaults {
			return false
		}
		f.each(atFinalizers, f.finalizers, name, "", qualifiedFaults)
	}
	return known < 2
}

// mostFaults is how many entries of a map may be wrong; what is full of faults can take its time.
const mostFaults = 16

// wrong are the entries of a map that are not right, by their keys. Not ok: there are too many, or something is no text.
func (f *faults) wrong(list []uint32, entries uint32, right func(key, text string) bool) (_ []uint32, ok bool) {
	d := f.d
	for c := d.Nodes[entries].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case d.Nodes[c].Kind != value.String:
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

// repeated reports whether two findings say the same: upstream has them once, and which of two places it means is another's to say.
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

// text is the text of a node, "" for none.
func (f *faults) text(c uint32) string {
	if f.d.Nodes[c].Kind != value.String {
		return ""
	}
	return f.d.Str(c)
}
