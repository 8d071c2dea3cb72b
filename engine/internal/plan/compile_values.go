package plan

import (
	"fmt"
	"slices"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// validation returns the value validations of s, or nil. fill adds patterns, enums and required names later, for new
// nodes only.
func (c *compiler) validation(s *apiextensionsv1.JSONSchemaProps, n *Node, over *Node) *Validation {
	kept := s.Format != "" && (c.o.ForDefaults || format.Supported(s.Format, n.Types(), c.o.KubernetesMinor))
	legacy := len(s.PatternProperties) > 0 || len(s.Dependencies) > 0 || s.AdditionalItems != nil ||
		s.Items != nil && len(s.Items.JSONSchemas) > 0
	if !kept && !legacy && !schema.Constrains(s) {
		return nil
	}
	v := &Validation{
		Minimum: s.Minimum, Maximum: s.Maximum, MultipleOf: s.MultipleOf,
		ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum, UniqueItems: s.UniqueItems,
		MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems,
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties,
		Operators: &noOperators,
	}
	if kept {
		v.Format = s.Format
	}
	if !legacy && len(s.AllOf) == 0 && len(s.AnyOf) == 0 && len(s.OneOf) == 0 && s.Not == nil {
		return v
	}
	v.Operators = &Operators{AllOf: c.operators(s.AllOf, over), AnyOf: c.operators(s.AnyOf, over),
		OneOf: c.operators(s.OneOf, over)}
	if s.Not != nil {
		v.Not = c.node(s.Not, Logical, over)
	}
	if legacy {
		v.Legacy = c.legacy(s)
	}
	return v
}

func (c *compiler) operators(l []apiextensionsv1.JSONSchemaProps, over *Node) []*Node {
	if len(l) == 0 {
		return nil
	}
	nodes := make([]*Node, len(l))
	for i := range l {
		nodes[i] = c.node(&l[i], Logical, over)
	}
	return nodes
}

// fill completes the validations of a new node.
func (c *compiler) fill(n *Node, s *apiextensionsv1.JSONSchemaProps, over *Node) {
	v := n.Valid
	if v == nil {
		return
	}
	c.size += validationSize + 16 // two of the bounds, which are pointers
	if v.Operators != &noOperators {
		c.size += operatorsSize + int64(len(v.AllOf)+len(v.AnyOf)+len(v.OneOf))*8
	}
	if s.Pattern != "" {
		v.Pattern = c.pattern(s.Pattern)
	}
	if v.Format != "" {
		v.Format = c.text(v.Format)
		v.FormatID = format.Lookup(v.Format)
	}
	if len(s.Required) > 0 {
		if n.Flags&Logical == 0 {
			over = n
		}
		v.Required = make([]Required, len(s.Required))
		for i, r := range s.Required {
			v.Required[i] = Required{Name: c.text(r), Slot: over.slot(r)}
		}
		c.size += int64(len(v.Required)) * int64(unsafe.Sizeof(Required{}))
	}
	if len(s.Enum) > 0 {
		v.Enum = c.enum(s.Enum)
	}
	v.number = newNumberCheck(n, v)
}

// kindSets returns the kinds that pass kube-openapi's type check for certain, and those that accept doubts.
// (KO/validate/type.go)
func (n *Node) kindSets() (sure, maybe kindSet) {
	formatted := n.Valid != nil && n.Valid.Format != ""
	switch t := n.Types(); {
	case len(t) == 0 && !formatted:
		return anyKind, 0
	case len(t) == 0:
		// A format without a type accepts strings and, whatever the format, arrays.
		return 1<<tree.String | 1<<tree.Null, 1 << tree.Array
	case len(t) == 2:
		sure, maybe = 1<<tree.Int|1<<tree.String, 1<<tree.Float
	default:
		known, declared := types[t[0]]
		if sure, maybe = known.sure, known.maybe; !declared {
			maybe = anyKind
		}
		if t[0] == "string" && formatted {
			maybe = 1 << tree.Array
		}
	}
	if n.Flags&Nullable != 0 {
		sure |= 1 << tree.Null
	}
	return sure, maybe &^ sure
}

// pattern interns a pattern, unless it is too large.
func (c *compiler) pattern(source string) *pattern.Pattern {
	c.fail(pattern.Oversize(source))
	return pattern.Intern(source)
}

// legacy compiles the keywords of schemas that are not structural.
func (c *compiler) legacy(s *apiextensionsv1.JSONSchemaProps) *Legacy {
	l := &Legacy{}
	for _, k := range schema.Names(s.PatternProperties) {
		p := s.PatternProperties[k]
		l.PatternProperties = append(l.PatternProperties,
			PatternProperty{Pattern: c.pattern(k), Node: c.node(&p, Logical, nil)})
	}
	for _, k := range schema.Names(s.Dependencies) {
		d, e := s.Dependencies[k], Dependency{Name: c.text(k)}
		if d.Schema != nil {
			e.Node = c.node(d.Schema, Logical, nil)
		}
		for _, p := range d.Property {
			e.Names = append(e.Names, c.text(p))
		}
		l.Dependencies = append(l.Dependencies, e)
	}
	if s.Items != nil {
		for i := range s.Items.JSONSchemas {
			l.ItemList = append(l.ItemList, c.node(&s.Items.JSONSchemas[i], Logical, nil))
		}
	}
	if a := s.AdditionalItems; a != nil {
		l.AdditionalItemsSet, l.AdditionalItemsAllowed = true, a.Allows
		if a.Schema != nil {
			l.AdditionalItems = c.node(a.Schema, Logical, nil)
		}
	}
	c.size += int64(unsafe.Sizeof(*l)) + int64(len(l.PatternProperties)*16+len(l.Dependencies)*48+len(l.ItemList)*8)
	return l
}

// enum decodes the values of an enum as upstream holds them, and sorts them for accept.
func (c *compiler) enum(raw []apiextensionsv1.JSON) *Enum {
	e := &Enum{Values: make([]any, len(raw))}
	for i := range raw {
		if len(raw[i].Raw) == 0 {
			continue // null
		}
		if text, ok := schema.PlainText(raw[i].Raw); ok {
			e.Values[i] = c.text(text)
		} else if err := utiljson.Unmarshal(raw[i].Raw, &e.Values[i]); err != nil {
			c.fail(fmt.Errorf("enum value %q of the schema is not JSON: %w", raw[i].Raw, err))
			return e
		}
		switch v := e.Values[i].(type) {
		case string:
			e.strings = append(e.strings, c.text(v))
		case int64:
			e.ints = append(e.ints, v)
		case float64:
			e.floats = append(e.floats, v)
		case bool:
			e.hasTrue, e.hasFalse = e.hasTrue || v, e.hasFalse || !v
		case []any, map[string]any:
			e.compound = true
		}
	}
	slices.Sort(e.strings)
	e.strings = slices.Clip(slices.Compact(e.strings))
	c.size += int64(unsafe.Sizeof(*e)) + int64(len(e.Values))*16 + int64(len(e.strings))*32 +
		int64(cap(e.ints)+cap(e.floats))*16
	return e
}
