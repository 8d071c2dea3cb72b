package sample

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// node is a schema prepared for generation. Its parts are prepared when they are first needed.
type node struct {
	*schema.Props
	root     bool
	names    []string // of the properties, sorted
	children map[string]*node
	items    *node
	values   *node
	patterns []*expression
	format   format.ID
	hints    []*Hint // for the value itself
	scope    *scope  // for what is below
	// forbidden are properties that not and oneOf rule out.
	forbidden []string
	choices   map[string]*node
}

// newNode prepares a schema. around is the scope around it. hints are those of the value, besides those of its rules.
func newNode(s *schema.Props, around *scope, hints []*Hint) *node {
	n := &node{Props: s, names: schema.Names(s.Properties), format: format.Lookup(s.Format)}
	if s.Pattern != "" {
		n.patterns = []*expression{newExpression(s.Pattern)}
	}
	var own []*Hint
	for _, rule := range s.XValidations {
		h := around.hint(rule.Rule)
		if h.pattern != "" && strings.HasPrefix(rule.Rule, "self.matches(") && !strings.Contains(rule.Rule, "||") {
			n.patterns = append(n.patterns, newExpression(h.pattern))
		}
		if !h.isEmpty() {
			own = append(own, h)
		}
	}
	n.hints, n.scope = slices.Concat(own, hints), around.with(own)
	return n
}

// property returns the schema of a declared property, or nil.
func (n *node) property(name string) *node {
	if c, ok := n.children[name]; ok {
		return c
	}
	if _, ok := n.Properties[name]; !ok {
		return nil // before p, which escapes to the heap
	}
	p := n.Properties[name]
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c := newNode(&p, n.scope, n.scope.find(name))
	n.children[name] = c
	return c
}

// member returns the schema of a member, or nil if the schema does not say what it is.
func (n *node) member(name string) *node {
	if c := n.property(name); c != nil {
		return c
	}
	if s := schema.ValueSchema(n.Props); s != nil {
		if n.values == nil {
			n.values = newNode(s, n.scope, n.hints)
		}
		return n.values
	}
	return nil
}

// element returns the schema of the elements of a list, or nil.
func (n *node) element() *node {
	if s := schema.Items(n.Props); s != nil && n.items == nil {
		n.items = newNode(s, n.scope, n.hints)
	}
	return n.items
}

// at returns the schema of a step from a value with the schema n, which may be nil.
func (n *node) at(s tree.Segment) *node {
	switch {
	case n == nil:
		return nil
	case s.IsIndex():
		return n.element()
	}
	return n.member(s.Key())
}

// isMapList reports whether the schema is that of a list of type map.
func (n *node) isMapList() bool { return n != nil && n.XListType != nil && *n.XListType == "map" }

// isSet reports whether the elements must be unique.
func (n *node) isSet() bool {
	return n != nil && (n.XListType != nil && *n.XListType == "set" || n.UniqueItems)
}

// intOrString reports whether the value is an integer or a string.
func (n *node) intOrString() bool { return n.XIntOrString }

// open reports whether the object can have members that the schema does not declare.
func (n *node) open() bool {
	a := n.AdditionalProperties
	return schema.Preserves(n.Props) || a != nil && a.Schema == nil && a.Allows
}

// choose returns the schema with one clause of each anyOf and oneOf, and all of allOf, merged into it.
func (n *node) choose(r Random) *node {
	if n.Not == nil && len(n.AllOf)+len(n.AnyOf)+len(n.OneOf) == 0 {
		return n
	}
	var m merger
	m.collect(r, n.Props, 0)
	if known, ok := n.choices[m.key]; ok {
		return known
	}
	c := m.merge(n)
	if n.choices == nil {
		n.choices = map[string]*node{}
	}
	if len(n.choices) < mostChoices {
		n.choices[m.key] = c
	}
	return c
}

// mostChoices bounds the remembered choices of a schema.
const mostChoices = 64

// merger merges clauses of logical operators into a schema.
type merger struct {
	key       string // identifies the choices
	clauses   []*schema.Props
	forbidden []string
}

// collect collects the clauses that are chosen below a schema.
func (m *merger) collect(r Random, s *schema.Props, depth int) {
	if depth > 4 {
		return
	}
	for i := range s.AllOf {
		m.clause(r, &s.AllOf[i], depth)
	}
	if len(s.AnyOf) > 0 {
		m.clause(r, &s.AnyOf[m.choice(r, len(s.AnyOf))], depth)
	}
	if len(s.OneOf) > 0 {
		k := m.choice(r, len(s.OneOf))
		m.clause(r, &s.OneOf[k], depth)
		for i := range s.OneOf {
			if i != k {
				m.forbid(r, &s.OneOf[i], s.OneOf[k].Required)
			}
		}
	}
	switch {
	case s.Not == nil:
	case s.Not.Not != nil:
		m.clause(r, s.Not.Not, depth)
	default:
		m.forbid(r, s.Not, nil)
	}
}

func (m *merger) choice(r Random, n int) int {
	k := r.IntN(n)
	m.key += fmt.Sprint(k, ",")
	return k
}

func (m *merger) clause(r Random, s *schema.Props, depth int) {
	m.clauses = append(m.clauses, s)
	m.collect(r, s, depth+1)
}

// forbid forbids one required property of a clause that must not hold, except for the properties in keep.
func (m *merger) forbid(r Random, s *schema.Props, keep []string) {
	for i := range s.AnyOf {
		m.forbid(r, &s.AnyOf[i], keep)
	}
	var names []string
	for _, name := range s.Required {
		if !slices.Contains(keep, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		m.forbidden = append(m.forbidden, names[m.choice(r, len(names))])
	}
}

// merge returns n with the clauses.
func (m *merger) merge(n *node) *node {
	s := *n.Props
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	var patterns []*expression
	for _, c := range m.clauses {
		if c.Pattern != "" {
			patterns = append(patterns, newExpression(c.Pattern))
		}
		constrain(&s, c)
	}
	out := &node{
		Props: &s, root: n.root, names: schema.Names(s.Properties), format: format.Lookup(s.Format),
		patterns: append(slices.Clone(n.patterns), patterns...), hints: n.hints, scope: n.scope, forbidden: m.forbidden,
	}
	for _, c := range m.clauses {
		if s.XIntOrString && c.Type != "" {
			s.XIntOrString, s.Type = false, c.Type
		}
	}
	return out
}

// constrain adds the constraints of a clause to a schema.
func constrain(s, c *schema.Props) {
	tighter(&s.Minimum, c.Minimum, func(a, b float64) bool { return a > b })
	tighter(&s.Maximum, c.Maximum, func(a, b float64) bool { return a < b })
	more, less := func(a, b int64) bool { return a > b }, func(a, b int64) bool { return a < b }
	tighter(&s.MinLength, c.MinLength, more)
	tighter(&s.MaxLength, c.MaxLength, less)
	tighter(&s.MinItems, c.MinItems, more)
	tighter(&s.MaxItems, c.MaxItems, less)
	tighter(&s.MinProperties, c.MinProperties, more)
	tighter(&s.MaxProperties, c.MaxProperties, less)
	s.ExclusiveMinimum = s.ExclusiveMinimum || c.ExclusiveMinimum
	s.ExclusiveMaximum = s.ExclusiveMaximum || c.ExclusiveMaximum
	if c.MultipleOf != nil {
		s.MultipleOf = c.MultipleOf
	}
	if c.Format != "" {
		s.Format = c.Format
	}
	if len(c.Enum) > 0 {
		s.Enum = c.Enum // a clause usually selects from the values
	}
	s.Required = append(slices.Clip(s.Required), c.Required...)
	if len(c.Properties) > 0 {
		own := s.Properties
		s.Properties = make(map[string]schema.Props, len(own))
		for name, p := range own {
			s.Properties[name] = p
		}
		for name, p := range c.Properties {
			s.Properties[name] = within(own[name], p)
		}
	}
	if items := schema.Items(c); items != nil && schema.Items(s) != nil {
		list, merged := *s.Items, within(*s.Items.Schema, *items)
		list.Schema = &merged
		s.Items = &list
	}
	if v := schema.ValueSchema(c); v != nil && schema.ValueSchema(s) != nil {
		both, merged := *s.AdditionalProperties, within(*s.AdditionalProperties.Schema, *v)
		both.Schema = &merged
		s.AdditionalProperties = &both
	}
}

// within returns a schema with a further clause of allOf, whose own operators are chosen from later.
func within(s, clause schema.Props) schema.Props {
	s.AllOf = append(slices.Clip(s.AllOf), clause)
	return s
}

func tighter[T any](to **T, from *T, better func(a, b T) bool) {
	if from != nil && (*to == nil || better(*from, **to)) {
		*to = from
	}
}
