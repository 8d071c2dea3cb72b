package generate

import (
	"regexp"
	"sort"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Mutants is the number of single mutations of the corpus: every node of every CRD, every mutation.
func (c *Real) Mutants() int { return c.sites[len(c.sites)-1] * mutations }

// mutations is the number of mutations of a node.
const mutations = 12

// Mutant returns the group of the i-th single mutation. The CRD is reduced to the surroundings of the mutated node,
// because upstream's time grows with the CRD and its checks are mostly local. Some objects are generated, in case the
// mutant is accepted.
func (c *Real) Mutant(r Rand, i int) Group {
	i %= c.Mutants()
	site, mutation := i/mutations, i%mutations
	which := sort.Search(len(c.small), func(k int) bool { return c.sites[k+1] > site })
	cut := cutter{r: r, path: pathTo(c.small[which], site-c.sites[which]+1)}
	crd := cut.copy(c.small[which], cut.path, false, false, 5, nil, nil)
	parent, index := cut.parent, cut.index
	mutateDefinition(r, parent, index, mutation)
	g := Group{Name: "mutant of " + c.corpus.CRDs[which].Name, CRD: crd.JSON()}
	g.Objects = objectsFor(r, crd, 2)
	return g
}

// objectsFor generates objects for a served version, if the CRD has one.
func objectsFor(r Rand, crd *jsontree.Node, n int) []Object {
	versions := crd.At("spec", "versions")
	if versions == nil || len(versions.Items) == 0 {
		return nil
	}
	v := Pick(r, versions.Items)
	name, _ := v.Get("name").Text()
	schema := v.At("schema", "openAPIV3Schema")
	if schema == nil {
		schema = crd.At("spec", "validation", "openAPIV3Schema")
	}
	groupName, _ := crd.At("spec", "group").Text()
	kindName, _ := crd.At("spec", "names", "kind").Text()
	if schema == nil || schema.Kind != jsontree.Object || !v.Get("served").IsTrue() {
		return nil
	}
	var out []Object
	for k := range n {
		o := jsontree.Obj("apiVersion", groupName+"/"+name, "kind", kindName, "metadata", jsontree.Obj("name", "x"))
		scope, _ := crd.At("spec", "scope").Text()
		identify(o, scope)
		for _, m := range Value(r, schema, 6).Members {
			if o.Get(m.Key) == nil {
				o.Members = append(o.Members, m)
			}
		}
		Break(r, schema, o, k%3)
		out = append(out, Object{Version: name, Body: o.JSON()})
	}
	return out
}

// pathTo returns the child indexes from the root to the n-th node in document order.
func pathTo(root *jsontree.Node, n int) []int {
	var path []int
	var find func(node *jsontree.Node) bool
	find = func(node *jsontree.Node) bool {
		if n == 0 {
			return true
		}
		n--
		for k := range node.Len() {
			path = append(path, k)
			if find(node.Child(k)) {
				return true
			}
			path = path[:len(path)-1]
		}
		return false
	}
	find(root)
	return path
}

// cutter copies a CRD without most of what is neither on the path to a node nor close below it.
type cutter struct {
	r      Rand
	path   []int
	parent *jsontree.Node // the copy of the target node
	index  int
}

// copy copies a node. path is the path from it to the target node, or nil outside of this path. inSchema means that it
// is a schema or part of one; properties that its members are properties. budget is the number of levels to keep below
// the path. held are properties that must stay. words are those of the rules above: properties that rules use stay.
func (c *cutter) copy(
	n *jsontree.Node, path []int, inSchema, properties bool, budget int, held, words map[string]bool,
) *jsontree.Node {
	out := &jsontree.Node{Kind: n.Kind, Raw: n.Raw}
	if rules := n.Get("x-kubernetes-validations"); inSchema && n.Kind == jsontree.Object && rules != nil {
		words = wordsOf(rules, words)
	}
	var ours map[string]bool
	if inSchema && n.Kind == jsontree.Object && n.Get("properties") != nil {
		ours = keysOf(n)
	}
	for k := range n.Len() {
		child, key := n.Child(k), ""
		if n.Kind == jsontree.Object {
			key = n.Members[k].Key
		}
		var on []int
		if len(path) > 0 && path[0] == k {
			on = path[1:]
			if on == nil {
				on = []int{}
			}
		}
		if properties && on == nil && !held[key] && !words[key] && (budget <= 0 || !c.r.Chance(25)) {
			continue
		}
		if inSchema && !properties && on == nil && key == "x-kubernetes-validations" && !c.r.Chance(12) {
			continue // compiling rules takes longer than the rest of a CRD
		}
		left := budget
		if on == nil && inSchema {
			left--
		}
		below := inSchema && key == "properties" && child.Kind == jsontree.Object
		copied := c.copy(child, on, inSchema || key == "schema", below, left, ours, words)
		if len(path) == 1 && path[0] == k {
			c.parent, c.index = out, out.Len()
		}
		if n.Kind == jsontree.Object {
			out.Members = append(out.Members, jsontree.Member{Key: key, RawKey: n.Members[k].RawKey, Value: copied})
		} else {
			out.Items = append(out.Items, copied)
		}
	}
	return out
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// wordsOf adds the words of rules to the words above.
func wordsOf(rules *jsontree.Node, above map[string]bool) map[string]bool {
	words := map[string]bool{}
	for w := range above {
		words[w] = true
	}
	for _, rule := range rules.GetItems() {
		for _, key := range []string{"rule", "messageExpression", "fieldPath"} {
			text, _ := rule.Get(key).Text()
			for _, w := range word.FindAllString(text, -1) {
				words[strings.ReplaceAll(strings.ReplaceAll(w, "__dash__", "-"), "__dot__", ".")] = true
			}
		}
	}
	return words
}

// keysOf returns the properties that a schema's own keywords refer to.
func keysOf(s *jsontree.Node) map[string]bool {
	held := map[string]bool{"apiVersion": true, "kind": true, "metadata": true}
	var collect func(v *jsontree.Node)
	collect = func(v *jsontree.Node) {
		if v == nil {
			return
		}
		for _, m := range v.Get("properties").GetMembers() {
			held[m.Key] = true
		}
		for _, j := range []string{"allOf", "anyOf", "oneOf"} {
			if b := v.Get(j); b != nil {
				for _, e := range b.Items {
					collect(e)
				}
			}
		}
		collect(v.Get("not"))
	}
	for _, j := range []string{"allOf", "anyOf", "oneOf"} {
		if b := s.Get(j); b != nil {
			for _, e := range b.Items {
				collect(e)
			}
		}
	}
	collect(s.Get("not"))
	if req := s.Get("required"); req != nil {
		for _, e := range req.Items {
			if name, ok := e.Text(); ok {
				held[name] = true
			}
		}
	}
	return held
}

// extras are keywords with values that are added to a schema.
var extras = []jsontree.Member{
	{Key: "type", Value: jsontree.Str("null")}, {Key: "type", Value: jsontree.Str("integer")}, {Key: "type", Value: jsontree.Str("bogus")}, {Key: "type", Value: jsontree.Str("")},
	{Key: "nullable", Value: jsontree.Bool(true)}, {Key: "default", Value: jsontree.Str("x")}, {Key: "default", Value: jsontree.Null()}, {Key: "default", Value: jsontree.Obj("unknown", 1)}, {Key: "default", Value: jsontree.Arr()},
	{Key: "enum", Value: jsontree.Arr()}, {Key: "enum", Value: jsontree.Arr(jsontree.Int(1), jsontree.Str("a"))}, {Key: "format", Value: jsontree.Str("no-such")}, {Key: "format", Value: jsontree.Str("date-time")}, {Key: "pattern", Value: jsontree.Str("(?=a)")},
	{Key: "pattern", Value: jsontree.Str("^a$")}, {Key: "uniqueItems", Value: jsontree.Bool(true)}, {Key: "$ref", Value: jsontree.Str("#/x")}, {Key: "id", Value: jsontree.Str("x")}, {Key: "$schema", Value: jsontree.Str("http://json-schema.org/schema#")},
	{Key: "definitions", Value: jsontree.Obj("x", jsontree.Obj("type", "string"))}, {Key: "dependencies", Value: jsontree.Obj("x", jsontree.Arr(jsontree.Str("y")))}, {Key: "dependencies", Value: jsontree.Obj("x", jsontree.Obj("type", "string"))},
	{Key: "patternProperties", Value: jsontree.Obj("^x", jsontree.Obj("type", "string"))}, {Key: "additionalItems", Value: jsontree.Bool(true)}, {Key: "additionalItems", Value: jsontree.Obj("type", "string")},
	{Key: "additionalProperties", Value: jsontree.Bool(true)}, {Key: "additionalProperties", Value: jsontree.Bool(false)}, {Key: "additionalProperties", Value: jsontree.Obj("type", "string")}, {Key: "additionalProperties", Value: jsontree.Obj()},
	{Key: "properties", Value: jsontree.Obj("p", jsontree.Obj("type", "string"))}, {Key: "properties", Value: jsontree.Obj("p", jsontree.Obj())}, {Key: "properties", Value: jsontree.Obj("metadata", jsontree.Obj("type", "object", "properties", jsontree.Obj("name", jsontree.Obj("type", "string", "default", "x"))))},
	{Key: "properties", Value: jsontree.Obj("metadata", jsontree.Obj("type", "string"), "kind", jsontree.Obj("type", "integer"), "apiVersion", jsontree.Obj("type", "string", "default", "v1"))},
	{Key: "items", Value: jsontree.Obj("type", "string")}, {Key: "items", Value: jsontree.Arr(jsontree.Obj("type", "string"))}, {Key: "items", Value: jsontree.Obj()}, {Key: "items", Value: jsontree.Obj("type", "string", "nullable", true)},
	{Key: "required", Value: jsontree.Arr(jsontree.Str("p"), jsontree.Str("p"))}, {Key: "required", Value: jsontree.Arr()},
	{Key: "allOf", Value: jsontree.Arr(jsontree.Obj("type", "string"))}, {Key: "anyOf", Value: jsontree.Arr(jsontree.Obj("properties", jsontree.Obj("undeclared", jsontree.Obj("minLength", 1))))}, {Key: "oneOf", Value: jsontree.Arr(jsontree.Obj("required", jsontree.Arr(jsontree.Str("p"))))},
	{Key: "not", Value: jsontree.Obj("description", "x", "title", "t", "default", 1, "nullable", true)}, {Key: "anyOf", Value: jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string"))},
	{Key: "not", Value: jsontree.Obj("x-kubernetes-preserve-unknown-fields", true, "x-kubernetes-embedded-resource", true, "x-kubernetes-int-or-string", true, "x-kubernetes-list-type", "set", "x-kubernetes-map-type", "atomic", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("a")))},
	{Key: "allOf", Value: jsontree.Arr(jsontree.Obj("additionalProperties", jsontree.Obj("minLength", 1), "items", jsontree.Obj("minLength", 1)))}, {Key: "allOf", Value: jsontree.Arr(jsontree.Obj("anyOf", jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string"))), jsontree.Obj("type", "string"))},
	{Key: "not", Value: jsontree.Obj("pattern", "(", "items", jsontree.Obj("pattern", "("), "properties", jsontree.Obj("p", jsontree.Obj("pattern", "[")))},
	{Key: "x-kubernetes-preserve-unknown-fields", Value: jsontree.Bool(true)}, {Key: "x-kubernetes-preserve-unknown-fields", Value: jsontree.Bool(false)}, {Key: "x-kubernetes-embedded-resource", Value: jsontree.Bool(true)},
	{Key: "x-kubernetes-int-or-string", Value: jsontree.Bool(true)}, {Key: "x-kubernetes-list-type", Value: jsontree.Str("set")}, {Key: "x-kubernetes-list-type", Value: jsontree.Str("map")}, {Key: "x-kubernetes-list-type", Value: jsontree.Str("bogus")},
	{Key: "x-kubernetes-list-map-keys", Value: jsontree.Arr(jsontree.Str("name"))}, {Key: "x-kubernetes-list-map-keys", Value: jsontree.Arr(jsontree.Str("name"), jsontree.Str("name"))}, {Key: "x-kubernetes-list-map-keys", Value: jsontree.Arr()}, {Key: "x-kubernetes-map-type", Value: jsontree.Str("atomic")}, {Key: "x-kubernetes-map-type", Value: jsontree.Str("bogus")},
	{Key: "minLength", Value: jsontree.Int(-1)}, {Key: "maxItems", Value: jsontree.Raw("1.5")}, {Key: "minimum", Value: jsontree.Str("1")}, {Key: "multipleOf", Value: jsontree.Int(0)}, {Key: "multipleOf", Value: jsontree.Int(-1)}, {Key: "exclusiveMinimum", Value: jsontree.Int(1)}, {Key: "minimum", Value: jsontree.Raw("1e400")},
	{Key: "allOf", Value: jsontree.Arr(jsontree.Obj("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", "true"))))}, {Key: "unknownKeyword", Value: jsontree.Int(1)}, {Key: "example", Value: jsontree.Obj("a", nil)}, {Key: "externalDocs", Value: jsontree.Obj("url", "x")}, {Key: "title", Value: jsontree.Str("t")}, {Key: "description", Value: jsontree.Str("d")},
	{Key: "x-kubernetes-unknown", Value: jsontree.Bool(true)}, {Key: "maximum", Value: jsontree.Raw("0.1")}, {Key: "Type", Value: jsontree.Str("string")},
}

// mutateDefinition applies one of the mutations to a node.
func mutateDefinition(r Rand, parent *jsontree.Node, index, mutation int) {
	old := parent.Child(index)
	switch mutation {
	case 0:
		parent.RemoveChild(index)
	case 1:
		parent.SetChild(index, jsontree.Null())
	case 2:
		parent.SetChild(index, Pick(r, []*jsontree.Node{jsontree.Str(""), jsontree.Str("x"), jsontree.Int(0), jsontree.Int(1), jsontree.Bool(true), jsontree.Bool(false), jsontree.Raw("1.5")}))
	case 3:
		parent.SetChild(index, Pick(r, []*jsontree.Node{jsontree.Arr(), jsontree.Obj(), jsontree.Arr(old.Clone()), jsontree.Obj("a", old.Clone())}))
	case 4:
		if parent.Kind == jsontree.Object {
			parent.Members = append(parent.Members, jsontree.Member{Key: parent.Members[index].Key, Value: old.Clone()})
		} else {
			parent.Items = append(parent.Items, old.Clone())
		}
	case 5:
		if text, ok := old.Text(); ok {
			parent.SetChild(index, jsontree.Str(mutateText(r, text)))
		} else {
			parent.SetChild(index, near(r, old))
		}
	case 6:
		if text, ok := old.Text(); ok {
			parent.SetChild(index, jsontree.Str(Pick(r, []string{"string", "integer", "number", "boolean", "object", "array", "null", "any", strings.ToUpper(text), strings.Repeat("a", 70), "a b", "é"})))
		} else {
			parent.SetChild(index, Any(r, 2))
		}
	case 7, 8:
		if parent.Kind == jsontree.Object {
			e := Pick(r, extras)
			parent.Set(e.Key, e.Value.Clone())
		} else {
			parent.Items = append(parent.Items, Any(r, 1))
		}
	case 9, 10:
		target := old
		if old.Kind != jsontree.Object {
			target = parent
		}
		if target.Kind == jsontree.Object {
			e := Pick(r, extras)
			target.Set(e.Key, e.Value.Clone())
			if r.Chance(30) {
				e = Pick(r, extras)
				target.Set(e.Key, e.Value.Clone())
			}
		}
	case 11:
		if parent.Kind == jsontree.Object {
			m := &parent.Members[index]
			if r.Chance(50) {
				m.Key = Pick(r, extras).Key
			} else {
				m.Key = mutateText(r, m.Key)
			}
		} else {
			parent.SetChild(index, Pick(r, extras).Value.Clone())
		}
	}
}
