package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Rules returns a group of a random schema with rules, and of objects that are mostly valid otherwise, because rules do
// not run after a blocking field error.
func Rules(r Rand) Group {
	crd, schema := ruled(r)
	g := Group{Name: "rules", CRD: crd.JSON()}
	for i := range 12 {
		o := objectOf(r, schema)
		switch {
		case i < 6:
		case i < 10:
			nudge(r, schema, o)
		default:
			Break(r, schema, o, i-9)
		}
		if r.Chance(3) {
			o.Set("kind", Pick(r, []string{"Other", ""}))
		}
		if m := o.Get("metadata"); r.Chance(10) && m != nil && m.Kind == jsontree.Object {
			m.Set("generateName", "x-")
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// ruled returns a CRD with rules.
func ruled(r Rand) (crd, schema *jsontree.Node) {
	switch r.IntN(10) {
	case 0, 1:
		schema = namesSchema(r)
	case 2, 3, 4:
		schema = rootOf("v", structural(r, 3, ""))
		schema.Get("properties").Set("w", structural(r, 1, ""))
	default:
		schema = Schema(r)
	}
	crd = Manifest(schema)
	if r.Chance(25) {
		crd.At("spec", "versions").Items[0].Set("subresources", jsontree.Obj("status", jsontree.Obj()))
		for _, forbidden := range []string{"x-kubernetes-map-type", "title", "anyOf", "oneOf", "allOf", "not", "x-kubernetes-preserve-unknown-fields"} {
			schema.Delete(forbidden)
		}
	}
	AddRules(r, schema)
	return crd, schema
}

// hardNames need escapes, or cannot be written in rules.
var hardNames = []string{"a-b", "a.b", "a/b", "a__b", "namespace", "in", "true", "var", "__dot__", "while", "1a", "a b", "é", "A", "a_b", "_", "__", "for", "int", "string", "self", "oldSelf", "size", "type", "a", "metadata", "kind"}

// namesSchema tests names of properties: in objects, as keys of map lists and as fields of values.
func namesSchema(r Rand) *jsontree.Node {
	props := jsontree.Obj()
	for range r.Between(2, 5) {
		props.Set(Pick(r, hardNames), structural(r, r.IntN(2), ""))
	}
	item := jsontree.Obj("type", "object", "properties", jsontree.Obj("n", jsontree.Obj("type", "integer")))
	keys := jsontree.Arr()
	for range Pick(r, []int{1, 1, 2, 3, 4, 5}) {
		key := Pick(r, hardNames)
		if item.Get("properties").Get(key) == nil {
			keys.Items = append(keys.Items, jsontree.Str(key))
			item.Get("properties").Set(key, Pick(r, []*jsontree.Node{jsontree.Obj("type", "string", "maxLength", 2), jsontree.Obj("type", "integer", "maximum", 3, "minimum", 1), jsontree.Obj("type", "boolean"), jsontree.Obj("type", "number", "maximum", 2, "minimum", 1)}).Clone())
		}
	}
	item.Set("required", keys)
	list := jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", keys.Clone(), "items", item)
	v := jsontree.Obj("type", "object", "properties", props.Set("list", list))
	if r.Chance(40) { // rules see and count nulls
		nulls := jsontree.Obj("type", "object", "maxProperties", 5, "additionalProperties", jsontree.Obj("type", Pick(r, []string{"string", "integer"}), "nullable", true))
		nulls.Set("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", Pick(r, []string{"size(self) < 3", "size(self) > 1", "self.all(k, k in ['a', 'b', 'c', 'x'])", "!('a' in self)", "self.map(k, k).size() == 2", "self == oldSelf", "has(self.b)"}))))
		props.Set("nulls", nulls)
	}
	if r.Chance(20) {
		v.Set("x-kubernetes-embedded-resource", true)
	}
	return rootOf("v", v)
}

// objectOf returns an object of the generated CRD that is probably valid.
func objectOf(r Rand, schema *jsontree.Node) *jsontree.Node {
	o := Envelope()
	for _, m := range Value(r, schema, 5).Members {
		if o.Get(m.Key) == nil {
			o.Members = append(o.Members, m)
		}
	}
	return o
}

// nudge replaces a value of an object by another one that is probably valid, or adds or removes a member or an item.
func nudge(r Rand, schema, object *jsontree.Node) {
	at := places(schema, object, nil, 0, nil)
	if len(at) < 2 {
		return
	}
	p := at[1+r.IntN(len(at)-1)]
	switch {
	case r.Chance(15):
		p.parent.RemoveChild(p.index)
	case p.value.Kind == jsontree.Array && p.schema.Get("items") != nil && r.Chance(60):
		p.value.Items = append(p.value.Items, Value(r, p.schema.Get("items"), 2))
	case r.Chance(10):
		p.parent.SetChild(p.index, edgeFor(r, p.schema))
	default:
		p.parent.SetChild(p.index, Value(r, p.schema, 3))
	}
}

// Limits returns a group whose rules run near the cost limits: 1,000,000 per call and 10,000,000 per object. Strings
// are long, because they add much cost and little time.
func Limits(r Rand) Group {
	switch r.IntN(12) {
	case 0:
		return folds(r)
	case 1, 2:
		return spent(r)
	}
	pattern := strings.Repeat("z", Pick(r, []int{96, 100, 400, 401}))
	costly := "self.matches('^" + pattern + "')"
	forms := []string{"!" + costly, costly, costly + " || true", "self.contains('" + pattern + "') == false", "true || " + costly, "self != '' && !" + costly, "1 / 0 == 1 || " + costly, costly + " && " + costly, costly + " || " + costly, "size(self) > 0 ? " + costly + " : true", "self.find('^" + pattern + "') == ''", "[1, 2, 3].exists(i, " + costly + ")"}
	props := jsontree.Obj()
	// Properties are visited in random order, so mostly there is one.
	names := []string{"s"}
	if r.Chance(10) {
		names = append(names, "t")
	}
	for _, n := range names {
		rules := jsontree.Arr()
		for range Pick(r, []int{1, 1, 2, 8, 10, 11, 12}) {
			rule := jsontree.Obj("rule", Pick(r, forms))
			if r.Chance(30) {
				rule.Set("messageExpression", Pick(r, []string{costly + " ? 'a' : 'b'", "self.matches('^" + pattern + "') || " + costly + " ? 'a' : ''", "string(1 / 0)", "self", "'text'"}))
			}
			if r.Chance(50) {
				rule.Set("message", "said")
			}
			rules.Items = append(rules.Items, rule)
		}
		props.Set(n, jsontree.Obj("type", "string", "maxLength", 130_000, "x-kubernetes-validations", rules))
	}
	g := Group{Name: "limits", CRD: Manifest(jsontree.Obj("type", "object", "properties", props)).JSON()}
	for range 4 {
		o := Envelope()
		for _, n := range names {
			// 1,000,000 is 10,000 tenths of a string by 100 quarters of a pattern.
			o.Set(n, strings.Repeat(Pick(r, []string{"a", "é"}), Pick(r, []int{1, 3000, 20_000, 99_960, 99_980, 99_990, 100_000, 100_010, 83_000, 90_900, 91_000, 95_000, 120_000})))
		}
		g.Objects = append(g.Objects, Object{Version: version1, Body: o.JSON()})
	}
	return g
}

// spent uses the budget of an object up to the last unit, or nearly, before the next rules run.
func spent(r Rand) Group {
	// A call that costs 1,000,000: 2 for self.s, and 7,874 tenths of a string times 127 quarters of a pattern.
	holds, fails := "self.s.matches('^"+strings.Repeat("a", 507)+"')", "self.s.matches('^"+strings.Repeat("z", 507)+"')"
	exact := jsontree.Obj("rule", holds, "message", "m")
	failing := jsontree.Obj("rule", fails, "messageExpression", fails+" ? 'a' : 'b'")
	rules := jsontree.Arr()
	for range Pick(r, []int{9, 10, 10, 10, 11}) {
		rules.Items = append(rules.Items, Pick(r, []*jsontree.Node{exact, exact, exact, exact, exact, exact, exact, exact, exact, failing}))
	}
	next := jsontree.Arr(jsontree.Obj("rule", "self.n > 1"), jsontree.Obj("rule", "self.n > 2"))
	v := jsontree.Obj("type", "object", "x-kubernetes-validations", rules, "properties", jsontree.Obj("s", jsontree.Obj("type", "string", "maxLength", 80_000), "o",
		jsontree.Obj("type", "object", "properties", jsontree.Obj("n", jsontree.Obj("type", "integer")), "x-kubernetes-validations", next)))
	root := rootOf("v", v)
	switch r.IntN(3) {
	case 0:
		root = rootOf("v", jsontree.Obj("type", "array", "maxItems", 2, "items", v))
	case 1:
		root = rootOf("v", jsontree.Obj("type", "object", "maxProperties", 2, "additionalProperties", v))
	}
	g := Group{Name: "spent", CRD: Manifest(root).JSON()}
	for range 4 {
		o := jsontree.Obj("s", strings.Repeat("a", Pick(r, []int{78_735, 78_735, 78_735, 78_720, 78_745, 50_000})), "o", jsontree.Obj("n", r.Between(1, 3)))
		switch t, _ := root.At("properties", "v", "type").Text(); {
		case t == "array":
			o = jsontree.Arr(o, o.Clone())
		case root.At("properties", "v", "additionalProperties") != nil:
			o = jsontree.Obj("k", o)
		}
		g.Objects = append(g.Objects, Object{Version: version1, Body: Envelope(jsontree.Member{Key: "v", Value: o}).JSON()})
	}
	return g
}

// folds uses loops to add cost. There are few objects, because upstream is slow with them.
func folds(r Rand) Group {
	rule := Pick(r, []string{"self.all(a, self.all(b, a != b || a == b))", "self.all(a, self.exists(b, a == b))", "self.map(a, self.map(b, a + b).sum()).sum() >= 0", "!self.exists(a, self.all(b, a > b))", "self.filter(a, self.filter(b, b == a).size() > 1).size() == 0", "self.distinct().size() == size(self)",
		"self.all(a, lists.range(100).all(b, b >= 0))", "self.sort() == self", "self.all(i, a, self.all(j, b, i == j || a != b))"})
	rules := jsontree.Arr()
	for range Pick(r, []int{1, 1, 3}) {
		rules.Items = append(rules.Items, jsontree.Obj("rule", rule, "message", "m"))
	}
	g := Group{Name: "folds", CRD: Manifest(rootOf("l", jsontree.Obj("type", "array", "maxItems", 600, "items", jsontree.Obj("type", "integer"), "x-kubernetes-validations", rules))).JSON()}
	for range 2 {
		list := jsontree.Arr()
		for i := range Pick(r, []int{10, 60, 120, 240, 300}) {
			list.Items = append(list.Items, jsontree.Int(int64(i)))
		}
		g.Objects = append(g.Objects, Object{Version: version1, Body: Envelope(jsontree.Member{Key: "l", Value: list}).JSON()})
	}
	return g
}
