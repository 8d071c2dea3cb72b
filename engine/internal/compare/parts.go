package compare

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// part is one of the schemas that a value must satisfy.
type part struct {
	*Props
	path tree.Path
	// clause: it is in a logical operator. Ratcheting does not apply to its violations.
	clause bool
	// skipsNull: API servers do not apply it to null.
	skipsNull bool
	// closed: fields that the schema does not declare are pruned.
	closed bool
	// witness is a value that the other schema accepts and a keyword of this part rejects, nil if none is known.
	witness json.RawMessage
	// given are the fields that all objects have, because both schemas have a default for them.
	given []string
	// kinds are the kinds of the values. Zero adds nothing to what the schema says, and other kinds exclude null.
	kinds kinds
	// violates is a constraint that the values violate, or nil.
	violates *violation
	// exact: the schema is that of one value.
	exact bool
}

// parts are the schemas that a value must satisfy: those of a node and the clauses that hold with it. The schema of the
// node is the first one.
//
// This is the normal form in which schemas are compared: a constraint has the same meaning in each part.
type parts []part

// partsOf returns the parts of a node.
func partsOf(s *Props, at tree.Path) parts { return parts(nil).with(part{Props: s, path: at}) }

// with adds a part, and the clauses that hold if it does: those of allOf, the only clause of anyOf or oneOf, and the
// schema in not in not.
func (list parts) with(p part) parts {
	list = append(list[:len(list):len(list)], p)
	below := func(s *Props, at ...tree.Segment) {
		if isPlain(s) {
			list = list.with(part{Props: s, path: p.path.With(at...), clause: true, skipsNull: true})
		}
	}
	clauses := allOf(p.Props)
	for i := range clauses {
		below(&clauses[i], tree.Name("allOf"), tree.At(i))
	}
	if clauses = anyOf(p.Props); len(clauses) == 1 {
		below(&clauses[0], tree.Name("anyOf"), tree.At(0))
	}
	if len(p.OneOf) == 1 {
		below(&p.OneOf[0], tree.Name("oneOf"), tree.At(0))
	}
	if p.Not != nil && p.Not.Not != nil && saysOnlyNot(p.Not) {
		below(p.Not.Not, tree.Name("not"), tree.Name("not"))
	}
	return list
}

// isPlain reports whether a clause has only keywords that constrain values, as in structural schemas. Other clauses are
// compared as a whole.
func isPlain(s *Props) bool {
	return s.Type == "" && !s.Nullable && s.Default == nil && s.AdditionalProperties == nil && s.AdditionalItems == nil &&
		len(s.PatternProperties)+len(s.Dependencies)+len(s.XValidations)+len(s.XListMapKeys) == 0 && s.Ref == nil &&
		!s.XIntOrString && !s.XEmbeddedResource &&
		(s.Items == nil || s.Items.JSONSchemas == nil) && s.XPreserveUnknownFields == nil && s.XListType == nil && s.XMapType == nil
}

// saysOnlyNot reports whether a schema has no keyword besides not.
func saysOnlyNot(s *Props) bool {
	inner := *s
	inner.Not = nil
	return jsonOf(&inner) == "{}"
}

// operator is a list of clauses that is not part of the normal form, with its path. It has one clause for not.
type operator struct {
	keyword string
	clauses []Props
	path    tree.Path
	// undecided: a limit has ended the proof that the values of the other schema satisfy it.
	undecided bool
}

// operators returns the operators with a keyword of all parts: those whose clauses are not parts themselves.
func (list parts) operators(keyword string) (all []operator) {
	for i := range list {
		p := &list[i]
		o := operator{keyword: keyword, path: p.path.With(tree.Name(keyword))}
		switch keyword {
		case "allOf":
			for _, c := range allOf(p.Props) {
				if !isPlain(&c) {
					o.clauses = append(o.clauses, c)
				}
			}
		case "anyOf":
			if o.clauses = anyOf(p.Props); len(o.clauses) == 1 && isPlain(&o.clauses[0]) {
				continue
			}
		case "oneOf":
			if o.clauses = p.OneOf; len(o.clauses) == 1 && isPlain(&o.clauses[0]) {
				continue
			}
		case "not":
			if p.Not != nil && (p.Not.Not == nil || !saysOnlyNot(p.Not) || !isPlain(p.Not.Not)) {
				o.clauses = []Props{*p.Not}
			}
		}
		if len(o.clauses) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// inClauses returns the parts of a field of an object that clauses of the object constrain, or of the items of a list
// if name is nil.
func (list parts) inClauses(name *string) (below parts) {
	for i := range list {
		if p := &list[i]; p.clause {
			below = below.below(p, name)
		}
	}
	return below
}

// field returns all parts of a field of an object.
func (list parts) field(name string) (below parts) {
	for i := range list {
		p := &list[i]
		if _, declared := p.Properties[name]; !declared {
			if s := schema.ValueSchema(p.Props); s != nil {
				below = below.with(part{Props: s, path: p.path.With(tree.Name("additionalProperties")), clause: p.clause})
			}
			continue
		}
		below = below.below(p, &name)
	}
	return below
}

// items returns all parts of the items of a list.
func (list parts) items() (below parts) {
	for i := range list {
		below = below.below(&list[i], nil)
	}
	return below
}

// below adds the parts of a field or of the items of a part.
func (list parts) below(p *part, name *string) parts {
	if name == nil {
		if s := schema.Items(p.Props); s != nil {
			return list.with(part{Props: s, path: p.path.With(tree.Name("items")), clause: p.clause})
		}
		return list
	}
	if s, declared := p.Properties[*name]; declared {
		return list.with(part{Props: &s, path: p.path.With(tree.Name("properties"), tree.Name(*name)), clause: p.clause})
	}
	return list
}

// requires reports whether all objects have a field.
func (list parts) requires(name string) bool {
	return slices.ContainsFunc(list, func(p part) bool {
		return requires(p.Props, name) || slices.Contains(p.given, name)
	})
}

// demands reports whether required of a part has a field.
func (list parts) demands(name string) bool {
	return slices.ContainsFunc(list, func(p part) bool { return requires(p.Props, name) })
}

// isExact reports whether a part is the schema of one value.
func (list parts) isExact() bool {
	return slices.ContainsFunc(list, func(p part) bool { return p.exact })
}

// says reports whether a schema is one of the parts, or has only operators that parts have too.
func (list parts) says(s *Props) bool {
	for i := range list {
		p := &list[i]
		if same(p.Props, s) || slices.ContainsFunc(p.AllOf, func(q Props) bool { return same(&q, s) }) {
			return true
		}
	}
	all := operatorsOf(s)
	rest := *s
	rest.AllOf, rest.AnyOf, rest.OneOf, rest.Not = nil, nil, nil, nil
	return len(all) > 0 && same(&rest, &Props{}) &&
		!slices.ContainsFunc(all, func(o operator) bool { return !list.has(&o) })
}

// has reports whether a part has an operator.
func (list parts) has(o *operator) bool {
	if o.keyword == "allOf" {
		return !slices.ContainsFunc(o.clauses, func(s Props) bool { return !list.says(&s) })
	}
	for i := range list {
		p := &list[i]
		if o.keyword == "anyOf" && sameElements(anyOf(p.Props), o.clauses, same) ||
			o.keyword == "oneOf" && sameElements(p.OneOf, o.clauses, same) ||
			o.keyword == "not" && p.Not != nil && same(p.Not, &o.clauses[0]) {
			return true
		}
	}
	return false
}

// exactly returns a schema that only one value satisfies, if its enum counts. Other keywords say what is known of the
// value.
func exactly(v string) *Props {
	s := &Props{Enum: enumWith(v)}
	d := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := d.ParseJSON([]byte(v), tree.Limits{MaxBytes: max(len(v), 1)})
	if err != nil {
		return s
	}
	count := int64(d.Nodes[root].Live)
	switch n := &d.Nodes[root]; n.Kind {
	case tree.Object:
		s.Type, s.MinProperties, s.MaxProperties, s.Properties = "object", &count, &count, map[string]Props{}
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			name := string([]byte(d.Key(c)))
			s.Required = append(s.Required, name)
			s.Properties[name] = Props{Nullable: true}
			if d.Nodes[c].Kind != tree.Null {
				s.Properties[name] = Props{Enum: enumWith(string(d.AppendCanonical(nil, c)))}
			}
		}
	case tree.Array:
		s.Type, s.MinItems, s.MaxItems = "array", &count, &count
	case tree.String:
		s.Type = "string"
	case tree.True, tree.False:
		s.Type = "boolean"
	default:
		s.Type = "number"
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			s.Minimum, s.Maximum = &f, &f
			if isWhole(f) {
				s.Type = "integer"
			}
		}
	}
	d.Release()
	return s
}
