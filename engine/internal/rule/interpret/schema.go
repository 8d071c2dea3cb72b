package interpret

import (
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
)

// polled wraps the schema of a value so that accesses to its elements and members poll: upstream's values consult their
// schema whenever they convert one (k8s.io/apiserver pkg/cel/common, UnstructuredToVal).
func (e *Evaluation) polled(s common.Schema) common.Schema {
	if s == nil {
		return nil
	}
	return &polledSchema{Schema: s, e: e}
}

// polledSchema polls on each access. It wraps the schemas below once for each evaluation.
type polledSchema struct {
	common.Schema
	e          *Evaluation
	prepared   bool
	items      common.Schema
	properties map[string]common.Schema
	additional common.SchemaOrBool
}

func (p *polledSchema) prepare() {
	if p.prepared {
		return
	}
	p.prepared = true
	if items := p.Schema.Items(); items != nil {
		p.items = p.e.polled(items)
	}
	if properties := p.Schema.Properties(); properties != nil {
		p.properties = make(map[string]common.Schema, len(properties))
		for name, s := range properties {
			p.properties[name] = p.e.polled(s)
		}
	}
	if a := p.Schema.AdditionalProperties(); a != nil {
		p.additional = celcheck.SchemaOrBool{Values: p.e.polled(a.Schema()), Allowed: a.Allows()}
	}
}

// IsXIntOrString is the first access for a value that is not null.
func (p *polledSchema) IsXIntOrString() bool {
	p.e.poll()
	return p.Schema.IsXIntOrString()
}

func (p *polledSchema) Nullable() bool {
	p.e.poll()
	return p.Schema.Nullable()
}

func (p *polledSchema) Items() common.Schema {
	p.prepare()
	return p.items
}

// Properties is accessed for each member.
func (p *polledSchema) Properties() map[string]common.Schema {
	p.e.poll()
	p.prepare()
	return p.properties
}

func (p *polledSchema) AdditionalProperties() common.SchemaOrBool {
	p.e.poll()
	p.prepare()
	return p.additional
}

// WithTypeAndObjectMeta returns the schema itself, as celcheck.SchemaOf does.
func (p *polledSchema) WithTypeAndObjectMeta() common.Schema { return p }
