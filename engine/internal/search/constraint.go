package search

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Unknown is the kind of the constraint that an object has no unknown fields.
const Unknown = "unknown field"

// ruleKeyword is the keyword of rules.
const ruleKeyword = "x-kubernetes-validations"

// Constraint is a requirement of a schema.
type Constraint struct {
	Aim
	// Kind is the keyword, "rule" for a rule, and Unknown.
	Kind string
	// Name is the field that required demands.
	Name string
}

// mostConstraints bounds the list of constraints.
const mostConstraints = 1 << 14

// Constraints returns the constraints of a schema, except for the root members in skip. The list begins with the first
// constraint of each kind. Shallow constraints come before deep ones.
func Constraints(s *schema.Props, skip ...string) []Constraint {
	w := walk{skip: skip}
	w.visit(s, sample.Place{Schema: s}, "")
	slices.SortStableFunc(w.all, func(a, b Constraint) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	rank := map[string]int{}
	ranks := make(map[string]int, len(w.all))
	for i := range w.all {
		c := &w.all[i]
		ranks[c.key()] = rank[c.Kind]
		rank[c.Kind]++
	}
	slices.SortStableFunc(w.all, func(a, b Constraint) int { return cmp.Compare(ranks[a.key()], ranks[b.key()]) })
	return w.all
}

func (c *Constraint) key() string { return c.Kind + "\x00" + c.Pointer() + "\x00" + c.Name }

type walk struct {
	all  []Constraint
	skip []string
}

func (w *walk) visit(s *schema.Props, at sample.Place, node string) {
	if s == nil || len(w.all) > mostConstraints {
		return
	}
	at.Schema, at.Node = s, node
	add := func(keyword, kind string) *Constraint {
		p := at
		p.Keyword = keyword
		w.all = append(w.all, Constraint{Aim: Aim{Place: &p, Also: []*schema.Props{s}}, Kind: kind})
		return &w.all[len(w.all)-1]
	}
	for i := range s.XValidations {
		c := add(ruleKeyword, "rule")
		c.Rest, c.Rules = []string{strconv.Itoa(i)}, []string{s.XValidations[i].Rule}
	}
	for _, name := range s.Required {
		p := s.Properties[name]
		if !schema.HasValue(p.Default) && (len(at.Path) > 0 || !slices.Contains(w.skip, name)) {
			add("required", "required").Name = name
		}
	}
	for _, k := range []struct {
		keyword string
		holds   bool
	}{
		{"enum", len(s.Enum) > 0}, {"minimum", s.Minimum != nil}, {"maximum", s.Maximum != nil},
		{"multipleOf", s.MultipleOf != nil}, {"pattern", s.Pattern != ""},
		{"minLength", s.MinLength != nil && *s.MinLength > 0},
		{"maxLength", s.MaxLength != nil}, {"format", format.Lookup(s.Format) != format.None},
		{"minItems", s.MinItems != nil && *s.MinItems > 0},
		{"maxItems", s.MaxItems != nil}, {"uniqueItems", s.UniqueItems},
		{"x-kubernetes-list-type", s.XListType != nil && *s.XListType != "atomic"},
		{"minProperties", s.MinProperties != nil && *s.MinProperties > 0}, {"maxProperties", s.MaxProperties != nil},
		{"oneOf", len(s.OneOf) > 0}, {"anyOf", len(s.AnyOf) > 0 && !s.XIntOrString}, {"not", s.Not != nil},
		{"type", s.Type != "" && len(at.Path) > 0}, {"x-kubernetes-int-or-string", s.XIntOrString},
		{"x-kubernetes-embedded-resource", s.XEmbeddedResource},
	} {
		if k.holds {
			add(k.keyword, k.keyword)
		}
	}
	if s.Type == "object" && len(s.Properties) > 0 && s.AdditionalProperties == nil && !schema.Preserves(s) &&
		!s.XEmbeddedResource {
		add("", Unknown)
	}
	for i := range s.AllOf {
		w.visit(&s.AllOf[i], at, node+"/allOf/"+strconv.Itoa(i))
	}
	for _, name := range schema.Names(s.Properties) {
		if len(at.Path) == 0 && slices.Contains(w.skip, name) {
			continue
		}
		p := s.Properties[name]
		below := at
		below.Path = at.Path.With(tree.Name(name))
		w.visit(&p, below, node+"/properties/"+tree.EscapePointer(name))
	}
	below := at
	below.Path = at.Path.With(tree.At(0))
	w.visit(schema.Items(s), below, node+"/items")
	below.Path = at.Path.With(tree.Name("a"))
	w.visit(schema.ValueSchema(s), below, node+"/additionalProperties")
}

// ConcernsStatus reports whether the constraint is one of the status, or a rule of the whole object that reads it.
func (c *Constraint) ConcernsStatus() bool {
	if len(c.Path) == 0 {
		return strings.Contains(c.Rule(), "status")
	}
	return c.Path[0].Key() == "status"
}

// Implies reports whether a violation of the constraint also causes a violation with a schema pointer: one of a logical
// operator above the constraint, or of a clause below it.
func (c *Constraint) Implies(pointer string) bool {
	own := c.Pointer()
	switch c.Kind {
	case "oneOf", "anyOf", "not":
		return strings.HasPrefix(pointer, own+"/")
	case "x-kubernetes-int-or-string":
		if strings.HasPrefix(pointer, c.Node+"/anyOf") || strings.HasPrefix(pointer, c.Node+"/allOf") {
			return true // such a schema says so twice
		}
	}
	for _, operator := range []string{"/allOf", "/anyOf", "/oneOf", "/not"} {
		if strings.HasSuffix(pointer, operator) && strings.HasPrefix(own, pointer+"/") {
			return true
		}
	}
	return false
}
