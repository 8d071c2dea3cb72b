package plan

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// ExplainUpdate is Explain for an object that replaces another one: pair is its root with the old root. Errors about an
// unchanged value, or below it, are ratcheted. Upstream turns them into warnings that it does not send. The zero Pair
// ratchets nothing.
//
// Errors within logical operators, and about apiVersion and kind, are never ratcheted. A schema that is not structural
// correlates nothing; upstream panics there.
//
// Upstream: apiextensions-apiserver pkg/apiserver/validation/ratcheting.go.
func (p *Plan) ExplainUpdate(d *value.Doc, root uint32, pair Pair, at At) (found, ratcheted []violation.Violation) {
	if !p.HasSchema {
		return nil, nil
	}
	return p.explain(d, p.Root, root, pair, at)
}

// ExplainStatus validates the status of a status update with the schema of the status. whole is the object's root with
// the old root. An absent status and one without a schema are not validated.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/validator.go, ValidateStatusUpdate.
func (p *Plan) ExplainStatus(d *value.Doc, pairs *Pairs, whole Pair, at At) (found, ratcheted []violation.Violation) {
	const name = "status"
	status := d.Field(whole.Self(), name)
	slot, declared := p.Root.find(name)
	if status == 0 || !declared {
		return nil, nil
	}
	n, pair := p.Root.Props[slot], whole.Key(name)
	if !pair.Known() {
		// Upstream correlates the two by themselves then: null equals an absent status.
		pair = pairs.Root(n, status, d.Field(whole.Old(), name))
	}
	at.Field, at.Path, at.Schema = at.Field.Child(name), at.Path.With(value.Name(name)), at.Schema+"/properties/"+name
	return p.explain(d, n, status, pair, at)
}

func (p *Plan) explain(d *value.Doc, n *Node, i uint32, pair Pair, at At) (found, ratcheted []violation.Violation) {
	e := explainer{walker: walker{d: d, at: at}}
	if p.Structural {
		e.pair = pair
	}
	e.value(n, i)
	if e.anyRatcheted {
		ratcheted = e.violations(true)
	}
	return e.violations(false), ratcheted
}

// ratchet is what an explainer knows of the old object.
type ratchet struct {
	pair         Pair // of the current value; zero if its errors are not ratcheted
	anyRatcheted bool
}

// intoMember makes e.pair that of a member, and returns the previous pair.
func (e *explainer) intoMember(key string, member uint32) (before Pair) {
	before = e.pair
	if before.Known() {
		if (key == "kind" || key == "apiVersion") && e.atTop() {
			// Upstream sees no change of these, since both objects were converted to one version.
			e.pair = Pair{}
		} else {
			e.pair = before.Member(member)
		}
	}
	return before
}

// atTop reports whether the dotted path is empty: at the root, and below properties with an empty name.
func (e *explainer) atTop() bool {
	for k := range e.steps {
		if s := &e.steps[k]; s.kind != stepProperty || s.name != "" {
			return false
		}
	}
	return true
}

// markRatcheted marks the errors from start on as ratcheted if the value is unchanged. They stay in found, since
// logical operators check whether there are any.
func (e *explainer) markRatcheted(start int) {
	if !e.pair.Equal() {
		return
	}
	for k := range e.found[start:] {
		e.found[start+k].ratcheted = true
	}
	e.anyRatcheted = true
}
