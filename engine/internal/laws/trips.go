package laws

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// counterexample returns a counterexample with the conversions of the trial.
func (tr *trial) counterexample(format string, args ...any) *Counterexample {
	return &Counterexample{Text: fmt.Sprintf(format, args...), Object: tr.object, Converted: tr.converted, Back: tr.back}
}

func (t *tester) roundTrip(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil {
		return false, nil
	}
	if tr.returned != nil {
		return true, tr.counterexample("The object is converted to %s, but not back: %v.", t.to.Name, tr.returned)
	}
	if c := t.sameAfter(tr, "metadata", "status"); c != nil || tr.part == nil || !tr.hasPart() {
		return true, c
	}
	if c := t.partialTrip(tr, tr.part.JSON()); c != nil {
		return true, c
	}
	_, part := t.managed(tr)
	return true, t.partialTrip(tr, part)
}

func (t *tester) status(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil || tr.returned != nil {
		return false, nil
	}
	o := parse(tr.object)
	defer o.Release()
	if o.Field(o.root, "status") == 0 {
		return false, nil
	}
	var others []string
	for c := o.Nodes[o.root].First; c != 0; c = o.Nodes[c].Next {
		if o.Key(c) != "status" {
			others = append(others, strings.Clone(o.Key(c)))
		}
	}
	return true, t.sameAfter(tr, others...)
}

// sameAfter compares the object before and after the round trip, without some members.
func (t *tester) sameAfter(tr *trial, without ...string) *Counterexample {
	before := tr.object
	if t.via != "" {
		var err error
		if before, err = t.throughHub(tr.object, true); err != nil {
			return nil
		}
	}
	a, b := parse(before), parse(tr.back)
	defer a.Release()
	defer b.Release()
	for _, o := range [...]objectTree{a, b} {
		t.converter.Normalize(o.Doc, o.root, t.from.Name, cmp.Or(t.via, t.to.Name), true)
		if t.via != "" {
			o.prune(o.root)
		}
	}
	d := differs(a.without(without...), a.root, b.without(without...), b.root, nil)
	if d == nil {
		return nil
	}
	return tr.counterexample("After the conversion to %s and back, %s is %s. Before it was %s.",
		t.to.Name, named(d.path), state(d.to), state(d.is))
}

func (t *tester) metadata(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil {
		return false, nil
	}
	if c := t.sameMetadata(tr, tr.converted, "The conversion to "+t.to.Name); c != nil {
		return true, c
	}
	if tr.returned != nil {
		return true, nil
	}
	return true, t.sameMetadata(tr, tr.back, "The conversion to "+t.to.Name+" and back")
}

// sameMetadata compares the metadata of the object with that of a conversion, byte by byte.
func (t *tester) sameMetadata(tr *trial, after []byte, what string) *Counterexample {
	a, b := parse(tr.object), parse(after)
	defer a.Release()
	defer b.Release()
	_, annotations := a.annotations()
	i, j := a.Field(a.root, "metadata"), b.withoutKept(annotations != 0).Field(b.root, "metadata")
	if bytes.Equal(a.AppendJSON(nil, i), b.AppendJSON(nil, j)) {
		return nil
	}
	at := tree.Path{tree.Name("metadata")}
	if j == 0 {
		return tr.counterexample("%s removes the metadata.", what)
	}
	if d := differs(a, i, b, j, at); d != nil {
		return tr.counterexample("%s changes %s: it was %s and is %s.", what, named(d.path), state(d.is), state(d.to))
	}
	return tr.counterexample("%s changes the order of metadata: it was %s and is %s.", what, shown(a, i), shown(b, j))
}

func (t *tester) validity(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil {
		return false, nil
	}
	v, err := t.to.Judge(t.ctx, tr.converted)
	switch {
	case err != nil:
		return true, tr.counterexample("The object is valid in %s. Its conversion to %s is not: %v.", t.from.Name, t.to.Name, err)
	case v.Text == "":
		return true, nil
	}
	if len(v.Faults) > 0 {
		unexpected := slices.IndexFunc(v.Faults, func(f sample.Fault) bool {
			return f.Rule != "" || !t.converter.Expects(t.from.Name, t.to.Name, f.Path)
		})
		if unexpected < 0 {
			return false, nil // the object does not meet a precondition
		}
		if text := v.Faults[unexpected].Text; text != "" {
			v.Text = text
		}
	}
	return true, tr.counterexample("The object is valid in %s. Its conversion to %s is not: %s.", t.from.Name, t.to.Name,
		strings.TrimSuffix(v.Text, "."))
}

// maxAnnotations is the most bytes that the annotations of an object can have.
// (k8s.io/apimachinery/pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB)
const maxAnnotations = 256 << 10

func (t *tester) size(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil {
		return false, nil
	}
	o := parse(tr.converted)
	defer o.Release()
	_, annotations := o.annotations()
	total := 0
	for c := o.Nodes[annotations].First; c != 0; c = o.Nodes[c].Next {
		if strings.HasPrefix(o.Key(c), lens.AnnotationPrefix) && o.Nodes[c].Kind == tree.String {
			total += len(o.Key(c)) + len(o.Str(c))
		}
	}
	if total <= maxAnnotations {
		return true, nil
	}
	return true, tr.counterexample("The conversion to %s makes annotations of %d bytes. Kubernetes allows %d.",
		t.to.Name, total, maxAnnotations)
}

func (t *tester) determinism(tr *trial) (bool, *Counterexample) {
	if tr.failed != nil {
		return false, nil
	}
	again, err := t.convert(tr.object, t.from, t.to)
	if err != nil || !bytes.Equal(again, tr.converted) {
		return true, tr.counterexample("Two conversions of the object to %s give different results.", t.to.Name)
	}
	object, err := sample.Parse(tr.object)
	if err != nil {
		return false, nil
	}
	other, err := t.convert(sample.Reverse(object), t.from, t.to)
	if err != nil {
		return true, tr.counterexample("The object is converted to %s, but not if its keys have another order: %v.", t.to.Name, err)
	}
	a, b := parse(tr.converted), parse(other)
	defer a.Release()
	defer b.Release()
	if d := differs(a.unpacked(), a.root, b.unpacked(), b.root, nil); d != nil {
		return true, tr.counterexample("The order of keys matters: %s is %s in %s, or %s if the keys of the object have another order.",
			named(d.path), state(d.is), t.to.Name, state(d.to))
	}
	return true, nil
}

// unpacked replaces the annotations of conversions by the JSON values in them, because the order of their keys does
// not matter.
func (t objectTree) unpacked() objectTree {
	_, annotations := t.annotations()
	for c := t.Nodes[annotations].First; c != 0; c = t.Nodes[c].Next {
		if strings.HasPrefix(t.Key(c), lens.AnnotationPrefix) && t.Nodes[c].Kind == tree.String {
			if v, err := t.Parse([]byte(t.Str(c)), tree.Arena, tree.Limits{MaxBytes: max(len(t.Str(c)), 1)}); err == nil {
				t.Replace(c, v)
			}
		}
	}
	return t
}
