package generate

import (
	"slices"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// keyword is a keyword of a schema, the base types that can have it, and how to add it.
type keyword struct {
	name   string
	bases  []string
	triple bool // also combined in triples
	say    func(r Rand, s *jsontree.Node)
}

const (
	anyBase  = "*"
	intOrStr = "int-or-string"
	untyped  = "untyped"
)

// bases are the schemas that keywords are added to.
var bases = []string{"string", "integer", "number", "boolean", "object", "map", "array", intOrStr, untyped, "embedded"}

func base(r Rand, name string) *jsontree.Node {
	switch name {
	case "object":
		return jsontree.Obj("type", "object", "properties", jsontree.Obj("a", jsontree.Obj("type", "string"), "b", jsontree.Obj("type", "integer", "default", 1), "n", jsontree.Obj("type", "object", "properties", jsontree.Obj("x", jsontree.Obj("type", "string")))))
	case "map":
		return jsontree.Obj("type", "object", "additionalProperties", jsontree.Obj("type", "integer"))
	case "array":
		return jsontree.Obj("type", "array", "items", jsontree.Obj("type", Pick(r, []string{"string", "integer"})))
	case intOrStr:
		return jsontree.Obj("x-kubernetes-int-or-string", true)
	case untyped:
		return jsontree.Obj("x-kubernetes-preserve-unknown-fields", true)
	case "embedded":
		return jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true)
	}
	return jsontree.Obj("type", name)
}

func set(key string, values ...any) func(Rand, *jsontree.Node) {
	return func(r Rand, s *jsontree.Node) { s.Set(key, jsontree.From(Pick(r, values)).Clone()) }
}

func lit(s string) *jsontree.Node { return jsontree.Raw(s) }

var (
	numeric    = []string{"integer", "number", intOrStr}
	stringlike = []string{"string", intOrStr}
	objectlike = []string{"object", "map", "embedded"}
)

var keywords = []keyword{
	{"nullable", []string{anyBase}, true, set("nullable", true)},
	{"default", []string{anyBase}, true, func(r Rand, s *jsontree.Node) {
		if d := Value(r, s, 2); d.Raw != "null" {
			s.Set("default", d)
		}
	}},
	{"default null", []string{anyBase}, false, set("default", nil)},
	{"default empty", []string{"object", "map", "array"}, false, func(_ Rand, s *jsontree.Node) {
		if t, _ := s.Get("type").Text(); t == "array" {
			s.Set("default", jsontree.Arr())
		} else {
			s.Set("default", jsontree.Obj())
		}
	}},
	{"enum", []string{anyBase}, true, func(r Rand, s *jsontree.Node) { s.Set("enum", jsontree.Arr(Value(r, s, 2), Value(r, s, 2))) }},
	{"enum mixed", []string{"string", "integer", "number", intOrStr, untyped}, false, func(_ Rand, s *jsontree.Node) {
		s.Set("enum", jsontree.Arr(jsontree.Str("A"), jsontree.Int(65), lit("1.5"), jsontree.Null(), jsontree.Bool(true), lit("1e3"), jsontree.Obj("a", 1), jsontree.Arr(jsontree.Int(1))))
	}},
	{"format", []string{"string", "integer", "number", intOrStr, "object", "array", "boolean"}, true, func(r Rand, s *jsontree.Node) { s.Set("format", Pick(r, FormatNames)) }},
	{"int format", numeric, false, set("format", "int32", "int64", "float", "double")},
	{"pattern", stringlike, false, func(r Rand, s *jsontree.Node) { s.Set("pattern", Pick(r, Patterns).Re) }},
	{"minLength", stringlike, false, set("minLength", 0, 1, 2, 3)},
	{"maxLength", stringlike, false, set("maxLength", 0, 1, 2, 3)},
	{"minimum", numeric, false, set("minimum", lit("0"), lit("1"), lit("1.5"), lit("-1"), lit("1e6"), lit("9007199254740993"))},
	{"maximum", numeric, false, set("maximum", lit("0"), lit("1"), lit("1.5"), lit("3"), lit("1e21"), lit("9223372036854775807"))},
	{"exclusiveMinimum", numeric, false, func(_ Rand, s *jsontree.Node) { s.Set("minimum", 1).Set("exclusiveMinimum", true) }},
	{"exclusiveMaximum", numeric, false, func(_ Rand, s *jsontree.Node) { s.Set("maximum", 3).Set("exclusiveMaximum", true) }},
	{"exclusive alone", numeric, false, set("exclusiveMaximum", true)},
	{"multipleOf", numeric, false, set("multipleOf", lit("2"), lit("0.5"), lit("0.1"), lit("3"), lit("1e3"))},
	{"minItems", []string{"array"}, false, set("minItems", 1, 2)},
	{"maxItems", []string{"array"}, false, set("maxItems", 0, 1, 2)},
	{"minProperties", objectlike, false, set("minProperties", 1, 2, 3)},
	{"maxProperties", objectlike, false, set("maxProperties", 0, 1, 2)},
	{"required", objectlike, false, set("required", jsontree.Arr(jsontree.Str("a")), jsontree.Arr(jsontree.Str("a"), jsontree.Str("b"), jsontree.Str("zz")))},
	{"wrong keyword", []string{anyBase}, false, func(r Rand, s *jsontree.Node) { // a constraint of another type has no effect
		s.Set(Pick(r, []string{"maxItems", "maxLength", "maximum", "maxProperties", "minItems", "minLength", "minimum", "minProperties", "multipleOf"}), 1)
	}},
	{"preserve", []string{"object", "array", "string", "integer"}, true, set("x-kubernetes-preserve-unknown-fields", true)},
	{"embedded", []string{"object"}, true, set("x-kubernetes-embedded-resource", true)},
	{"int-or-string", []string{intOrStr, "string", "integer"}, true, set("x-kubernetes-int-or-string", true)},
	{"list atomic", []string{"array"}, false, set("x-kubernetes-list-type", "atomic")},
	{"list set", []string{"array"}, true, func(r Rand, s *jsontree.Node) {
		s.Set("x-kubernetes-list-type", "set")
		if r.Chance(60) {
			s.Set("items", Pick(r, []*jsontree.Node{jsontree.Obj("type", "number"), jsontree.Obj("type", "object", "x-kubernetes-map-type", "atomic", "properties", jsontree.Obj("a", jsontree.Obj("type", "number"))),
				jsontree.Obj("type", "array", "x-kubernetes-list-type", "atomic", "items", jsontree.Obj("type", "number")), jsontree.Obj("x-kubernetes-int-or-string", true), jsontree.Obj("type", "boolean")}).Clone())
		}
	}},
	{"list map", []string{"array"}, true, func(r Rand, s *jsontree.Node) { mapList(r, s, 1) }},
	{"map type", objectlike, false, set("x-kubernetes-map-type", "granular", "atomic")},
	{"additional true", []string{"map"}, false, set("additionalProperties", true)},
	{"additional false", []string{"map"}, false, set("additionalProperties", false)},
	{"additional objects", []string{"map"}, false, set("additionalProperties", jsontree.Obj("type", "object", "properties", jsontree.Obj("a", jsontree.Obj("type", "string", "default", "x"))), jsontree.Obj("type", "string", "nullable", true), jsontree.Obj("type", "integer", "default", 5), jsontree.Obj("type", "integer", "default", "not validated"))},
	{"items objects", []string{"array"}, false, set("items", jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("a")), "properties", jsontree.Obj("a", jsontree.Obj("type", "string"))), jsontree.Obj("type", "string", "nullable", true),
		jsontree.Obj("type", "integer", "default", 5), jsontree.Obj("x-kubernetes-preserve-unknown-fields", true))},
	{"allOf", []string{anyBase}, true, logicalOperator("allOf")},
	{"anyOf", []string{anyBase}, true, logicalOperator("anyOf")},
	{"oneOf", []string{anyBase}, true, logicalOperator("oneOf")},
	{"not", []string{anyBase}, true, func(r Rand, s *jsontree.Node) { s.Set("not", valueValidation(r, s, 2)) }},
	{"int-or-string pattern", []string{intOrStr}, false, set("anyOf", jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string")))},
	{"int-or-string allOf pattern", []string{intOrStr}, false, set("allOf", jsontree.Arr(jsontree.Obj("anyOf", jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string"))), jsontree.Obj("maxLength", 2)))},
	{"description", []string{anyBase}, false, set("description", "what it is")},
}

func logicalOperator(name string) func(Rand, *jsontree.Node) {
	return func(r Rand, s *jsontree.Node) {
		branches := jsontree.Arr()
		for range r.Between(1, 3) {
			branches.Items = append(branches.Items, valueValidation(r, s, 2))
		}
		s.Set(name, branches)
	}
}

// positions are the positions of a schema under test. Each wraps the schema into a root schema, and a value into root
// members.
var positions = []struct {
	name string
	root func(s *jsontree.Node) *jsontree.Node
	wrap func(v *jsontree.Node) *jsontree.Node
}{
	{"property", func(s *jsontree.Node) *jsontree.Node { return rootOf("v", s) }, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("v", v) }},
	{"nested", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("spec", jsontree.Obj("type", "object", "properties", jsontree.Obj("v", s), "required", jsontree.Arr(jsontree.Str("v"))))
	}, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("spec", jsontree.Obj("v", v)) }},
	{"item", func(s *jsontree.Node) *jsontree.Node { return rootOf("v", jsontree.Obj("type", "array", "items", s)) }, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("v", jsontree.Arr(v, v.Clone())) }},
	{"map value", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("v", jsontree.Obj("type", "object", "additionalProperties", s))
	},
		func(v *jsontree.Node) *jsontree.Node {
			return jsontree.Obj("v", jsontree.Obj("k", v, "a.b/c", v.Clone()))
		}},
	{"preserve", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("v", jsontree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "properties", jsontree.Obj("known", s)))
	}, func(v *jsontree.Node) *jsontree.Node {
		return jsontree.Obj("v", jsontree.Obj("known", v, "other", v.Clone()))
	}},
	{"status", func(s *jsontree.Node) *jsontree.Node { return rootOf("status", s) }, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("status", v) }},
	{"item of item", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("v", jsontree.Obj("type", "array", "x-kubernetes-preserve-unknown-fields", true, "items", jsontree.Obj("type", "array", "items", s)))
	}, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("v", jsontree.Arr(jsontree.Arr(v))) }},
	{"embedded", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("v", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "properties", jsontree.Obj("spec", s)))
	}, func(v *jsontree.Node) *jsontree.Node {
		return jsontree.Obj("v", jsontree.Obj("apiVersion", "v1", "kind", "Pod", "metadata", jsontree.Obj("name", "x"), "spec", v))
	}},
	{"beside", func(s *jsontree.Node) *jsontree.Node {
		return rootOf("v", s).Set("anyOf", jsontree.Arr(jsontree.Obj("required", jsontree.Arr(jsontree.Str("v"))), jsontree.Obj("required", jsontree.Arr(jsontree.Str("w"))))).Set("not", jsontree.Obj("required", jsontree.Arr(jsontree.Str("zz"))))
	}, func(v *jsontree.Node) *jsontree.Node { return jsontree.Obj("v", v) }},
}

func rootOf(name string, s *jsontree.Node) *jsontree.Node {
	return jsontree.Obj("type", "object", "properties", jsontree.Obj(name, s))
}

// combination is a point in the space of pairs.
type combination struct {
	words    []int // indexes of keywords
	base     string
	position int
}

var combinations = combine()

// combine returns all pairs of keywords that share a base type, and triples of keywords that interact, each at every
// position.
func combine() []combination {
	var all []combination
	add := func(words ...int) {
		for _, b := range bases {
			if !slices.ContainsFunc(words, func(w int) bool {
				return !slices.Contains(keywords[w].bases, b) && keywords[w].bases[0] != anyBase
			}) {
				for p := range positions {
					all = append(all, combination{words, b, p})
				}
			}
		}
	}
	for i := range keywords {
		add(i)
		for j := i + 1; j < len(keywords); j++ {
			add(i, j)
			if !keywords[i].triple || !keywords[j].triple {
				continue
			}
			for k := j + 1; k < len(keywords); k++ {
				if keywords[k].triple {
					add(i, j, k)
				}
			}
		}
	}
	return all
}

// Combinations is the number of points in the space of pairs.
func Combinations() int { return len(combinations) }

// Pairwise returns the group of a point, with twelve objects: valid ones, one for each violation, null, absent, wrong
// types, unknown fields.
func Pairwise(r Rand, point int) Group {
	c := combinations[point%len(combinations)]
	s := base(r, c.base)
	name := c.base
	for _, w := range c.words {
		keywords[w].say(r, s)
		name += " + " + keywords[w].name
	}
	p := positions[c.position]
	root := p.root(s)
	if r.Chance(20) {
		AddRules(r, root)
	}
	crd := Manifest(root)
	if p.name == "status" && r.Chance(50) {
		crd.At("spec", "versions").Items[0].Set("subresources", jsontree.Obj("status", jsontree.Obj()))
	}
	g := Group{Name: "pairwise " + name + " at " + p.name, CRD: crd.JSON()}
	for i := range 12 {
		v := Value(r, s, 3)
		switch i {
		case 0, 1:
		case 2:
			v = jsontree.Null()
		case 3:
			g.Objects = append(g.Objects, request(r, Envelope()))
			continue
		case 4:
			v = edgeFor(r, s)
		case 5:
			v = Any(r, 2)
		case 6:
			if v.Kind == jsontree.Object {
				v.Set("unknown", jsontree.Obj("a", nil))
			} else {
				v = jsontree.Raw(Pick(r, Numbers))
			}
		case 7:
			v = jsontree.Raw(Pick(r, Strings))
		default:
			holder := jsontree.Obj("v", v)
			Break(r, jsontree.Obj("properties", jsontree.Obj("v", s)), holder, 1+i%2)
			if v = holder.Get("v"); v == nil {
				v = jsontree.Obj()
			}
		}
		g.Objects = append(g.Objects, request(r, Envelope(p.wrap(v).Members...)))
	}
	return g
}
