package plan

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// ExplainEmbedded returns the errors about apiVersion, kind and metadata of embedded resources, in document order. The
// object may be of any kind, and need not be coerced.
//
// Upstream: AE/apiserver/schema/objectmeta/validation.go, Validate, without the resource root.
func (p *Plan) ExplainEmbedded(d *value.Doc, root uint32, at At) []violation.Violation {
	if !p.Structural || p.Root.Flags&EmbeddedBelow == 0 {
		return nil
	}
	e := embeddedExplainer{walker: walker{d: d, at: at}}
	e.judge(p.Root, root)
	return e.found
}

type embeddedExplainer struct {
	walker
	found []violation.Violation
}

func (e *embeddedExplainer) judge(n *Node, i uint32) {
	if n == nil || n.Flags&EmbeddedBelow == 0 {
		return
	}
	if e.d.Nodes[i].Kind == value.Object && n.Flags&Embedded != 0 {
		e.resource(i)
	}
	e.below(n, i, e.judge)
}

// resource validates an object as a resource. The structured path leads to the member at or above the error.
func (e *embeddedExplainer) resource(i uint32) {
	if limit := new(value.LimitError); errors.As(metadata.Fits(e.d, e.d.Field(i, "metadata")), &limit) {
		e.at.Room.Fail(limit)
		e.done = true
		return
	}
	at := e.field()
	schema := e.pointer(e.steps, "x-kubernetes-embedded-resource")
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
		v := e.violation(violation.Embedded, node, err, nil, "")
		e.leave()
		v.Schema = schema
		e.found = append(e.found, v)
	}
}
