package generate

import (
	"regexp"
	"sort"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/tree"
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
func objectsFor(r Rand, crd *tree.Node, n int) []Object {
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
	if schema == nil || schema.Kind != tree.Object || !v.Get("served").IsTrue() {
		return nil
	}
	var out []Object
	for k := range n {
		o := tree.Obj("apiVersion", groupName+"/"+name, "kind", kindName, "metadata", tree.Obj("name", "x"))
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
func pathTo(root *tree.Node, n int) []int {
	var path []int
	var find func(node *tree.Node) bool
	find = func(node *tree.Node) bool {
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
	parent *tree.Node // the copy of the target node
	index  int
}

// copy copies a node. path is the path from it to the target node, or nil outside of this path. inSchema means that it
// is a schema or part of one; properties that its members are properties. budget is the number of levels to keep below
// the path. held are properties that must stay. words are those of the rules above: properties that rules use stay.
func (c *cutter) copy(
	n *tree.Node, path []int, inSchema, properties bool, budget int, held, words map[string]bool,
) *tree.Node {
	out := &tree.Node{Kind: n.Kind, Raw: n.Raw}
	if rules := n.Get("x-kubernetes-validations"); inSchema && n.Kind == tree.Object && rules != nil {
		words = wordsOf(rules, words)
	}
	var ours map[string]bool
	if inSchema && n.Kind == tree.Object && n.Get("properties") != nil {
		ours = keysOf(n)
	}
	for k := range n.Len() {
		child, key := n.Child(k), ""
		if n.Kind == tree.Object {
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
		below := inSchema && key == "properties" && child.Kind == tree.Object
		copied := c.copy(child, on, inSchema || key == "schema", below, left, ours, words)
		if len(path) == 1 && path[0] == k {
			c.parent, c.index = out, out.Len()
		}
		if n.Kind == tree.Object {
			out.Members = append(out.Members, tree.Member{Key: key, RawKey: n.Members[k].RawKey, Value: copied})
		} else {
			out.Items = append(out.Items, copied)
		}
	}
	return out
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// wordsOf adds the words of rules to the words above.
func wordsOf(rules *tree.Node, above map[string]bool) map[string]bool {
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
func keysOf(s *tree.Node) map[string]bool {
	held := map[string]bool{"apiVersion": true, "kind": true, "metadata": true}
	var collect func(v *tree.Node)
	collect = func(v *tree.Node) {
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
var extras = []tree.Member{
	{Key: "type", Value: tree.Str("null")}, {Key: "type", Value: tree.Str("integer")}, {Key: "type", Value: tree.Str("bogus")}, {Key: "type", Value: tree.Str("")},
	{Key: "nullable", Value: tree.Bool(true)}, {Key: "default", Value: tree.Str("x")}, {Key: "default", Value: tree.Null()}, {Key: "default", Value: tree.Obj("unknown", 1)}, {Key: "default", Value: tree.Arr()},
	{Key: "enum", Value: tree.Arr()}, {Key: "enum", Value: tree.Arr(tree.Int(1), tree.Str("a"))}, {Key: "format", Value: tree.Str("no-such")}, {Key: "format", Value: tree.Str("date-time")}, {Key: "pattern", Value: tree.Str("(?=a)")},
	{Key: "pattern", Value: tree.Str("^a$")}, {Key: "uniqueItems", Value: tree.Bool(true)}, {Key: "$ref", Value: tree.Str("#/x")}, {Key: "id", Value: tree.Str("x")}, {Key: "$schema", Value: tree.Str("http://json-schema.org/schema#")},
	{Key: "definitions", Value: tree.Obj("x", tree.Obj("type", "string"))}, {Key: "dependencies", Value: tree.Obj("x", tree.Arr(tree.Str("y")))}, {Key: "dependencies", Value: tree.Obj("x", tree.Obj("type", "string"))},
	{Key: "patternProperties", Value: tree.Obj("^x", tree.Obj("type", "string"))}, {Key: "additionalItems", Value: tree.Bool(true)}, {Key: "additionalItems", Value: tree.Obj("type", "string")},
	{Key: "additionalProperties", Value: tree.Bool(true)}, {Key: "additionalProperties", Value: tree.Bool(false)}, {Key: "additionalProperties", Value: tree.Obj("type", "string")}, {Key: "additionalProperties", Value: tree.Obj()},
	{Key: "properties", Value: tree.Obj("p", tree.Obj("type", "string"))}, {Key: "properties", Value: tree.Obj("p", tree.Obj())}, {Key: "properties", Value: tree.Obj("metadata", tree.Obj("type", "object", "properties", tree.Obj("name", tree.Obj("type", "string", "default", "x"))))},
	{Key: "properties", Value: tree.Obj("metadata", tree.Obj("type", "string"), "kind", tree.Obj("type", "integer"), "apiVersion", tree.Obj("type", "string", "default", "v1"))},
	{Key: "items", Value: tree.Obj("type", "string")}, {Key: "items", Value: tree.Arr(tree.Obj("type", "string"))}, {Key: "items", Value: tree.Obj()}, {Key: "items", Value: tree.Obj("type", "string", "nullable", true)},
	{Key: "required", Value: tree.Arr(tree.Str("p"), tree.Str("p"))}, {Key: "required", Value: tree.Arr()},
	{Key: "allOf", Value: tree.Arr(tree.Obj("type", "string"))}, {Key: "anyOf", Value: tree.Arr(tree.Obj("properties", tree.Obj("undeclared", tree.Obj("minLength", 1))))}, {Key: "oneOf", Value: tree.Arr(tree.Obj("required", tree.Arr(tree.Str("p"))))},
	{Key: "not", Value: tree.Obj("description", "x", "title", "t", "default", 1, "nullable", true)}, {Key: "anyOf", Value: tree.Arr(tree.Obj("type", "integer"), tree.Obj("type", "string"))},
	{Key: "not", Value: tree.Obj("x-kubernetes-preserve-unknown-fields", true, "x-kubernetes-embedded-resource", true, "x-kubernetes-int-or-string", true, "x-kubernetes-list-type", "set", "x-kubernetes-map-type", "atomic", "x-kubernetes-list-map-keys", tree.Arr(tree.Str("a")))},
	{Key: "allOf", Value: tree.Arr(tree.Obj("additionalProperties", tree.Obj("minLength", 1), "items", tree.Obj("minLength", 1)))}, {Key: "allOf", Value: tree.Arr(tree.Obj("anyOf", tree.Arr(tree.Obj("type", "integer"), tree.Obj("type", "string"))), tree.Obj("type", "string"))},
	{Key: "not", Value: tree.Obj("pattern", "(", "items", tree.Obj("pattern", "("), "properties", tree.Obj("p", tree.Obj("pattern", "[")))},
	{Key: "x-kubernetes-preserve-unknown-fields", Value: tree.Bool(true)}, {Key: "x-kubernetes-preserve-unknown-fields", Value: tree.Bool(false)}, {Key: "x-kubernetes-embedded-resource", Value: tree.Bool(true)},
	{Key: "x-kubernetes-int-or-string", Value: tree.Bool(true)}, {Key: "x-kubernetes-list-type", Value: tree.Str("set")}, {Key: "x-kubernetes-list-type", Value: tree.Str("map")}, {Key: "x-kubernetes-list-type", Value: tree.Str("bogus")},
	{Key: "x-kubernetes-list-map-keys", Value: tree.Arr(tree.Str("name"))}, {Key: "x-kubernetes-list-map-keys", Value: tree.Arr(tree.Str("name"), tree.Str("name"))}, {Key: "x-kubernetes-list-map-keys", Value: tree.Arr()}, {Key: "x-kubernetes-map-type", Value: tree.Str("atomic")}, {Key: "x-kubernetes-map-type", Value: tree.Str("bogus")},
	{Key: "minLength", Value: tree.Int(-1)}, {Key: "maxItems", Value: tree.Raw("1.5")}, {Key: "minimum", Value: tree.Str("1")}, {Key: "multipleOf", Value: tree.Int(0)}, {Key: "multipleOf", Value: tree.Int(-1)}, {Key: "exclusiveMinimum", Value: tree.Int(1)}, {Key: "minimum", Value: tree.Raw("1e400")},
	{Key: "allOf", Value: tree.Arr(tree.Obj("x-kubernetes-validations", tree.Arr(tree.Obj("rule", "true"))))}, {Key: "unknownKeyword", Value: tree.Int(1)}, {Key: "example", Value: tree.Obj("a", nil)}, {Key: "externalDocs", Value: tree.Obj("url", "x")}, {Key: "title", Value: tree.Str("t")}, {Key: "description", Value: tree.Str("d")},
	{Key: "x-kubernetes-unknown", Value: tree.Bool(true)}, {Key: "maximum", Value: tree.Raw("0.1")}, {Key: "Type", Value: tree.Str("string")},
}

// mutateDefinition applies one of the mutations to a node.
func mutateDefinition(r Rand, parent *tree.Node, index, mutation int) {
	old := parent.Child(index)
	switch mutation {
	case 0:
		parent.RemoveChild(index)
	case 1:
		parent.SetChild(index, tree.Null())
	case 2:
		parent.SetChild(index, Pick(r, []*tree.Node{tree.Str(""), tree.Str("x"), tree.Int(0), tree.Int(1), tree.Bool(true), tree.Bool(false), tree.Raw("1.5")}))
	case 3:
		parent.SetChild(index, Pick(r, []*tree.Node{tree.Arr(), tree.Obj(), tree.Arr(old.Clone()), tree.Obj("a", old.Clone())}))
	case 4:
		if parent.Kind == tree.Object {
			parent.Members = append(parent.Members, tree.Member{Key: parent.Members[index].Key, Value: old.Clone()})
		} else {
			parent.Items = append(parent.Items, old.Clone())
		}
	case 5:
		if text, ok := old.Text(); ok {
			parent.SetChild(index, tree.Str(mutateText(r, text)))
		} else {
			parent.SetChild(index, near(r, old))
		}
	case 6:
		if text, ok := old.Text(); ok {
			parent.SetChild(index, tree.Str(Pick(r, []string{"string", "integer", "number", "boolean", "object", "array", "null", "any", strings.ToUpper(text), strings.Repeat("a", 70), "a b", "é"})))
		} else {
			parent.SetChild(index, Any(r, 2))
		}
	case 7, 8:
		if parent.Kind == tree.Object {
			e := Pick(r, extras)
			parent.Set(e.Key, e.Value.Clone())
		} else {
			parent.Items = append(parent.Items, Any(r, 1))
		}
	case 9, 10:
		target := old
		if old.Kind != tree.Object {
			target = parent
		}
		if target.Kind == tree.Object {
			e := Pick(r, extras)
			target.Set(e.Key, e.Value.Clone())
			if r.Chance(30) {
				e = Pick(r, extras)
				target.Set(e.Key, e.Value.Clone())
			}
		}
	case 11:
		if parent.Kind == tree.Object {
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
