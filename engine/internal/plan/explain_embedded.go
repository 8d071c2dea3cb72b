package plan

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// checker collects the errors of one check of all values with a flag.
type checker struct {
	walker
	found []violation.Violation
}

// walk calls check for the value at i and for those below it whose nodes have the flag, in document order.
func (e *checker) walk(n *Node, i uint32, flag Flags, check func(n *Node, i uint32)) {
	if n == nil || n.Flags&flag == 0 {
		return
	}
	check(n, i)
	object, k := e.d.Nodes[i].Kind == tree.Object, 0
	for c := e.d.Nodes[i].First; c != 0 && !e.tick(1); c, k = e.d.Nodes[c].Next, k+1 {
		s, child := step{kind: stepItem, index: k}, n.Items
		if object {
			s, child = n.member(e.d.Key(c))
		}
		e.enter(s)
		e.walk(child, c, flag, check)
		e.leave()
	}
}

// add adds an error about node i at the current path. schema is the schema pointer.
func (e *checker) add(found violation.Step, i uint32, err *field.Error, schema string) {
	v := e.violation(found, i, err, nil, "")
	v.Schema = schema
	e.found = append(e.found, v)
}

// ExplainEmbedded returns the errors about apiVersion, kind and metadata of embedded resources, in document order. The
// object may be of any kind, and need not be coerced.
//
// Upstream: AE/apiserver/schema/objectmeta/validation.go, Validate, without the resource root.
func (p *Plan) ExplainEmbedded(d *tree.Doc, root uint32, at At) []violation.Violation {
	if !p.Structural {
		return nil
	}
	e := checker{walker: walker{d: d, at: at}}
	e.walk(p.Root, root, EmbeddedBelow, e.resource)
	return e.found
}

// resource validates an embedded resource. The structured path leads to the member at or above the error.
func (e *checker) resource(n *Node, i uint32) {
	if e.d.Nodes[i].Kind != tree.Object || n.Flags&Embedded == 0 {
		return
	}
	if limit := new(tree.LimitError); errors.As(metadata.Fits(e.d, e.d.Field(i, "metadata")), &limit) {
		e.at.Budget.Fail(limit)
		e.done = true
		return
	}
	at, schema := e.field(), e.pointer("x-kubernetes-embedded-resource")
	for _, err := range metadata.ValidateEmbedded(e.d, i, at) {
		if e.take(err, i, false); e.done {
			return
		}
		key := "metadata"
		for _, name := range [...]string{"apiVersion", "kind"} {
			if err.Field == at.Child(name).String() {
				key = name
			}
		}
		if err.Type == field.ErrorTypeRequired && key != "metadata" && !quirk.On(quirk.EmbeddedMetadata) {
			continue
		}
		node := e.d.Field(i, key)
		if node == 0 {
			node = i
		}
		e.enter(step{kind: stepProperty, name: key})
		e.add(violation.Embedded, node, err, schema)
		e.leave()
	}
}
