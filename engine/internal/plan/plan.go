// Package plan compiles the schema of one CRD version to a Plan and evaluates objects with it.
//
// A Plan is a tree of immutable, shared Nodes. Three walks read it, all over tree.Doc:
//
//   - accept shapes (prunes, drops nulls, fills in defaults) and validates in one pass. It answers "valid" or "doubt",
//     builds no paths and no errors, and allocates nothing.
//   - shape makes the same changes step by step in upstream's order, and can report them.
//   - explain follows kube-openapi's validators over a shaped tree and returns upstream's errors.
//
// Accept answers "valid" exactly when shape and explain find no error.
//
// Accept and shape share how a change is made and recorded, and what becomes of a null and of a member without a
// schema (change.go). Only the walks differ. The walk of accept cannot replace the steps, because callers use Prune and
// Default as single steps and report each step, and tests switch off parts of a step. The steps cannot replace the
// walk, because they take 1.1 to 1.8 times as long for the objects of BenchmarkShape.
//
// Other packages know the order of a write (admission), ObjectMeta (metadata), and the constraints on a CRD's own
// schema (schema).
//
// Comments abbreviate k8s.io/apiextensions-apiserver/pkg as AE and k8s.io/kube-openapi/pkg/validation as KO.
//
// Read node.go first.
package plan

// Plan is the compiled schema of one version of one CRD. It is immutable and safe for concurrent use. It must not be
// copied.
type Plan struct {
	// Root is the resource root. Without a schema it declares nothing.
	Root *Node
	// ExplainOnly says that Accept always doubts: for schemas that are not structural or have preserveUnknownFields,
	// and for property names that collide with kube-openapi's markers in messages.
	ExplainOnly bool
	// Structural is false if upstream has no structural schema. Then it validates, but does not prune, default or check
	// embedded resources and list types.
	Structural bool
	// HasSchema is false for a version without a schema. Upstream then prunes everything but apiVersion, kind and
	// metadata, and validates nothing.
	HasSchema bool

	// StatusSubresource says that the version has a status subresource, so that a creation drops status.
	StatusSubresource bool

	marked   bool   // the root has a property whose name begins with importantMark
	defaults []byte // the text that default Fragments refer to: the Doc's source value.Defaults
	size     int64
}

// HasRules reports whether the schema has rules.
func (p *Plan) HasRules() bool { return p.Structural && p.Root.Flags&RulesBelow != 0 }

// Size returns the heap that the plan retains, in bytes, without patterns, which plans share.
func (p *Plan) Size() int64 { return p.size }

// DefaultsStatus reports whether the status has a default.
func (p *Plan) DefaultsStatus() bool {
	slot, declared := p.Root.find(statusName)
	return declared && p.Root.Props[slot].Default != nil
}
