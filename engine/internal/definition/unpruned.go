package definition

import (
	"reflect"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// hasUnprunedDefaults reports whether a default of a structural schema has unknown fields, including in metadata. It
// ignores schemas that are not structural or have a default that no object can contain.
// (validation.go, requirePrunedDefaults; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go,
// PruneDefaults)
func (s *spec) hasUnprunedDefaults() bool {
	return quirk.On(quirk.RatchetUnprunedDefaults) && slices.ContainsFunc(s.schemas(), func(p *schema.Props) bool {
		return schema.HasDefaults(p) && schema.IsStructural(p) && hasUnpruned(p)
	})
}

func hasUnpruned(s *schema.Props) bool {
	resource := *s
	resource.XEmbeddedResource = true // upstream treats the root as an embedded resource
	compiled, err := plan.Compile(&resource, plan.Options{ForDefaults: true})
	if err != nil {
		return false
	}
	c := pruneCheck{d: tree.Acquire(), plan: compiled}
	c.node(s, nil)
	c.d.Release() // not deferred: after a panic the Doc must not be reused
	return c.found && !c.impossible
}

// pruneCheck prunes each default within an object that has no other fields.
type pruneCheck struct {
	d    *tree.Doc
	plan *plan.Plan
	// found is set if pruning changed a default. impossible is set if no object can contain some default.
	found, impossible bool
}

// anyKey represents the keys of a map.
const anyKey = "*"

// node checks the default of s and all defaults below it. path is the path from the root.
func (c *pruneCheck) node(s *schema.Props, path []string) {
	if c.impossible {
		return
	}
	enter := func(name string) []string { return append(path[:len(path):len(path)], name) }
	if schema.HasValue(s.Default) {
		c.prune(s.Default.Raw, path)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		c.node(a.Schema, enter(anyKey))
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.node(s.Items.Schema, enter(plan.AnyElement))
	}
	for _, name := range schema.Names(s.Properties) {
		p := s.Properties[name]
		c.node(&p, enter(name))
	}
}

// prune checks whether coercion of metadata and pruning change a default.
func (c *pruneCheck) prune(raw []byte, path []string) {
	c.d.Reset()
	root, err := c.d.ParseJSON(plan.Wrap(raw, path, ""), tree.Limits{MaxBytes: len(raw) + 1<<20})
	if err != nil || c.d.Nodes[root].Kind != tree.Object {
		c.impossible = true
		return
	}
	before := plan.Follow(c.d, root, path)
	if before == 0 {
		c.impossible = true
		return
	}
	was := c.d.Any(before)
	_, _, _ = c.plan.CoerceEmbedded(c.d, root, metadata.Options{Lenient: true}) // lenient: no errors
	_, _ = c.plan.Prune(c.d, root, false)                                       // has no error without tracking
	after := plan.Follow(c.d, root, path)
	c.found = c.found || after == 0 || !reflect.DeepEqual(was, c.d.Any(after))
}
