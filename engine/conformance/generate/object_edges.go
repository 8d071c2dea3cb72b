package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// Edges returns a group that combines edge values with keywords: numbers with bounds, formats, enums, sets and keys of
// map lists; strings with lengths, patterns, enums and names of fields.
func Edges(r Rand) Group {
	switch r.IntN(6) {
	case 0, 1:
		return numberEdges(r)
	case 2, 3:
		return stringEdges(r)
	case 4:
		return keyEdges(r)
	}
	return nesting(r)
}

// perhapsRuled adds rules to a root schema, sometimes.
func perhapsRuled(r Rand, schema *tree.Node) *tree.Node {
	if r.Chance(25) {
		AddRules(r, schema)
	}
	return schema
}

func numberEdges(r Rand) Group {
	n := func(s *tree.Node) *tree.Node {
		for _, k := range []string{"minimum", "maximum"} {
			if r.Chance(50) {
				s.Set(k, tree.Raw(Pick(r, Numbers)))
				if r.Chance(30) {
					s.Set("exclusive"+strings.ToUpper(k[:1])+k[1:], true)
				}
			}
		}
		if r.Chance(20) {
			s.Set("multipleOf", tree.Raw(Pick(r, Numbers)))
		}
		if r.Chance(40) {
			s.Set("format", Pick(r, []string{"int32", "int64", "float", "double"}))
		}
		if r.Chance(20) {
			s.Set("enum", tree.Arr(tree.Raw(Pick(r, Numbers)), tree.Raw(Pick(r, Numbers))))
		}
		return s
	}
	scalar := func() *tree.Node {
		return Pick(r, []*tree.Node{tree.Obj("type", "integer"), tree.Obj("type", "number"), tree.Obj("x-kubernetes-int-or-string", true)})
	}
	props := tree.Obj("i", n(tree.Obj("type", "integer")), "n", n(tree.Obj("type", "number")), "x", n(tree.Obj("x-kubernetes-int-or-string", true)),
		"set", tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", scalar()),
		"cset", tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "object", "x-kubernetes-map-type", "atomic", "properties", tree.Obj("a", scalar()))),
		"map", tree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", tree.Arr(tree.Str("k")), "items", tree.Obj("type", "object", "required", tree.Arr(tree.Str("k")), "properties", tree.Obj("k", scalar()))),
		"map2", tree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", tree.Arr(tree.Str("k"), tree.Str("l")),
			"items", tree.Obj("type", "object", "required", tree.Arr(tree.Str("k"), tree.Str("l")), "properties", tree.Obj("k", scalar(), "l", scalar()))),
		"any", tree.Obj("x-kubernetes-preserve-unknown-fields", true, "enum", tree.Arr(tree.Raw(Pick(r, Numbers)), tree.Raw(Pick(r, Numbers)))),
		"lens", tree.Obj("type", "string", "maxLength", tree.Raw(Pick(r, []string{"3", "3.0", "1e1", "-1", "9223372036854775807"}))),
	)
	if r.Chance(80) {
		props.Delete("any")
		props.Delete("lens")
	}
	g := Group{Name: "number edges", CRD: Manifest(perhapsRuled(r, tree.Obj("type", "object", "properties", props))).JSON()}
	edge := func() *tree.Node {
		if r.Chance(1) {
			return tree.Raw(Pick(r, rareNumbers))
		}
		return tree.Raw(Pick(r, Numbers))
	}
	few := func(make func() *tree.Node) *tree.Node {
		a := tree.Arr()
		for range r.Between(1, 5) {
			a.Items = append(a.Items, make())
			if r.Chance(40) {
				a.Items = append(a.Items, Pick(r, a.Items).Clone())
			}
		}
		return a
	}
	for range 12 {
		o := Envelope()
		for _, k := range []string{"i", "n", "x", "any"} {
			if r.Chance(50) {
				o.Set(k, edge())
			}
		}
		if r.Chance(30) {
			o.Set("set", few(edge))
		}
		if r.Chance(30) {
			o.Set("cset", few(func() *tree.Node { return tree.Obj("a", edge()) }))
		}
		if r.Chance(30) {
			o.Set("map", few(func() *tree.Node { return mapItem(r, tree.Obj("k", edge())) }))
		}
		if r.Chance(30) {
			o.Set("map2", few(func() *tree.Node {
				m := tree.Obj("k", edge(), "l", Pick(r, []*tree.Node{edge(), tree.Int(1)}))
				if r.Chance(20) {
					m.Delete("l")
				}
				return mapItem(r, m)
			}))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

func stringEdges(r Rand) Group {
	s := func() *tree.Node {
		n := stringSchema(r, false)
		if r.Chance(30) {
			e := tree.Arr()
			for range 3 {
				e.Items = append(e.Items, tree.Raw(Pick(r, Strings[:25])))
			}
			n.Set("enum", e)
		}
		return n
	}
	props := tree.Obj("s", s(), "t", s(), "x", tree.Obj("x-kubernetes-int-or-string", true, "pattern", Pick(r, Patterns).Re),
		"set", tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "string")),
		"m", tree.Obj("type", "object", "additionalProperties", s()),
		"map", tree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", tree.Arr(tree.Str("k")), "items", tree.Obj("type", "object", "required", tree.Arr(tree.Str("k")), "properties", tree.Obj("k", tree.Obj("type", "string")))))
	g := Group{Name: "string edges", CRD: Manifest(perhapsRuled(r, tree.Obj("type", "object", "properties", props))).JSON()}
	edge := func() *tree.Node {
		if r.Chance(2) {
			return tree.Raw(Pick(r, rareStrings))
		}
		return tree.Raw(Pick(r, Strings))
	}
	for range 12 {
		o := Envelope()
		for _, k := range []string{"s", "t", "x"} {
			if r.Chance(60) {
				o.Set(k, edge())
			}
		}
		if r.Chance(40) {
			o.Set("set", tree.Arr(edge(), edge(), edge(), edge()))
		}
		if r.Chance(40) {
			m := tree.Obj()
			for range 3 {
				m.Members = append(m.Members, tree.Member{RawKey: edge().Raw, Value: edge()})
			}
			o.Set("m", m)
		}
		if r.Chance(40) {
			o.Set("map", tree.Arr(tree.Obj("k", edge()), tree.Obj("k", edge()), tree.Obj("k", edge())))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// keyEdges tests names: dots that make two paths equal, case, escapes, duplicates written in two forms, prefixes of
// each other.
func keyEdges(r Rand) Group {
	props := tree.Obj()
	for _, k := range Keys {
		if r.Chance(50) && k != "apiVersion" && k != "kind" && k != "metadata" {
			props.Set(k, structural(r, 1, ""))
		}
	}
	// a.b beside a -> b: two field errors with one dotted path
	inner := numericSchema(r, "integer").Set("minimum", 2)
	props.Set("a", tree.Obj("type", "object", "properties", tree.Obj("b", inner, "c", tree.Obj("type", "string")), "required", tree.Arr(tree.Str("c"))))
	props.Set("a.b", inner.Clone()).Set("a.c", tree.Obj("type", "string"))
	v := tree.Obj("type", "object", "properties", props)
	if r.Chance(30) {
		requireSome(r, v)
	}
	g := Group{Name: "key edges", CRD: Manifest(perhapsRuled(r, rootOf("v", v))).JSON()}
	for i := range 12 {
		o := Value(r, v, 3)
		if o.Kind != tree.Object {
			o = tree.Obj()
		}
		// Two field errors at one path make upstream's answer random. They are rare, so that fewer than one case in a
		// thousand has them.
		if r.Chance(10) {
			o.Set("a", tree.Obj("b", Pick(r, []*tree.Node{tree.Int(1), tree.Str("x"), tree.Raw("1.0")})))
		}
		if r.Chance(10) {
			o.Set("a.b", Pick(r, []*tree.Node{tree.Int(0), tree.Str("y"), tree.Raw("1.0"), tree.Int(1)}))
		}
		for range r.IntN(3) {
			o.Members = append(o.Members, tree.Member{Key: Pick(r, Keys), Value: Any(r, 2)})
		}
		if r.Chance(25) {
			o.Members = append(o.Members, tree.Member{RawKey: Pick(r, []string{`"\u0061"`, `"a\u002eb"`, `"A"`, `"\ud800"`, "\"\xff\"", `"a"`}), Value: Any(r, 1)})
		}
		if i%3 > 0 {
			Break(r, v, o, i%3)
		}
		g.Objects = append(g.Objects, request(r, Envelope(tree.Member{Key: "v", Value: o})))
	}
	return g
}

// nesting tests depth and width.
func nesting(r Rand) Group {
	depth := r.Between(3, 12)
	s := structural(r, 0, "")
	for i := range depth {
		switch (i + r.IntN(2)) % 4 {
		case 0:
			s = tree.Obj("type", "object", "properties", tree.Obj("n", s), "required", tree.Arr(tree.Str("n")))
		case 1:
			s = tree.Obj("type", "array", "items", s)
		case 2:
			s = tree.Obj("type", "object", "additionalProperties", s)
		case 3:
			s = tree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "properties", tree.Obj("n", s))
		}
		if r.Chance(10) {
			s.Set("nullable", true)
		}
	}
	root := rootOf("v", s)
	root.Get("properties").Set("free", tree.Obj("x-kubernetes-preserve-unknown-fields", true))
	g := Group{Name: "nesting", CRD: Manifest(root).JSON()}
	for i := range 12 {
		o := Envelope()
		v := Value(r, s, depth+2)
		o.Set("v", v)
		if r.Chance(25) {
			n := Pick(r, []int{5, 50, 500, 5000, 9990, 9999, 10000, 10001})
			open, shut := "[", "]"
			if r.Chance(50) {
				open, shut = `{"n":`, "}"
			}
			inner := "1"
			if r.Chance(30) {
				inner = "null"
			}
			o.Set(Pick(r, []string{"free", "v", "unknown"}), tree.Raw(strings.Repeat(open, n)+inner+strings.Repeat(shut, n)))
		}
		if i%3 > 0 {
			Break(r, root, o, i%3)
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// FormatGroup returns a group with the strings of a format's table, plain and mutated, for every type that can have a
// format.
func FormatGroup(r Rand, n int) Group {
	f := FormatNames[n%len(FormatNames)]
	table := Formats[strings.ToLower(strings.ReplaceAll(f, "-", ""))]
	if table == nil {
		table = Formats[f]
	}
	props := tree.Obj(
		"s", tree.Obj("type", "string", "format", f), "x", tree.Obj("x-kubernetes-int-or-string", true, "format", f), "i", tree.Obj("type", "integer", "format", f),
		"n", tree.Obj("type", "number", "format", f), "b", tree.Obj("type", "boolean", "format", f), "l", tree.Obj("type", "array", "format", f, "items", tree.Obj("type", "string", "format", f)),
		"o", tree.Obj("type", "object", "format", f), "p", tree.Obj("x-kubernetes-preserve-unknown-fields", true, "format", f),
		"a", tree.Obj("type", "string", "nullable", true, "anyOf", tree.Arr(tree.Obj("format", f), tree.Obj("enum", tree.Arr(tree.Str("x"))))))
	g := Group{Name: "format " + f, CRD: Manifest(perhapsRuled(r, tree.Obj("type", "object", "properties", props))).JSON()}
	start := r.IntN(40)
	for i := range 12 {
		o := Envelope(tree.Member{Key: "s", Value: formatted(r, f)})
		if len(table) > 0 { // the table in order, besides random choices
			o.Set("s", table[(start+i)%len(table)])
		}
		for _, k := range []string{"x", "i", "n", "b", "o", "p", "a"} {
			if r.Chance(20) {
				o.Set(k, Pick(r, []*tree.Node{formatted(r, f), tree.Raw(Pick(r, Numbers)), Any(r, 1)}))
			}
		}
		if r.Chance(40) {
			o.Set("l", tree.Arr(formatted(r, f), formatted(r, f), formatted(r, f), formatted(r, f)))
		}
		if r.Chance(10) {
			o.Set("s", tree.Arr(Any(r, 1)))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// mapItem rarely replaces an item of a map list by a null or by another non-object.
func mapItem(r Rand, item *tree.Node) *tree.Node {
	switch r.IntN(12) {
	case 0:
		return tree.Null()
	case 1:
		return Any(r, 1)
	case 2:
		return tree.Obj()
	}
	return item
}
