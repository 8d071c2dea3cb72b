package plan

import (
	"context"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Options are the options of Compile.
type Options struct {
	// PreserveUnknown is spec.preserveUnknownFields. Such plans never accept.
	PreserveUnknown bool
	// StatusSubresource is set for a version with spec.versions[].subresources.status.
	StatusSubresource bool
	// KubernetesMinor is the Kubernetes 1.x version whose formats are known. 0 is the latest.
	KubernetesMinor int
	// Rules selects the rules to compile.
	Rules Rules
	// ForDefaults compiles the schema as upstream uses it to check defaults at registration (Structural.ToKubeOpenAPI):
	// formats are not stripped, int-or-string has no type, and logical operators have no additionalProperties. Such
	// plans never accept.
	ForDefaults bool
	// Context aborts Compile with its error, since rules may take seconds. It may be nil.
	Context context.Context
	// Shared holds what the compilations of one CRD have in common. It may be nil.
	Shared *celcheck.Shared
}

// Rules selects which x-kubernetes-validations Compile compiles.
type Rules uint8

// The values of Rules.
const (
	WithoutRules    Rules = iota
	RulesOfResource       // the schema is a resource: apiVersion, kind and names are declared at its root
	RulesOfField          // the schema is a field
)

// Compile compiles the schema of one CRD version. Nil stands for a version without a schema. Registration must have
// accepted the schema, or it is that of a stored CRD that is not structural (see Plan.ExplainOnly). Compile does not
// retain or change it. The error is about a default or an enum value that is not JSON, or a *value.LimitError, or that
// of the context.
func Compile(s *apiextensionsv1.JSONSchemaProps, o Options) (*Plan, error) {
	if o.KubernetesMinor == 0 {
		o.KubernetesMinor = format.LatestMinor
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Shared == nil {
		o.Shared = celcheck.NewShared()
	}
	p := &Plan{HasSchema: s != nil, StatusSubresource: o.StatusSubresource}
	c := compiler{o: o, seen: make(map[string]*Node, 64), sets: map[*rule.Set]struct{}{}, clone: strings.Clone}
	c.shared.Texts = make(map[string]string, 64)
	if s == nil {
		s = &apiextensionsv1.JSONSchemaProps{}
	}
	if root := c.rootScope(s); root != nil {
		c.scopes, c.clone = append(c.scopes, scopeStep{scope: root, known: true}), o.Shared.Text
	}
	p.Root = c.node(s, Root, nil)
	if c.err != nil {
		return nil, c.err
	}
	rule.Retain(&c.shared, maps.Keys(c.sets))
	if err := c.finishDefaults(p); err != nil {
		return nil, err
	}
	p.Structural, p.marked = p.HasSchema && !c.unsupported, p.Root.marked()
	p.ExplainOnly = o.PreserveUnknown || o.ForDefaults || c.unsupported || c.unique || p.marked
	p.size = c.size + c.shared.Size + planSize + int64(cap(p.defaults))
	return p, nil
}

// compiler is the state of one Compile.
type compiler struct {
	o     Options
	seen  map[string]*Node // nodes by their keys, see appendKey
	keys  []byte           // memory for keys
	names []string         // stacks: names and nodes of the properties above the current node
	props []*Node
	// path from the enclosing resource to the current schema if it is part of its metadata, else nil
	inMeta  []string
	pending []*Node // nodes with a default, children before parents
	budget  budget  // for defaults within other defaults
	err     error
	unique  bool // uniqueItems, which no CRD may have
	size    int64
	shared  closure.Retention // texts and types, which are counted once
	clone   func(string) string
	guess   uint16 // of the next node

	unsupported bool // a keyword that structural schemas cannot have

	sets   map[*rule.Set]struct{}
	scopes []scopeStep // from the root to the current node; empty without rules
}

func isMeta(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// node compiles s. position (Root, KeepAll, KeepUnknown or Logical) is the position of the node. spine is the node
// whose slots a schema below a logical operator uses, or nil.
func (c *compiler) node(s *apiextensionsv1.JSONSchemaProps, position Flags, spine *Node) *Node {
	if c.inMeta != nil {
		s = c.defaultInMeta(s)
	}
	n := Node{Flags: position | c.flags(s), Type: s.Type, details: &noDetails}
	if n.Flags&(Preserve|Logical) == Preserve {
		n.Flags |= KeepUnknown
	}

	mark := len(c.names)
	for k := range s.Properties {
		c.names = append(c.names, k)
	}
	slices.Sort(c.names[mark:])
	end := len(c.names)
	var p apiextensionsv1.JSONSchemaProps // declared here to allocate it once
	for i := mark; i < end; i++ {
		name := c.names[i]
		p = s.Properties[name]
		if n.Flags&(Root|Embedded) != 0 {
			c.defaultOfType(&p, name)
		}
		c.props = append(c.props, c.child(&n, name, &p, n.childPosition(name), (*celcheck.Scope).Property, spine.Child(name)))
	}
	props := len(c.props) - (end - mark)

	if s.Items != nil && s.Items.Schema != nil {
		position := n.Flags & (KeepAll | KeepUnknown | Logical)
		n.Items = c.child(&n, AnyElement, s.Items.Schema, position, itemsScope, spine.items())
	}
	if a := s.AdditionalProperties; a != nil && (!c.o.ForDefaults || n.Flags&Logical == 0) {
		switch {
		case a.Schema != nil:
			n.Additional = c.child(&n, "*", a.Schema, n.Flags&(KeepAll|Logical), additionalScope, spine.additional())
		case a.Allows:
			n.Flags |= AdditionalTrue
		default:
			n.Flags |= AdditionalFalse
		}
	}
	n.Rules = c.rules(s, &n)
	if n.Rules != nil {
		n.Flags |= RulesBelow
	}
	// Logical operators use the slots of the nearest spine node.
	n.Names, n.Props = c.names[mark:end], c.props[props:]
	over := spine
	if n.Flags&Logical == 0 {
		over = &n
	}
	v := c.validation(s, &n, over)
	made := c.intern(s, &n, v, over)
	c.names, c.props = c.names[:mark], c.props[:props]
	return made
}

// child compiles a schema directly below n.
func (c *compiler) child(n *Node, name string, s *schema.Props, position Flags, scope scopeBelow, spine *Node) *Node {
	before := c.enterMeta(n, name)
	if len(c.scopes) > 0 {
		c.scopes = append(c.scopes, scopeStep{name: name, below: scope})
	}
	child := c.node(s, position, spine)
	c.scopes = c.scopes[:max(0, len(c.scopes)-1)]
	c.inMeta = before
	n.Flags |= child.Flags & below
	return child
}

// below are the flags that a node inherits from the nodes below it.
const below = DefaultsBelow | EmbeddedBelow | ListTypesBelow | RulesBelow

// childPosition returns the position of a declared property of n. Declared properties below
// x-kubernetes-preserve-unknown-fields are pruned; apiVersion, kind and metadata of a resource are not.
func (n *Node) childPosition(name string) Flags {
	p := n.Flags & (KeepAll | Logical)
	if n.Flags&(Root|Embedded) != 0 && n.Flags&Logical == 0 && isMeta(name) {
		p |= KeepAll
	}
	return p
}

func (n *Node) items() *Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func (n *Node) additional() *Node {
	if n == nil {
		return nil
	}
	return n.Additional
}

func (c *compiler) flags(s *apiextensionsv1.JSONSchemaProps) (f Flags) {
	set := func(on bool, bit Flags) {
		if on {
			f |= bit
		}
	}
	set(s.Nullable, Nullable)
	set(s.XIntOrString && !c.o.ForDefaults, IntOrString)
	set(s.XEmbeddedResource, Embedded|EmbeddedBelow)
	set(s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields, Preserve)
	if t := s.XListType; t != nil {
		set(*t == "set", ListSet|ListTypesBelow)
		set(*t == "map", ListMap|ListTypesBelow)
	}
	set(schema.HasValue(s.Default), DefaultsBelow)
	c.unique, c.unsupported = c.unique || s.UniqueItems, c.unsupported || schema.SaysUnsupported(s)
	return f
}

// marked reports whether texts of errors can begin with importantMark: with the name of a property at an empty path.
func (n *Node) marked() bool {
	for i, name := range n.Names {
		if strings.HasPrefix(name, importantMark) || name == "" && n.Props[i].marked() {
			return true
		}
	}
	return false
}

// text returns a copy of a text. Rules share it.
func (c *compiler) text(s string) string {
	if t, known := c.shared.Texts[s]; known {
		return t
	}
	s = c.clone(s)
	c.shared.Text(s)
	return s
}

// fail records the first error. Nil is ignored.
func (c *compiler) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// rootScope returns the scope of the schema's root, or nil if there are no rules to compile.
func (c *compiler) rootScope(s *schema.Props) *celcheck.Scope {
	switch {
	case c.o.Rules == RulesOfField && schema.HasRules(s):
		return c.o.Shared.Field(s)
	case c.o.Rules == RulesOfResource && c.o.Shared.Survey.Of(s).Rules:
		return c.o.Shared.Root(s)
	}
	return nil
}

// scopeStep leads from the scope of a node to that of a node below it. Few nodes have rules, and others need no scope.
type scopeStep struct {
	name  string
	below scopeBelow
	scope *celcheck.Scope // if known; nil if no rules run there
	known bool
}

// scopeBelow returns the scope of a property, of items or of additional properties.
type scopeBelow func(s *celcheck.Scope, name string) *celcheck.Scope

func itemsScope(s *celcheck.Scope, _ string) *celcheck.Scope      { return s.Items() }
func additionalScope(s *celcheck.Scope, _ string) *celcheck.Scope { return s.Additional() }

// scopeOf returns the scope after a step.
func (c *compiler) scopeOf(step int) *celcheck.Scope {
	s := &c.scopes[step]
	if !s.known {
		s.scope, s.known = s.below(c.scopeOf(step-1), s.name), true
	}
	return s.scope
}

// rules compiles the rules of a node. Equal sets of a version are one set.
func (c *compiler) rules(s *schema.Props, n *Node) *rule.Set {
	if len(s.XValidations) == 0 || n.Flags&Logical != 0 || len(c.scopes) == 0 || c.err != nil {
		return nil
	}
	scope := c.scopeOf(len(c.scopes) - 1)
	if scope == nil {
		return nil
	}
	set, err := rule.Compile(c.o.Context, scope, s.XValidations)
	if err != nil {
		c.err = err
		return nil
	}
	c.sets[set] = struct{}{}
	return set
}
