package sample

import (
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Place is a keyword of a schema, with the path of the values to which it applies.
type Place struct {
	// Path leads to a value: the first element of a list, and the key "a" of a map.
	Path tree.Path
	// Node is the JSON pointer of the schema, "" for the root. Keyword is the name of the keyword, "" if the place is a
	// whole schema. Rest are the further steps of the pointer.
	Node, Keyword string
	Rest          []string
	// Schema is the schema with the keyword.
	Schema *schema.Props
}

// Pointer returns the JSON pointer of the keyword. The violations of a schema have it: that of required and enum has no
// index.
func (p *Place) Pointer() string {
	switch {
	case p.Keyword == "":
		return p.Node
	case p.Keyword == "x-kubernetes-validations" && len(p.Rest) > 0:
		return p.Node + "/" + p.Keyword + "/" + p.Rest[0]
	}
	return p.Node + "/" + p.Keyword
}

// Rule returns the CEL rule at the place, or "".
func (p *Place) Rule() string {
	if p.Keyword != "x-kubernetes-validations" || len(p.Rest) == 0 {
		return ""
	}
	i, err := strconv.Atoi(p.Rest[0])
	if err != nil || i < 0 || i >= len(p.Schema.XValidations) {
		return ""
	}
	return p.Schema.XValidations[i].Rule
}

// PlaceAt returns the place of a JSON pointer into a schema, or nil if the schema does not have the node.
func PlaceAt(s *schema.Props, pointer string) *Place {
	p := &Place{Schema: s}
	tokens := strings.Split(pointer, "/")[1:]
	for i := range tokens {
		tokens[i] = tree.UnescapePointer(tokens[i])
	}
	for len(tokens) > 0 {
		next, used, step := p.below(tokens)
		if used == 0 {
			p.Keyword, p.Rest = tokens[0], tokens[1:]
			break
		}
		if next == nil {
			return nil
		}
		for _, t := range tokens[:used] {
			p.Node += "/" + tree.EscapePointer(t)
		}
		p.Schema, tokens = next, tokens[used:]
		if step != nil {
			p.Path = p.Path.With(*step)
		}
	}
	return p
}

// below returns the schema to which the first tokens of a pointer lead, the number of these tokens, and the step to its
// values, nil for a clause. The number is 0 if the tokens lead to a keyword.
func (p *Place) below(tokens []string) (next *schema.Props, used int, step *tree.Segment) {
	s := p.Schema
	clause := func(list []schema.Props) (*schema.Props, int, *tree.Segment) {
		i, err := strconv.Atoi(tokens[1])
		if err != nil || i < 0 || i >= len(list) {
			return nil, 2, nil
		}
		return &list[i], 2, nil
	}
	if len(tokens) < 2 {
		switch { // the token is a schema, or a keyword without one
		case tokens[0] == "items", tokens[0] == "not" && s.Not != nil,
			tokens[0] == "additionalProperties" && schema.ValueSchema(s) != nil:
		default:
			return nil, 0, nil
		}
	}
	switch tokens[0] {
	case "properties":
		at := tree.Name(tokens[1])
		if c, ok := s.Properties[tokens[1]]; ok {
			return &c, 2, &at
		}
		return nil, 2, nil
	case "items":
		at := tree.At(0)
		return schema.Items(s), 1, &at
	case "additionalProperties":
		at := tree.Name("a")
		return schema.ValueSchema(s), 1, &at
	case "not":
		return s.Not, 1, nil
	case "allOf":
		return clause(s.AllOf)
	case "anyOf":
		return clause(s.AnyOf)
	case "oneOf":
		return clause(s.OneOf)
	}
	return nil, 0, nil
}

// Least returns an object with the required fields only. It probably follows the schema.
func (g *Generator) Least(r Random) *Tree {
	defer g.small()()
	return g.Object(r)
}

// Full returns an object with most of the fields that can be present together.
func (g *Generator) Full(r Random) *Tree {
	before := g.full
	g.full = true
	defer func() { g.full = before }()
	return g.Object(r)
}

// small makes the generator generate small values until the result is called.
func (g *Generator) small() (end func()) {
	before := g.least
	g.least = true
	return func() { g.least = before }
}

// Plant adds small values on a path to an object, so that the path leads to a value. It returns false if the schema
// does not declare the path.
func (g *Generator) Plant(r Random, o *Tree, path tree.Path) bool {
	defer g.small()()
	g.density, g.left = 0, 0
	whole, t := g.root, o
	for _, s := range path {
		n := whole.choose(r)
		below := n.at(s)
		if below == nil {
			return false
		}
		kind := tree.Object
		if s.IsIndex() {
			kind = tree.Array
		}
		if t.Kind != kind {
			*t = Tree{Kind: kind, Key: t.Key}
		}
		for t.child(s) < 0 {
			if v := g.value(r, below, 1); s.IsIndex() {
				t.Items = append(t.Items, v)
			} else {
				t.set(s.Key(), v)
				makeRoom(whole, t, s.Key())
			}
		}
		t, whole = t.Items[t.child(s)], below
	}
	return true
}

// makeRoom removes members of an object that has too many, and those that exclude a member, except for required ones.
func makeRoom(n *node, t *Tree, keep string) {
	alternatives := map[string]bool{} // that clauses of oneOf require instead of keep
	for i := range n.OneOf {
		if !slices.Contains(n.OneOf[i].Required, keep) {
			for _, name := range n.OneOf[i].Required {
				alternatives[name] = true
			}
		}
	}
	isAlternative := slices.ContainsFunc(n.OneOf, func(s schema.Props) bool { return slices.Contains(s.Required, keep) })
	for i := len(t.Items) - 1; i >= 0; i-- {
		name := t.Items[i].Key
		tooMany := n.MaxProperties != nil && int64(len(t.Items)) > *n.MaxProperties
		if name != keep && !slices.Contains(n.Required, name) && (tooMany || isAlternative && alternatives[name]) {
			t.remove(i)
		}
	}
}

// Put sets the value at a path of an object, or removes it if v is nil. It plants the way to it.
func (g *Generator) Put(r Random, o *Tree, path tree.Path, v *Tree) bool {
	if len(path) == 0 {
		if v != nil && v.Kind == tree.Object {
			for _, m := range v.Items {
				if !isHead(m.Key) {
					o.set(m.Key, m.Clone())
				}
			}
			o.Items = slices.DeleteFunc(o.Items, func(m *Tree) bool { return !isHead(m.Key) && v.index(m.Key) < 0 })
		}
		return v != nil && v.Kind == tree.Object
	}
	above := path[:len(path)-1]
	if !g.Plant(r, o, above) {
		return false
	}
	parent := o.Follow(above)
	if step := path[len(path)-1]; parent.Kind != tree.Object && !step.IsIndex() {
		*parent = Tree{Kind: tree.Object, Key: parent.Key}
	} else if parent.Kind != tree.Array && step.IsIndex() {
		*parent = Tree{Kind: tree.Array, Key: parent.Key}
	}
	return (&Change{Path: path, Value: v}).Apply(o)
}
