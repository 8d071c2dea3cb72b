package sample

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// mostElements bounds the lists, maps and, in characters, the strings among candidates.
const mostElements = 1 << 12

// Candidates returns values for a path of an object, at and beyond the limits of the schema there and of other schemas:
// bounds and their neighbours, enum values, strings that match or do not match patterns, values of other types, equal
// elements, unknown members. Nil stands for no value.
func (g *Generator) Candidates(r Random, path tree.Path, also ...*schema.Props) []*Tree {
	defer g.small()()
	c := g.candidatesAt(r, path)
	c.add(g.value(r, c.n, 1))
	for _, s := range slices.Concat([]*schema.Props{c.n.Props}, also) {
		c.of(s)
	}
	c.hinted(c.n.hints, false)
	for _, s := range also {
		if g.options.Hints != nil { // the generator does not know the rules of the other schemas
			c.hinted(newNode(s, g.root.scope, nil).hints, true)
		}
	}
	for _, text := range []string{`"a"`, `""`, `"A !"`, "0", "1", "-1", "0.5", "true", "false", "{}", "[]", "null"} {
		c.add(parsed([]byte(text)))
	}
	if len(path) > 0 {
		c.list = append(c.list, nil)
	}
	return c.list
}

// hinted returns the candidates for a path that rules on the value or on its parents suggest.
func (g *Generator) hinted(r Random, path tree.Path) []*Tree {
	defer g.small()()
	c := g.candidatesAt(r, path)
	c.hinted(c.n.hints, true)
	return c.list
}

// candidatesAt returns an empty list of candidates for a path.
func (g *Generator) candidatesAt(r Random, path tree.Path) candidates {
	g.density, g.left = 0, 0
	n := g.schemaAt(r, path)
	if n == nil {
		n = newNode(&schema.Props{}, g.root.scope, nil)
	}
	return candidates{g: g, r: r, n: n, seen: map[string]bool{}}
}

type candidates struct {
	g    *Generator
	r    Random
	n    *node // of the value
	list []*Tree
	seen map[string]bool
}

func (c *candidates) add(t *Tree) {
	if t == nil {
		return
	}
	if text := string(t.JSON()); !c.seen[text] {
		c.seen[text] = true
		c.list = append(c.list, t)
	}
}

// of adds the candidates at the limits of a schema.
func (c *candidates) of(s *schema.Props) {
	for _, e := range s.Enum {
		c.add(parsed(e.Raw))
	}
	if schema.HasValue(s.Default) {
		c.add(parsed(s.Default.Raw))
	}
	switch {
	case c.n.Type == "object" || c.n.Type == "" && !c.n.intOrString():
		c.object(s)
	case c.n.Type == "array":
		c.array(s)
	case c.n.Type == "string" || c.n.intOrString():
		c.strings(s)
	}
	if c.n.Type != "object" && c.n.Type != "array" && c.n.Type != "string" {
		c.numbers(s)
	}
	for _, list := range [][]schema.Props{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			c.of(&list[i])
		}
	}
	if s.Not != nil {
		c.of(s.Not)
	}
}

func (c *candidates) numbers(s *schema.Props) {
	c.bound(s.Minimum)
	c.bound(s.Maximum)
	if s.Format == "int32" {
		c.around(math.MaxInt32)
		c.around(math.MinInt32)
	}
	if m := s.MultipleOf; m != nil {
		c.around(*m)
		c.add(number(2 * *m))
	}
}

func (c *candidates) bound(f *float64) {
	if f != nil {
		c.around(*f)
	}
}

// around adds a number and its neighbours, also those that are multiples of what the schema demands.
func (c *candidates) around(f float64) {
	if m := c.n.MultipleOf; m != nil && *m > 0 {
		for _, k := range []float64{0, 1, -1} {
			c.add(number((math.Floor(f / *m) + k) * *m))
		}
	}
	for _, delta := range []float64{0, 1, -1} {
		c.add(number(f + delta))
	}
	if c.n.Type == "number" {
		c.add(number(f + 0.5))
		c.add(number(f - 0.5))
	}
}

func (c *candidates) strings(s *schema.Props) {
	n := *c.n // without what other schemas demand
	if s != c.n.Props {
		n = *newNode(s, c.n.scope, c.n.hints)
	}
	t := c.g.text(c.r, &n)
	c.add(t)
	if content, ok := t.Content(); ok && s.Pattern != "" { // patterns are often anchored at one end
		c.add(text0(content + "a"))
		c.add(text0("a" + content))
	}
	for _, at := range []*int64{s.MinLength, s.MaxLength} {
		if at == nil {
			continue
		}
		for _, length := range []int64{*at, *at + 1, *at - 1} {
			c.length(length)
		}
	}
	for _, text := range formatTexts[format.Lookup(s.Format).String()] {
		c.add(text0(text))
	}
}

// length adds a string of a length that otherwise follows the schema, if there is one.
func (c *candidates) length(length int64) {
	if length < 0 || length > mostElements {
		return
	}
	s := *c.n.Props
	s.MinLength, s.MaxLength = &length, &length
	n := *c.n
	n.Props = &s
	c.add(c.g.text(c.r, &n))
	c.add(text0(strings.Repeat("a", int(length))))
}

// text0 is text, which a method of candidates hides.
func text0(s string) *Tree { return text(s) }

func (c *candidates) array(s *schema.Props) {
	for _, at := range []*int64{s.MinItems, s.MaxItems} {
		if at == nil {
			continue
		}
		for _, length := range []int64{*at, *at + 1, *at - 1} {
			c.items(length)
		}
	}
	c.items(1)
	c.items(2)
	one := c.elements(1)
	if len(one) == 0 {
		return
	}
	c.add(array(one[0], one[0].Clone()))
	for i, m := range one[0].Items { // elements that differ in one member
		if below := c.n.element().member(m.Key); one[0].Kind == tree.Object && below != nil {
			other := one[0].Clone()
			for range 4 {
				other.Items[i] = c.g.value(c.r, below, 1).named(m.Key)
			}
			c.add(array(one[0], other))
		}
	}
}

func (c *candidates) items(length int64) {
	if length >= 0 && length <= mostElements {
		c.add(array(c.elements(int(length))...))
	}
}

// elements returns elements for a list that are as different as it requires, if possible.
func (c *candidates) elements(count int) []*Tree {
	a, values := array(), 0
	for range count {
		if c.g.stop() || values > maxValues {
			break
		}
		var v *Tree
		for try := range 12 {
			if v = c.g.value(c.r, c.n.element(), 1); c.g.fits(c.n, a, v) {
				break
			}
			if c.n.isMapList() {
				c.g.rekey(c.r, c.n, v)
			}
			if e := c.n.element(); try > 3 && e != nil { // small values are often equal
				c.distinct(e, v, len(a.Items))
			}
			if c.g.fits(c.n, a, v) {
				break
			}
		}
		a.Items = append(a.Items, v)
		values += v.Leaves()
	}
	return a.Items
}

// distinct gives an element of a set or of a list of type map a number.
func (c *candidates) distinct(e *node, v *Tree, i int) {
	set := func(t *Tree, n *node) {
		switch {
		case n == nil || len(n.Enum) > 0:
		case t.Kind == tree.String:
			if s := fmt.Sprint("a", i); stringFits(n, s) {
				t.Text = strconv.Quote(s)
			}
		case t.Kind == tree.Int:
			lo, _ := bounds(n.Props, true)
			t.Text = strconv.FormatInt(ceil(max(lo, 0))+int64(i), 10)
		}
	}
	set(v, e)
	if c.n.isMapList() {
		for _, key := range c.n.XListMapKeys {
			if m := v.Get(key); m != nil {
				set(m, e.property(key))
			}
		}
	}
}

func (c *candidates) object(s *schema.Props) {
	base := c.g.value(c.r, c.n, 1)
	if base.Kind != tree.Object {
		base = object()
	}
	for _, name := range s.Required {
		if i := base.index(name); i >= 0 {
			without := base.Clone()
			without.remove(i)
			c.add(without)
		}
	}
	for _, name := range c.n.names {
		if base.index(name) < 0 {
			c.add(base.Clone().with(name, c.g.value(c.r, c.n.property(name), 1)))
		}
	}
	for _, at := range []*int64{s.MinProperties, s.MaxProperties} {
		if at == nil {
			continue
		}
		for _, count := range []int64{*at, *at + 1, *at - 1} {
			c.members(base, count)
		}
	}
	if values := schema.ValueSchema(c.n.Props); values != nil {
		c.members(base, 1)
		for _, key := range []string{"a", "A !", ""} {
			c.add(object().with(key, c.g.value(c.r, c.n.member(key), 1)))
		}
		return
	}
	c.add(base.Clone().with(UnknownName, text("a")))
}

// UnknownName is a name that schemas hardly declare.
const UnknownName = "unknownField"

// within adds strings that follow the patterns and the format of the schema and begin with, end with or contain a text.
func (c *candidates) within(part string) {
	if part == "" || len(c.n.patterns) == 0 && c.n.format == format.None && len(c.n.Enum) == 0 {
		return
	}
	for range 3 {
		whole := []rune(c.g.candidate(c.r, c.n, 0))
		if len(whole) > 64 {
			continue
		}
		for _, join := range []func(i int) string{
			func(i int) string { return part + string(whole[i:]) },
			func(i int) string { return string(whole[:i]) + part },
			func(i int) string { return string(whole[:i]) + part + string(whole[i:]) },
		} {
			for i := range len(whole) + 1 {
				if s := join(i); stringFits(c.n, s) {
					c.add(text(s))
					break
				}
			}
		}
	}
}

// members adds an object with a number of members.
func (c *candidates) members(base *Tree, count int64) {
	if count < 0 || count > mostElements {
		return
	}
	o := base.Clone()
	for _, name := range c.n.names {
		if int64(len(o.Items)) < count && o.index(name) < 0 {
			o.set(name, c.g.value(c.r, c.n.property(name), 1))
		}
	}
	if c.n.open() || schema.ValueSchema(c.n.Props) != nil {
		for i := 0; int64(len(o.Items)) < count && i < mostElements; i++ {
			if name := fmt.Sprint("a", i); o.index(name) < 0 {
				o.set(name, c.g.value(c.r, c.n.member(name), 1))
			}
		}
	}
	for i := len(o.Items) - 1; i >= 0 && int64(len(o.Items)) > count; i-- {
		if !slices.Contains(c.n.Required, o.Items[i].Key) {
			o.remove(i)
		}
	}
	c.add(o)
}

// hinted adds the values to which rules compare the value, and values of the lengths to which they compare its length.
// If near is true, it also adds the neighbours of numbers.
func (c *candidates) hinted(hints []*Hint, near bool) {
	for _, h := range hints {
		for _, s := range h.texts {
			if c.n.Type == "string" || c.n.intOrString() || c.n.Type == "" {
				c.add(text(s))
				c.add(text("a" + s + "b"))
				c.add(text(s + "b"))
				c.within(s)
			}
		}
		for i := range h.numbers {
			t := h.numbers[i]
			switch c.n.Type {
			case "integer", "number", "":
				c.add(&t)
				if f, err := strconv.ParseFloat(t.Text, 64); err == nil && near {
					c.around(f)
				}
			}
			if length, err := strconv.ParseInt(t.Text, 10, 64); err == nil && length <= 300 {
				switch c.n.Type {
				case "string":
					c.length(length)
				case "array":
					c.items(length)
				case "object":
					c.members(object(), length)
				}
			}
		}
		if h.pattern != "" && c.n.Type == "string" {
			for try := range 3 {
				c.add(text(newExpression(h.pattern).text(c.r, 0, 12, try, true)))
			}
		}
	}
	for i := range c.n.XValidations {
		for _, s := range FunctionTexts(c.n.XValidations[i].Rule) {
			c.add(text(s))
		}
	}
}

// Vary changes one to four of the values that a rule on the value at a path mentions, or the value itself. also are
// further schemas of the value.
func (g *Generator) Vary(r Random, o *Tree, path tree.Path, rule string, also ...*schema.Props) {
	if !g.Plant(r, o, path) {
		return
	}
	names := g.root.scope.hint(rule).names
	for range r.between(1, 4) {
		var found []tree.Path
		if n, t := g.schemaAt(r, path), o.Follow(path); t != nil {
			mentioned(n, t, path, names, 0, &found)
		}
		found = slices.DeleteFunc(found, func(p tree.Path) bool { return len(p) == 0 || isHead(p[0].Key()) && len(p) == 1 })
		at := path
		if len(found) > 0 && (len(path) == 0 || !r.chance(15)) {
			at = shallow(r, found)
		}
		if len(at) > 0 {
			g.varyValue(r, o, at, path, found, rule, also)
		}
	}
}

// shallow returns one of the paths, more often a short one.
func shallow(r Random, paths []tree.Path) tree.Path {
	p := pick(r, paths)
	for range 2 {
		if other := pick(r, paths); len(other) < len(p) {
			p = other
		}
	}
	return p
}

// varyValue changes the value at a path. found are the paths that the rule of the value at the path top mentions.
func (g *Generator) varyValue(r Random, o *Tree, at, top tree.Path, found []tree.Path, rule string,
	also []*schema.Props) {
	if len(at) > len(top) {
		also = nil
	}
	now := o.Follow(at)
	if now != nil && now.Kind == tree.Array && len(now.Items) > 0 && r.chance(50) { // an element, or one more
		i := r.IntN(len(now.Items))
		if r.chance(40) {
			now.Items = append(now.Items, now.Items[i].Clone())
			return
		}
		at, also = at.With(tree.At(i)), nil
	}
	switch k := r.IntN(20); {
	case k < 3:
		g.Put(r, o, at, nil)
	case k < 8 && len(found) > 0: // the value of another field, or one next to it
		if v := neighbour(r, o.Follow(pick(r, found))); v != nil {
			g.Put(r, o, at, v)
		}
	case k < 10:
		g.change(r, o, at, 20)
	case k < 12:
		if texts := FunctionTexts(rule); texts != nil {
			g.Put(r, o, at, text(pick(r, texts)))
		}
	default:
		list := g.Candidates(r, at, also...)
		if suggested := g.hinted(r, at); len(suggested) > 0 && r.chance(50) {
			list = suggested
		}
		g.Put(r, o, at, pick(r, list))
	}
}

// neighbour returns a value that is equal to another one, or next to it.
func neighbour(r Random, t *Tree) *Tree {
	if t == nil {
		return nil
	}
	v := t.Clone()
	if i, err := strconv.ParseInt(v.Text, 10, 64); err == nil && v.Kind == tree.Int {
		v.Text = strconv.FormatInt(i+int64(r.IntN(3)-1), 10)
	}
	return v
}
