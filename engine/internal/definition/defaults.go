package definition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// checkDefaults checks that the defaults of a structural schema have no unknown fields and are valid, embedded metadata
// included. Defaults inside of metadata are judged within an object made for the purpose. Defaults of map values are
// not looked at. Rules that apply to a default run if nothing else is wrong with it. unprunedToo says whether defaults
// may have unknown fields after all; only one that has them asks.
//
// As in the reference, checking changes the schema: embedded metadata in a default loses what ObjectMeta has no place
// for.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, ValidateDefaults)
func checkDefaults(ctx context.Context, s *schema.Props, path *field.Path, room *violation.Room, memory *celcheck.Memory, unprunedToo func() bool) field.ErrorList {
	resource := *s
	resource.XEmbeddedResource = true // as which the root is treated
	compiled, err := plan.Compile(&resource, plan.Options{ForDefaults: true})
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	c := defaultCheck{ctx: ctx, d: value.Acquire(), room: room, memory: memory, unprunedToo: unprunedToo, stop: interrupt.On(room.Done()), budget: rule.Budget}
	c.node(&resource, compiled.Root, path, surroundings{})
	c.d.Release() // not by defer: after a panic it must not go back into the pool
	return c.errs
}

type defaultCheck struct {
	ctx  context.Context // of rules
	d    *value.Doc
	errs field.ErrorList
	room *violation.Room
	// memory is that of rules.
	memory *celcheck.Memory
	// unprunedToo is as in checkDefaults.
	unprunedToo func() bool
	stop        *interrupt.Signal
	// budget is what rules may still cost; below 0 nothing further is checked.
	budget int64
}

// surroundings is the resource, at the root or embedded, that a schema is part of.
type surroundings struct {
	resource *plan.Node
	// way leads from the resource to the schema: names of members, items for elements.
	way []string
	// meta is set inside of apiVersion, kind and metadata of the resource.
	meta bool
}

// items in a way stands for an element of a list; no member of an object on the way has this name, since it is not
// UTF-8.
const items = "\xff"

func (s surroundings) enter(name string) surroundings {
	s.way = append(s.way[:len(s.way):len(s.way)], name)
	return s
}

// node checks the default of s, for which n was compiled, and of everything below it.
func (c *defaultCheck) node(s *schema.Props, n *plan.Node, path *field.Path, in surroundings) {
	if c.budget < 0 || !c.room.Open() {
		return
	}
	if s.XEmbeddedResource {
		in = surroundings{resource: n}
	}
	if j := s.Default; j != nil && len(j.Raw) > 0 && string(j.Raw) != "null" {
		if in.meta {
			c.insideMeta(s, n, path.Child("default"), in)
		} else {
			c.outside(s, n, path.Child("default"))
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.node(s.Items.Schema, n.Items, path.Child("items"), in.enter(items))
	}
	var p schema.Props // one for all, which are large
	for _, name := range schema.Names(s.Properties) {
		p = s.Properties[name]
		below := in.enter(name)
		below.meta = in.meta || s.XEmbeddedResource && (name == "metadata" || name == "apiVersion" || name == "kind")
		c.node(&p, n.Child(name), path.Child("properties").Key(name), below)
	}
}

// outside checks a default that is not part of metadata.
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
	_, _ = compiled.Prune(c.d, root, false) // nothing is tracked, so nothing can be too long
	unknown := c.d.Nodes[root].Flags&value.Dirty != 0
	if unknown {
		if root, ok = c.parse(s.Default.Raw, path); !ok {
			return
		}
	}
	_, bad, _ := compiled.CoerceEmbedded(c.d, root, metadata.Options{Path: path}) // which has no bound where nothing is tracked
	if unknown && !c.unprunedToo() {
		// The reference's error refers to the very value that is coerced next, and is printed after that.
		c.errs = append(c.errs, field.Invalid(path, c.d.Any(root), "must not have unknown fields"))
	}
	if bad != nil {
		c.errs = append(c.errs, bad.Error)
		return
	}
	if c.d.Nodes[root].Flags&value.Dirty != 0 {
		// What the CRD holds, and what is stored of it, is what coercion makes of it.
		s.Default.Raw = c.d.AppendJSON(nil, root)
	}
	if bad := compiled.ExplainEmbedded(c.d, root, plan.At{Field: path, Room: c.room, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	if bad := compiled.Explain(c.d, root, plan.At{Field: path, Room: c.room, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	c.rules(s, root, path)
}

// insideMeta checks a default of apiVersion, kind or a part of metadata.
func (c *defaultCheck) insideMeta(s *schema.Props, n *plan.Node, path *field.Path, in surroundings) {
	object, ok := c.parse(surround(s.Default.Raw, in.way), path)
	if !ok {
		return
	}
	var invalid error
	resource := plan.Plan{Root: in.resource, Structural: true, HasSchema: true}
	if _, bad, _ := resource.CoerceEmbedded(c.d, object, metadata.Options{}); bad != nil {
		invalid = bad.Error
	} else {
		invalid = violation.Together(violation.Errors(resource.ExplainEmbedded(c.d, object, plan.At{Room: c.room, Stop: c.stop})))
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
	if bad := compiled.Explain(c.d, root, plan.At{Field: path, Room: c.room, Stop: c.stop}); len(bad) > 0 {
		c.errs = append(c.errs, violation.Errors(bad)...)
		return
	}
	c.rules(s, root, path)
}

// parse reads a default into the Doc, which loses what it held.
func (c *defaultCheck) parse(raw []byte, path *field.Path) (uint32, bool) {
	c.d.Reset()
	root, err := c.d.ParseJSON(raw, value.Limits{MaxBytes: len(raw)})
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, "", err.Error()))
		return 0, false
	}
	return root, true
}

// surround returns a resource whose part at the end of way is the given JSON. Like the reference's it has a kind and an
// apiVersion.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/surroundingobject.go)
func surround(raw []byte, way []string) []byte {
	more := ""
	if len(way) > 0 && way[0] != "kind" {
		more += `,"kind":"Validation"`
	}
	if len(way) > 0 && way[0] != "apiVersion" {
		more += `,"apiVersion":"validation/v1"`
	}
	return wrap(raw, way, more)
}

// wrap returns an object whose part at the end of way is the given JSON; more ends it.
func wrap(raw []byte, way []string, more string) []byte {
	var open, end strings.Builder
	closing := make([]string, 0, len(way))
	for i, name := range way {
		switch name {
		case items:
			open.WriteByte('[')
			closing = append(closing, "]")
		default:
			key, _ := json.Marshal(name) // a string has no error
			open.WriteByte('{')
			open.Write(key)
			open.WriteByte(':')
			if i == 0 {
				closing = append(closing, more+"}")
			} else {
				closing = append(closing, "}")
			}
		}
	}
	for _, text := range slices.Backward(closing) {
		end.WriteString(text)
	}
	return slices.Concat([]byte(open.String()), raw, []byte(end.String()))
}

// standalone returns the node of a schema as it is when nothing surrounds it. What a node keeps while pruning can
// depend on the nodes above it, and a default is pruned by its own schema only.
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
