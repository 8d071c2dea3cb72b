package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// At says where the value that Explain judges stands, when that is not the root of an object judged by the root of its schema.
// The zero At is the root.
type At struct {
	// Field leads every field path: status for a status update, spec.validation….default for a default. The reference gives
	// it as the whole field of findings that have none ("<nil>" for the root).
	Field *field.Path
	// Path leads every structured path, Schema every schema pointer.
	Path   value.Path
	Schema string
	// Stop ends the walk early; what Explain then returns is incomplete and must not be used.
	Stop *interrupt.Signal
	// Room is for how much may be found; nil for any amount. What Explain returns is incomplete and must not be used if that
	// did not fit.
	Room *violation.Room
	// Texts is memory for what is found; nil for some of the walk's own.
	Texts *value.Slab
}

// Explain gives every finding that the reference's validators (k8s.io/kube-openapi/pkg/validation/validate, by way of
// apiextensions-apiserver's pkg/apiserver/validation/validation.go) have about the value at node root of d, in document order,
// then schema order. The value is judged as it stands: shape it first, or not, as the reference would.
//
// Like the reference it never stops at a finding, drops findings whose text another one already has (Deduplicate in
// violation), and reports of several failing branches of an anyOf or oneOf the one that agreed with most of the value. A plan
// compiled ForDefaults judges defaults: their texts start with the place within the default, which is empty at its root.
func (p *Plan) Explain(d *value.Doc, root uint32, at At) []violation.Violation {
	found, _ := p.ExplainUpdate(d, root, Pair{}, at)
	return found
}

// explainer is one run. Methods that judge return the match count: how many checks applied and agreed, as the reference counts
// them in order to choose between branches. Their findings are appended to found; a value is valid if they appended none.
type explainer struct {
	tour
	found []finding
	ratchet
	quiet int // above 0 only whether there are findings matters
	floor int // length of found where the innermost branch began
	trial int // above 0 what is found may be dropped again

	unseen finding // what report returns of a finding that nobody will see
}

// value is SchemaValidator.Validate; on update what it finds about an unchanged value is forgiven.
func (e *explainer) value(n *Node, i uint32) (matches int) {
	if e.tick(1) {
		return 0
	}
	start := len(e.found)
	matches = e.validators(n, i)
	if len(e.found) > start && e.pair.Known() {
		e.forgive(start)
	}
	return matches
}

// validators are eight validators, each of which counts one when it applies, and one for the whole.
func (e *explainer) validators(n *Node, i uint32) (matches int) {
	kind := e.d.Nodes[i].Kind
	v := n.Valid
	if v == nil {
		v = &noValidation
	}
	if kind == value.Null {
		matches = e.typeOf(n, v, i)
		e.enum(v, i)
		return matches
	}
	if n.Type != "" || v.Format != "" || n.Has(intOrStringTyped) {
		matches += e.typeOf(n, v, i) + 1
	}
	matches += e.junctors(v, i) + 1
	switch kind {
	case value.String:
		e.text(v, i)
		matches++
		if v.FormatID != format.None {
			e.format(v, i)
			matches++
		}
	case value.Int, value.Float:
		e.number(n, v, i)
		matches += 2
	case value.Array:
		matches += e.elements(n, v, i) + 2
	}
	e.enum(v, i)
	matches++
	if kind == value.Object {
		matches += e.members(n, v, i) + 1
	}
	return matches + 1
}

var noValidation = Validation{Junctors: &noJunctors}

// elements is the slice validator without its own count.
func (e *explainer) elements(n *Node, v *Validation, i uint32) (matches int) {
	if n.Items != nil {
		k, pair := 0, e.pair
		for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
			e.pair = pair.Index(c)
			e.enter(step{kind: stepItem, index: k})
			matches += e.value(n.Items, c)
			e.leave()
			k++
		}
		e.pair = pair
	}
	if v.Legacy != nil {
		matches += e.legacyElements(v.Legacy, i)
	}
	size := int64(e.d.Nodes[i].Live)
	if v.MinItems != nil && size < *v.MinItems {
		e.tooFew("minItems", i, "items", *v.MinItems, size)
	}
	if v.MaxItems != nil && size > *v.MaxItems {
		e.tooMany("maxItems", i, "items", *v.MaxItems, size)
	}
	if v.UniqueItems {
		e.unique(i)
	}
	return matches
}

// members is the object validator; it has no count of its own.
func (e *explainer) members(n *Node, v *Validation, i uint32) (matches int) {
	size := int64(e.d.Nodes[i].Live)
	if v.MinProperties != nil && size < *v.MinProperties {
		e.tooFew("minProperties", i, "properties", *v.MinProperties, size)
	}
	if v.MaxProperties != nil && size > *v.MaxProperties {
		e.tooMany("maxProperties", i, "properties", *v.MaxProperties, size)
	}
	for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
		key := e.d.Key(c)
		slot, declared := n.find(key)
		switch {
		case v.Legacy != nil && len(v.Legacy.PatternProperties) > 0:
			m, matched := e.patternProperties(n, v.Legacy, key, c, declared)
			matches += m
			if !declared && !matched {
				matches += e.undeclared(n, c, key)
			}
		case !declared:
			matches += e.undeclared(n, c, key)
		}
		if declared {
			pair := e.intoMember(key, c)
			e.enter(step{kind: stepProperty, name: key})
			matches += e.value(n.Props[slot], c)
			e.leave()
			e.pair = pair
		}
	}
	find := e.d.Field
	if len(v.Required) > manyNames {
		find = e.find().Field
	}
	for k := range v.Required {
		if e.tick(1) {
			break
		}
		name := v.Required[k].Name
		c := find(i, name)
		if c == 0 || !quirk.On(quirk.RequiredAfterDefaulting) && e.d.Nodes[c].Kind == value.Null {
			e.required(i, name)
		}
	}
	return matches
}

// manyNames is how many names are looked up in one object without a thought.
const manyNames = 16

// find is for looking up many names in one object.
func (t *tour) find() *value.Finder {
	if t.finder == nil {
		t.finder = t.d.Finder()
	}
	return t.finder
}

// undeclared judges a member that no declared property and no pattern speaks for.
func (e *explainer) undeclared(n *Node, member uint32, key string) (matches int) {
	switch {
	case n.Has(AdditionalFalse):
		e.forbidden(member, key)
	case n.Additional != nil:
		pair := e.intoMember(key, member)
		e.enter(step{kind: stepAdditional, name: key})
		matches = e.value(n.Additional, member)
		e.leave()
		e.pair = pair
	}
	return matches
}
