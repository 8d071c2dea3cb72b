package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Converted changes the schema of a version at random places, and returns the conversion rules that say how: fields are
// renamed, moved into objects, dropped, or only in one of the versions; lists become maps, and enums get other values.
// The rules are lines of YAML. There are at most the given number of changes.
func Converted(r Rand, schema *jsontree.Node, changes int) (changed *jsontree.Node, rules []string) {
	c := converter{r: r, left: changes}
	changed = schema.Clone()
	for _, m := range changed.Get("properties").GetMembers() {
		if m.Key == "spec" || m.Key == "status" {
			c.schema(m.Value, m.Key, m.Key, true)
		}
	}
	return changed, c.rules
}

type converter struct {
	r     Rand
	rules []string
	left  int // changes
	names int
}

func (c *converter) rule(format string, paths ...any) {
	c.left--
	c.rules = append(c.rules, fmt.Sprintf(format, paths...))
}

func (c *converter) name(prefix string) string {
	c.names++
	return prefix + strconv.Itoa(c.names)
}

// schema changes a schema. from and to are its paths in the two versions. Fields below lists and maps can be kept in an
// annotation only if keep is set.
func (c *converter) schema(s *jsontree.Node, from, to string, keep bool) {
	if s.Get("x-kubernetes-preserve-unknown-fields").IsTrue() || s.Get("x-kubernetes-embedded-resource").IsTrue() {
		return
	}
	for _, m := range slices.Clone(s.Get("properties").GetMembers()) {
		a, b := memberPath(from, m.Key), memberPath(to, m.Key)
		if fixed(s) || c.left <= 0 || !c.r.Chance(25) || !c.property(s, m.Key, m.Value, a, to, keep) {
			c.schema(m.Value, a, b, keep)
		}
	}
	items, values := s.Get("items"), s.Get("additionalProperties")
	if listType, _ := s.Get("x-kubernetes-list-type").Text(); items != nil && items.Kind == jsontree.Object {
		c.schema(items, from+"[*]", to+"[*]", keep && listType == "map" && s.Get("maxItems") != nil)
	}
	if values != nil && values.Kind == jsontree.Object {
		c.schema(values, from+"[*]", to+"[*]", keep && s.Get("maxProperties") != nil)
	}
}

// fixed reports whether the names of properties matter to other keywords.
func fixed(s *jsontree.Node) bool {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "not", "x-kubernetes-validations", "minProperties", "maxProperties", "default", "x-kubernetes-list-map-keys"} {
		if s.Get(keyword) != nil {
			return true
		}
	}
	return false
}

// property changes a property of s. It returns false if the chosen change is not possible.
func (c *converter) property(s *jsontree.Node, key string, p *jsontree.Node, from, parent string, keep bool) bool {
	props, required := s.Get("properties"), has(s.Get("required"), key)
	switch change := c.r.IntN(6); {
	case change == 0:
		name := c.name("renamed")
		renameProperty(s, key, name)
		c.rule("- move: {from: %q, to: %q}", from, memberPath(parent, name))
		c.schema(p, from, memberPath(parent, name), keep)
	case change == 1 && !required:
		name := c.name("deep")
		props.Delete(key)
		props.Set(name, jsontree.Obj("type", "object", "properties", jsontree.Obj("in", p)))
		c.rule("- move: {from: %q, to: %q}", from, memberPath(parent, name)+".in")
		c.schema(p, from, memberPath(parent, name)+".in", keep)
	case change == 2 && !required && keep:
		props.Delete(key)
		c.rule("- stash: {path: %q, maxBytes: 2000}", from)
	case change == 3 && !required:
		props.Delete(key)
		c.rule("- drop: {path: %q}", from)
	case change == 4:
		return c.list(s, key, p, from, parent, keep)
	case change == 5 && p.Get("enum") != nil && p.Get("default") == nil && !fixed(p):
		var texts []string
		values := p.Get("enum").Items
		for i, v := range values {
			if _, text := v.Text(); !text {
				return false
			}
			texts = append(texts, fmt.Sprintf("%s: value%d", v.Raw, i))
		}
		for i := range values {
			values[i] = jsontree.Str("value" + strconv.Itoa(i))
		}
		c.rule("- values: {path: %q, to: %q, map: {%s}}", from, memberPath(parent, key), strings.Join(texts, ", "))
	case change == 5 && keep:
		name := c.name("only")
		props.Set(name, p.Clone())
		c.rule("- stash: {path: %q, maxBytes: 2000}", memberPath(parent, name))
		return false // p itself is not changed
	default:
		return false
	}
	return true
}

// list makes a map of a list whose items have a key.
func (c *converter) list(s *jsontree.Node, key string, p *jsontree.Node, from, parent string, keep bool) bool {
	items := p.Get("items")
	name := "name"
	if keys := p.Get("x-kubernetes-list-map-keys").GetItems(); len(keys) == 1 {
		name, _ = keys[0].Text()
	}
	if kind, _ := items.At("properties", name, "type").Text(); kind != "string" || fixed(items) || p.Get("x-kubernetes-validations") != nil || p.Get("default") != nil {
		return false
	}
	items.Get("properties").Delete(name)
	renameProperty(items, name, "")
	values := jsontree.Obj("type", "object", "additionalProperties", items)
	for _, k := range [][2]string{{"maxItems", "maxProperties"}, {"minItems", "minProperties"}, {"nullable", "nullable"}} {
		if v := p.Get(k[0]); v != nil {
			values.Set(k[1], v)
		}
	}
	made := c.name("by")
	renameProperty(s, key, made)
	s.Get("properties").Set(made, values)
	c.rule("- list: {path: %q, key: %s, map: %q}", from, name, memberPath(parent, made))
	c.schema(items, from+"[*]", memberPath(parent, made)+"[*]", keep && p.Get("maxItems") != nil)
	return true
}

// renameProperty renames a property and its mention in required. An empty name removes the mention.
func renameProperty(s *jsontree.Node, from, to string) {
	props := s.Get("properties")
	if p := props.Get(from); p != nil {
		props.Delete(from)
		props.Set(to, p)
	}
	required := s.Get("required")
	if !has(required, from) {
		return
	}
	names := jsontree.Arr()
	for _, n := range required.Items {
		text, _ := n.Text()
		switch {
		case text != from:
			names.Items = append(names.Items, n)
		case to != "":
			names.Items = append(names.Items, jsontree.Str(to))
		}
	}
	if s.Delete("required"); len(names.Items) > 0 {
		s.Set("required", names)
	}
}

func has(list *jsontree.Node, text string) bool {
	for _, n := range list.GetItems() {
		if t, _ := n.Text(); t == text {
			return true
		}
	}
	return false
}

// memberPath returns the path of a member in conversion rules.
func memberPath(path, name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return path + "['" + name + "']"
		}
	}
	return path + "." + name
}
