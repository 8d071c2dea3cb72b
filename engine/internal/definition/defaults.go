package definition

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// checkDefaults checks that the defaults of a structural schema are valid and have no unknown fields. It checks a
// default inside metadata within a generated object, and does not check defaults of map values. Rules run only if a
// default has no other errors. unprunedToo reports whether unknown fields are allowed; it is called only if a default
// has some.
//
// As in upstream, the check changes the schema: it removes unknown fields from embedded metadata in defaults.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, ValidateDefaults)
func checkDefaults(ctx context.Context, s *schema.Props, path *field.Path, budget *violation.Budget, shared *celcheck.Shared, unprunedToo func() bool) field.ErrorList {
	resource := *s
	resource.XEmbeddedResource = true // upstream treats the root as an embedded resource
	compiled, err := plan.Compile(&resource, plan.Options{ForDefaults: true})
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	c := defaultCheck{ctx: ctx, d: tree.Acquire(), budget: budget, shared: shared, unprunedToo: unprunedToo, stop: budget.Signal(), left: rule.CostBudget}
	c.node(&resource, compiled.Root, path, surroundings{})
	c.d.Release() // not deferred: after a panic the Doc must not be reused
	return c.errs
}

type defaultCheck struct {
	ctx    context.Context // for rules
	d      *tree.Doc
	errs   field.ErrorList
	budget *violation.Budget
	// shared has compiled rules and their types.
	shared *celcheck.Shared
	// unprunedToo is described at checkDefaults.
	unprunedToo func() bool
	stop        *interrupt.Signal
	// left is the remaining cost budget of rules. If it is negative, checking stops.
	left int64
}

// surroundings is the resource, at the root or embedded, that contains a schema.
type surroundings struct {
	resource *plan.Node
	// path leads from the resource to the schema: property names, and plan.AnyElement.
	path []string
	// meta is set inside apiVersion, kind and metadata of the resource.
	meta bool
}

func (s surroundings) enter(name string) surroundings {
	s.path = append(s.path[:len(s.path):len(s.path)], name)
	return s
}

// node checks the default of s and all defaults below it. n is the plan of s.
func (c *defaultCheck) node(s *schema.Props, n *plan.Node, path *field.Path, in surroundings) {
	if c.left < 0 || !c.budget.Open() || n.Flags&plan.DefaultsBelow == 0 {
		return
	}
	if s.XEmbeddedResource {
		in = surroundings{resource: n}
	}
	if schema.HasValue(s.Default) {
		if in.meta {
			c.insideMeta(s, n, path.Child("default"), in)
		} else {
			c.outside(s, n, path.Child("default"))
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.node(s.Items.Schema, n.Items, path.Child("items"), in.enter(plan.AnyElement))
	}
	var p schema.Props // reused because Props is large
	for _, name := range schema.Names(s.Properties) {
		p = s.Properties[name]
		below := in.enter(name)
		below.meta = in.meta || s.XEmbeddedResource && (name == "metadata" || name == "apiVersion" || name == "kind")
		c.node(&p, n.Child(name), path.Child("properties").Key(name), below)
	}
}

// outside checks a default outside metadata.
func (c *defaultCheck) outside(s *schema.Props, n *plan.Node, path *field.Path) {
	n, err := standalone(s, n)
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, "", err.Error()))
		return
	}
	compiled := plan.Plan{Root: n, Structural: true, HasSchema: true}
	root, ok := c.parse(s.Default.Raw, path)
	if !ok {
		return
	}
	_, _ = compiled.Prune(c.d, root, false) // has no error without tracking
	unknown := c.d.Nodes[root].Flags&tree.Dirty != 0
	if unknown {
		if root, ok = c.parse(s.Default.Raw, path); !ok {
			return
		}
	}
	_, bad, _ := compiled.CoerceEmbedded(c.d, root, metadata.Options{Path: path}) // has no error without tracking
	if unknown && !c.unprunedToo() {
		// As in upstream, the error shows the value after coercion.
		c.errs = append(c.errs, field.Invalid(path, c.d.Any(root), "must not have unknown fields"))
	}
	if bad != nil {
		c.errs = append(c.errs, bad.Error)
		return
	}
	if c.d.Nodes[root].Flags&tree.Dirty != 0 {
		// Store the coerced value in the CRD, as upstream does.
		s.Default.Raw = c.d.AppendJSON(nil, root)
	}
	if bad := compiled.ExplainEmbedded(c.d, root, plan.At{Field: path, Budget: c.budget, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	if bad := compiled.Explain(c.d, root, plan.At{Field: path, Budget: c.budget, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	c.rules(s, root, path)
}

// insideMeta checks a default of apiVersion, kind or a part of metadata.
func (c *defaultCheck) insideMeta(s *schema.Props, n *plan.Node, path *field.Path, in surroundings) {
	object, ok := c.parse(surround(s.Default.Raw, in.path), path)
	if !ok {
		return
	}
	var invalid error
	resource := plan.Plan{Root: in.resource, Structural: true, HasSchema: true}
	if _, bad, _ := resource.CoerceEmbedded(c.d, object, metadata.Options{}); bad != nil {
		invalid = bad.Error
	} else {
		invalid = violation.Together(violation.Errors(resource.ExplainEmbedded(c.d, object, plan.At{Budget: c.budget, Stop: c.stop})))
	}
	root, ok := c.parse(s.Default.Raw, path)
	if !ok {
		return
	}
	if invalid != nil {
		c.errs = append(c.errs, field.Invalid(path, c.d.Any(root), fmt.Sprintf("must result in valid metadata: %v", invalid)))
		return
	}
	compiled := plan.Plan{Root: n, Structural: true, HasSchema: true}
	if bad := compiled.Explain(c.d, root, plan.At{Field: path, Budget: c.budget, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	c.rules(s, root, path)
}

// parse resets the Doc and parses a default into it.
func (c *defaultCheck) parse(raw []byte, path *field.Path) (uint32, bool) {
	c.d.Reset()
	root, err := c.d.ParseJSON(raw, tree.Limits{MaxBytes: len(raw)})
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, "", err.Error()))
		return 0, false
	}
	return root, true
}

// surround returns a resource with the given JSON at the end of path. As in upstream, it sets kind and apiVersion.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/surroundingobject.go)
func surround(raw []byte, path []string) []byte {
	more := ""
	if len(path) > 0 && path[0] != "kind" {
		more += `,"kind":"Validation"`
	}
	if len(path) > 0 && path[0] != "apiVersion" {
		more += `,"apiVersion":"validation/v1"`
	}
	return plan.Wrap(raw, path, more)
}

// standalone returns the node of a schema without the influence of its parents. Pruning can depend on parent nodes, but
// a default is pruned by its own schema only.
func standalone(s *schema.Props, n *plan.Node) (*plan.Node, error) {
	if n.Flags&plan.KeepAll == 0 && (n.Flags&plan.KeepUnknown == 0 || n.Has(plan.Preserve)) {
		return n, nil
	}
	compiled, err := plan.Compile(&schema.Props{
		Type:       "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"default": *s},
	}, plan.Options{ForDefaults: true})
	if err != nil {
		return nil, err
	}
	return compiled.Root.Child("default"), nil
}

// rules evaluates the rules of s for a default without other errors. They run twice: as an update that keeps the
// default, then, if they pass, as a creation. All defaults of a schema share one cost budget. The more expensive run is
// charged.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, validate)
func (c *defaultCheck) rules(s *schema.Props, root uint32, path *field.Path) {
	if !schema.HasRules(s) {
		return
	}
	compiled, err := plan.Compile(s, plan.Options{ForDefaults: true, Rules: plan.RulesOfField, Context: c.ctx, Shared: c.shared})
	if c.ctx.Err() != nil {
		return // the caller checks the context
	}
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, "", err.Error()))
		return
	}
	compiled.FillSlots(c.d, root)
	pairs := new(plan.Pairs)
	pairs.Init(c.d, c.stop)
	found, left := c.run(compiled, root, plan.Update{Old: root, Pairs: pairs}, path)
	if len(found) == 0 {
		var asNew int64
		found, asNew = c.run(compiled, root, plan.Update{}, path)
		left = min(left, asNew)
	}
	c.errs = append(c.errs, violation.Errors(found)...)
	c.left = left
}

func (c *defaultCheck) run(compiled *plan.Plan, root uint32, u plan.Update, path *field.Path) (found []violation.Violation, left int64) {
	r := rule.Start(c.d)
	defer r.Close()
	r.Context, r.Stop, r.Budget, r.Left = c.ctx, c.stop, c.budget, c.left
	compiled.Rules(r, root, u, plan.At{Field: path, Budget: c.budget, Stop: c.stop})
	return r.Found, r.Left
}
