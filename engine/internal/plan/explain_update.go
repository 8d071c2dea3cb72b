package plan

import (
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// ExplainUpdate is Explain for an object that replaces another one: pair is its root with the old root. Errors about an
// unchanged value, or below it, are ratcheted. Upstream turns them into warnings that it does not send. The zero Pair
// ratchets nothing.
//
// Errors within logical operators, and about apiVersion and kind, are never ratcheted. A schema that is not structural
// correlates nothing; upstream panics there.
//
// Upstream: apiextensions-apiserver pkg/apiserver/validation/ratcheting.go.
func (p *Plan) ExplainUpdate(d *tree.Doc, root uint32, pair Pair, at At) (found, ratcheted []violation.Violation) {
	if !p.HasSchema {
		return nil, nil
	}
	return p.explain(d, p.Root, root, pair, at)
}

// ExplainStatus validates the status of a status update with the schema of the status. whole is the object's root with
// the old root. An absent status and one without a schema are not validated.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/validator.go, ValidateStatusUpdate.
func (p *Plan) ExplainStatus(d *tree.Doc, whole Pair, at At) (found, ratcheted []violation.Violation) {
	status := d.Field(whole.self, statusName)
	slot, declared := p.Root.find(statusName)
	if status == 0 || !declared {
		return nil, nil
	}
	n, pair := p.Root.Props[slot], whole.Member(status)
	if !pair.Known() {
		// Upstream correlates the two by themselves then: null equals an absent status.
		pair = whole.trees.Root(n, status, d.Field(whole.old, statusName))
	}
	at.Field, at.Path = at.Field.Child(statusName), at.Path.With(tree.Name(statusName))
	at.Schema += "/properties/" + statusName
	return p.explain(d, n, status, pair, at)
}

func (p *Plan) explain(d *tree.Doc, n *Node, i uint32, pair Pair, at At) (found, ratcheted []violation.Violation) {
	e := explainer{walker: walker{d: d, at: at}, marked: n.marked()}
	if p.Structural {
		e.pair = pair
	}
	e.value(n, i)
	return e.violations()
}

// member validates a member of the current value.
func (e *explainer) member(n *Node, s step, member uint32) (matches int) {
	before := e.pair
	if (s.name == "kind" || s.name == "apiVersion") && e.atTop() {
		// Upstream sees no change of these, since both objects were converted to one version.
		e.pair = Pair{}
	} else {
		e.pair = before.Member(member)
	}
	e.enter(s)
	matches = e.value(n, member)
	e.leave()
	e.pair = before
	return matches
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
