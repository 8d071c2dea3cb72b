package sample

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Solver changes an object so that a rule of the value at a path holds, or does not hold. It returns false if the
// object is unchanged.
type Solver interface {
	Solve(r Random, o *Tree, at tree.Path, rule string, holds bool) bool
}

// SetSolver sets the solver of rules that Repair and Vary use. It may be nil.
func (g *Generator) SetSolver(s Solver) { g.solver = s }

// ValueAt returns a small value for a path. It is null if the schema does not declare the path.
func (g *Generator) ValueAt(r Random, path tree.Path) *Tree {
	defer g.small()()
	g.density, g.left = pick(r, densities), 60
	n := g.schemaAt(r, path)
	if n == nil {
		return null()
	}
	return g.value(r, n, len(path))
}

// Suggestions returns values for a path: some that the schema allows, and those that rules suggest.
func (g *Generator) Suggestions(r Random, path tree.Path) []*Tree {
	list := g.hinted(r, path)
	for range 4 {
		list = append(list, g.ValueAt(r, path))
	}
	return list
}

// Stopped reports whether the generator is to stop.
func (g *Generator) Stopped() bool { return g.options.Stopped != nil && g.options.Stopped() }

// Matching returns a string that probably matches a regular expression. Later tries are longer, up to a length.
func Matching(r Random, pattern string, try, length int) string {
	return newExpression(pattern).text(r, min(length, try*4), max(12, length), try, true)
}

// Text returns a string.
func Text(s string) *Tree { return text(s) }

// EmptyList returns an empty list.
func EmptyList() *Tree { return array() }

// EmptyObject returns an empty object.
func EmptyObject() *Tree { return object() }

// Scalar returns the JSON of a boolean, a number, a string, null or bytes.
func Scalar(v any) *Tree {
	switch v := v.(type) {
	case bool:
		return boolean(v)
	case int64:
		return &Tree{Kind: tree.Int, Text: strconv.FormatInt(v, 10)}
	case uint64:
		return &Tree{Kind: tree.Int, Text: strconv.FormatUint(v, 10)}
	case float64:
		return number(v)
	case string:
		return text(v)
	}
	return encoded(v)
}

// Content returns the content of a string.
func (t *Tree) Content() (string, bool) {
	if t.Kind != tree.String {
		return "", false
	}
	h := Hint{}
	h.AddValue(t.Text)
	if len(h.texts) == 0 || !utf8.ValidString(h.texts[0]) {
		return "", false
	}
	return h.texts[0], true
}

// Any returns the value as encoding/json decodes it.
func (t *Tree) Any() (v any) {
	_ = json.Unmarshal(t.JSON(), &v) // a Tree is JSON
	return v
}

// WithKey returns the object with another name of a member.
func (t *Tree) WithKey(name, to string) *Tree {
	c := *t
	c.Items = nil
	for _, m := range t.Items {
		if m.Key == to {
			continue
		}
		if m.Key == name {
			m = m.Clone().named(to)
		}
		c.Items = append(c.Items, m)
	}
	return &c
}

// WithMember returns the object with a member.
func (t *Tree) WithMember(name string, v *Tree) *Tree { return t.Without(name).with(name, v.Clone()) }

// WithItem returns the list with another element.
func (t *Tree) WithItem(v *Tree) *Tree {
	c := *t
	c.Items = append(c.Items[:len(c.Items):len(c.Items)], v.Clone())
	return &c
}

// encoded returns other values as encoding/json does.
func encoded(v any) *Tree {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return parsed(text)
}
