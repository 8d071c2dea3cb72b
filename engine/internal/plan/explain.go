package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// At is the position of the value that Explain validates. The zero At is the root of an object.
type At struct {
	// Field is the prefix of every field path: status for a status update, spec.validation… for a default. Upstream
	// uses it as the field of errors without a path ("<nil>" for the root).
	Field *field.Path
	// Path is the prefix of every structured path, Schema that of every schema pointer.
	Path   tree.Path
	Schema string
	// Stop aborts the walk. The result of an aborted walk is incomplete and must not be used.
	Stop *interrupt.Signal
	// Budget bounds the size of the result. It may be nil. If it is exceeded, the result is incomplete and must not be
	// used.
	Budget *violation.Budget
	// Texts is memory for the result. It may be nil.
	Texts *tree.Slab
}

// Explain returns all errors of upstream's validators about the value at root, in document order, then schema order. It
// does not shape the value. (k8s.io/kube-openapi/pkg/validation/validate, called by apiextensions-apiserver
// pkg/apiserver/validation/validation.go)
//
// Like upstream it does not stop at an error, drops errors with equal texts, and of several failing branches of an
// anyOf or oneOf reports the one with most matches. For a plan compiled ForDefaults, texts start with the path within
// the default.
func (p *Plan) Explain(d *tree.Doc, root uint32, at At) []violation.Violation {
	found, _ := p.ExplainUpdate(d, root, Pair{}, at)
	return found
}

// explainer is one run. Methods return the match count: how many checks applied and passed. Upstream uses it to choose
// between branches. They append errors to found; a value is valid if they append none.
type explainer struct {
	walker
	found  []draft
	pair   Pair // the current value with its old value; zero if its errors are not ratcheted
	trial  int  // above 0: errors may be dropped again
	brief  bool // only whether there are errors matters
	floor  int  // length of found at the start of the innermost branch
	marked bool // the plan has a property whose name begins with importantMark
}

// value is SchemaValidator.Validate. On update, errors about an unchanged value are ratcheted.
func (e *explainer) value(n *Node, i uint32) (matches int) {
	if e.tick(1) || e.brief && len(e.found) > e.floor {
		return 0
	}
	start := len(e.found)
	matches = e.validators(n, i)
	if len(e.found) > start && e.pair.Equal() {
		// They stay in found, since logical operators check whether there are any.
		for k := range e.found[start:] {
			e.found[start+k].ratcheted = true
		}
	}
	return matches
}

// validators runs eight validators. Each counts one if it applies, and the whole counts one.
func (e *explainer) validators(n *Node, i uint32) (matches int) {
	kind := e.d.Nodes[i].Kind
	v := n.Valid
	if v == nil {
		v = &noValidation
	}
	if kind == tree.Null {
		matches = e.typeOf(n, v, i)
		e.enum(v, i)
		return matches
	}
	if n.Type != "" || v.Format != "" || n.Has(IntOrString) {
		matches += e.typeOf(n, v, i) + 1
	}
	matches += e.operators(v, i) + 1
	switch kind {
	case tree.String:
		e.text(v, i)
		matches++
		if v.FormatID != format.None {
			e.format(v, i)
			matches++
		}
	case tree.Int, tree.Float:
		e.number(n, v, i)
		matches += 2
	case tree.Array:
		matches += e.elements(n, v, i) + 2
	}
	e.enum(v, i)
	matches++
	if kind == tree.Object {
		matches += e.members(n, v, i) + 1
	}
	return matches + 1
}

var noValidation = Validation{Operators: &noOperators}

// elements is the slice validator without its own count.
func (e *explainer) elements(n *Node, v *Validation, i uint32) (matches int) {
	if n.Items != nil {
		k, pair := 0, e.pair
		for c := e.d.Nodes[i].First; c != 0; c, k = e.d.Nodes[c].Next, k+1 {
			e.pair = pair.Index(c)
			e.enter(step{kind: stepItem, index: k})
			matches += e.value(n.Items, c)
			e.leave()
		}
		e.pair = pair
	}
	if v.Legacy != nil {
		matches += e.legacyElements(v.Legacy, i)
	}
	e.count(i, "Items", v.MinItems, v.MaxItems)
	if v.UniqueItems {
		e.unique(i)
	}
	return matches
}

// members is the object validator. It has no count of its own.
func (e *explainer) members(n *Node, v *Validation, i uint32) (matches int) {
	e.count(i, "Properties", v.MinProperties, v.MaxProperties)
	after := uint16(0)
	for c := e.d.Nodes[i].First; c != 0; c = e.d.Nodes[c].Next {
		key := e.d.Key(c)
		slot, declared := n.slotAfter(e.d, &after, key)
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
			matches += e.member(n.Props[slot], step{kind: stepProperty, name: key}, c)
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
		if c == 0 || !quirk.On(quirk.RequiredAfterDefaulting) && e.d.Nodes[c].Kind == tree.Null {
			e.required(i, name)
		}
	}
	return matches
}

// manyNames is the number of names from which a Finder is used.
const manyNames = 16

// find returns a Finder for looking up many names in one object.
func (t *walker) find() *tree.Finder {
	if t.finder == nil {
		t.finder = t.d.Finder()
	}
	return t.finder
}

// undeclared validates a member without a declared property or pattern.
func (e *explainer) undeclared(n *Node, member uint32, key string) (matches int) {
	switch {
	case n.Has(AdditionalFalse):
		e.forbidden(member, key)
	case n.Additional != nil:
		matches = e.member(n.Additional, step{kind: stepAdditional, name: key}, member)
	}
	return matches
}
