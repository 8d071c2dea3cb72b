package plan

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// ExplainUpdate is Explain for an object that takes the place of another one: pair is its root with the old one's. What is found
// about a value that is what it was, or below it, is forgiven: the reference makes it warnings that nobody gets to see. The zero
// Pair forgives nothing.
//
// Not forgiven is what stands in the branches of junctors, nor anything about apiVersion and kind. A schema that is not structural
// correlates nothing: the reference has no answer there, its correlation ends in a panic.
//
// Upstream: apiextensions-apiserver pkg/apiserver/validation/ratcheting.go.
func (p *Plan) ExplainUpdate(d *value.Doc, root uint32, pair Pair, at At) (found, forgiven []violation.Violation) {
	if !p.HasSchema {
		return nil, nil
	}
	return p.explain(d, p.Root, root, pair, at)
}

// ExplainStatus judges the status that a status update brings, by the schema of the status alone: whole is the object's root
// with the old one's. A status that is absent is not judged, and neither is one without schema.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/validator.go, ValidateStatusUpdate.
func (p *Plan) ExplainStatus(d *value.Doc, pairs *Pairs, whole Pair, at At) (found, forgiven []violation.Violation) {
	const name = "status"
	status := d.Field(whole.Self(), name)
	slot, declared := p.Root.find(name)
	if status == 0 || !declared {
		return nil, nil
	}
	n, pair := p.Root.Props[slot], whole.Key(name)
	if !pair.Known() {
		// The reference correlates the two by themselves then: a null is equal to no status.
		pair = pairs.Root(n, status, d.Field(whole.Old(), name))
	}
	at.Field, at.Path, at.Schema = at.Field.Child(name), at.Path.With(value.Name(name)), at.Schema+"/properties/"+name
	return p.explain(d, n, status, pair, at)
}

func (p *Plan) explain(d *value.Doc, n *Node, i uint32, pair Pair, at At) (found, forgiven []violation.Violation) {
	e := explainer{tour: tour{d: d, at: at}}
	if p.Structural {
		e.pair = pair
	}
	e.value(n, i)
	if e.forgave {
		forgiven = e.violations(true)
	}
	return e.violations(false), forgiven
}

// ratchet is what an explainer knows of the old object.
type ratchet struct {
	pair    Pair // of the value that is being judged; zero if nothing about it is forgiven
	forgave bool
}

// intoMember makes the pair that of a member, and returns the one that it was.
func (e *explainer) intoMember(key string, member uint32) (before Pair) {
	before = e.pair
	if before.Known() {
		if (key == "kind" || key == "apiVersion") && e.atTop() {
			// The reference does not see changes of these: both objects were converted to one version.
			e.pair = Pair{}
		} else {
			e.pair = before.Member(member)
		}
	}
	return before
}

// atTop reports whether the dotted path of the place is empty: at the root, and below properties with an empty name.
func (e *explainer) atTop() bool {
	for k := range e.way {
		if s := &e.way[k]; s.kind != stepProperty || s.name != "" {
			return false
		}
	}
	return true
}

// forgive forgives the findings from start on if the value that they are about is what it was. They stay where they are: nothing is forgiven in
// the branches of junctors, which look at whether there are any.
func (e *explainer) forgive(start int) {
	if !e.pair.Equal() {
		return
	}
	for k := range e.found[start:] {
		e.found[start+k].forgiven = true
	}
	e.forgave = true
}
