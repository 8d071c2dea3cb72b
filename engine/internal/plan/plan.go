package plan

// Plan is one version of one CRD, compiled. It is immutable and shared without locks; it must not be copied.
type Plan struct {
	// Root is the resource root; a version without a schema has a Root that declares nothing.
	Root *Node
	// ExplainOnly: Accept always doubts. True for schemas that are not structural or that say preserveUnknownFields, and
	// for the few whose property names collide with kube-openapi's markers in messages.
	ExplainOnly bool
	// Structural is false where upstream has no structural schema: pruning, defaults, embedded resources and list types do
	// not exist for it, only validation does.
	Structural bool
	// HasSchema is false if the version has no schema at all: upstream then prunes everything but apiVersion, kind and
	// metadata, and validates nothing.
	HasSchema bool

	// PreserveUnknown is spec.preserveUnknownFields: neither pruning nor dropping of nulls.
	PreserveUnknown bool
	// StatusSubresource: the version has a status subresource, so a create drops status.
	StatusSubresource bool

	defaults []byte // the text that default Fragments refer to: the Doc's source value.Defaults
	size     int64
}

// HasRules reports whether some value of an object may have rules to obey.
func (p *Plan) HasRules() bool { return p.Structural && p.Root.Flags&RulesBelow != 0 }

// Size is the heap that the plan retains, in bytes, patterns aside: these are interned process-wide (Patterns has their
// figure) and shared between plans.
func (p *Plan) Size() int64 { return p.size }

// DefaultsSource is the text behind the plan's default fragments; it must be the Doc's source value.Defaults while a
// fragment is grafted or printed.
func (p *Plan) DefaultsSource() []byte { return p.defaults }

// DefaultsStatus reports that a root without a status is given one by default.
func (p *Plan) DefaultsStatus() bool {
	slot, declared := p.Root.find(statusName)
	return declared && p.Root.Props[slot].Default != nil
}
