package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
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
func perhapsRuled(r Rand, schema *jsontree.Node) *jsontree.Node {
	if r.Chance(25) {
		AddRules(r, schema)
	}
	return schema
}

func numberEdges(r Rand) Group {
	n := func(s *jsontree.Node) *jsontree.Node {
		for _, k := range []string{"minimum", "maximum"} {
			if r.Chance(50) {
				s.Set(k, jsontree.Raw(Pick(r, Numbers)))
				if r.Chance(30) {
					s.Set("exclusive"+strings.ToUpper(k[:1])+k[1:], true)
				}
			}
		}
		if r.Chance(20) {
			s.Set("multipleOf", jsontree.Raw(Pick(r, Numbers)))
		}
		if r.Chance(40) {
			s.Set("format", Pick(r, []string{"int32", "int64", "float", "double"}))
		}
		if r.Chance(20) {
			s.Set("enum", jsontree.Arr(jsontree.Raw(Pick(r, Numbers)), jsontree.Raw(Pick(r, Numbers))))
		}
		return s
	}
	scalar := func() *jsontree.Node {
		return Pick(r, []*jsontree.Node{jsontree.Obj("type", "integer"), jsontree.Obj("type", "number"), jsontree.Obj("x-kubernetes-int-or-string", true)})
	}
	props := jsontree.Obj("i", n(jsontree.Obj("type", "integer")), "n", n(jsontree.Obj("type", "number")), "x", n(jsontree.Obj("x-kubernetes-int-or-string", true)),
		"set", jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", scalar()),
		"cset", jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "object", "x-kubernetes-map-type", "atomic", "properties", jsontree.Obj("a", scalar()))),
		"map", jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k")), "items", jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("k")), "properties", jsontree.Obj("k", scalar()))),
		"map2", jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k"), jsontree.Str("l")),
			"items", jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("k"), jsontree.Str("l")), "properties", jsontree.Obj("k", scalar(), "l", scalar()))),
		"any", jsontree.Obj("x-kubernetes-preserve-unknown-fields", true, "enum", jsontree.Arr(jsontree.Raw(Pick(r, Numbers)), jsontree.Raw(Pick(r, Numbers)))),
		"lens", jsontree.Obj("type", "string", "maxLength", jsontree.Raw(Pick(r, []string{"3", "3.0", "1e1", "-1", "9223372036854775807"}))),
	)
	if r.Chance(80) {
		props.Delete("any")
		props.Delete("lens")
	}
	g := Group{Name: "number edges", CRD: Manifest(perhapsRuled(r, jsontree.Obj("type", "object", "properties", props))).JSON()}
	edge := func() *jsontree.Node {
		if r.Chance(1) {
			return jsontree.Raw(Pick(r, rareNumbers))
		}
		return jsontree.Raw(Pick(r, Numbers))
	}
	few := func(make func() *jsontree.Node) *jsontree.Node {
		a := jsontree.Arr()
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
			o.Set("cset", few(func() *jsontree.Node { return jsontree.Obj("a", edge()) }))
		}
		if r.Chance(30) {
			o.Set("map", few(func() *jsontree.Node { return mapItem(r, jsontree.Obj("k", edge())) }))
		}
		if r.Chance(30) {
			o.Set("map2", few(func() *jsontree.Node {
				m := jsontree.Obj("k", edge(), "l", Pick(r, []*jsontree.Node{edge(), jsontree.Int(1)}))
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
	s := func() *jsontree.Node {
		n := stringSchema(r, false)
		if r.Chance(30) {
			e := jsontree.Arr()
			for range 3 {
				e.Items = append(e.Items, jsontree.Raw(Pick(r, Strings[:25])))
			}
			n.Set("enum", e)
		}
		return n
	}
	props := jsontree.Obj("s", s(), "t", s(), "x", jsontree.Obj("x-kubernetes-int-or-string", true, "pattern", Pick(r, Patterns).Re),
		"set", jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "string")),
		"m", jsontree.Obj("type", "object", "additionalProperties", s()),
		"map", jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k")), "items", jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("k")), "properties", jsontree.Obj("k", jsontree.Obj("type", "string")))))
	g := Group{Name: "string edges", CRD: Manifest(perhapsRuled(r, jsontree.Obj("type", "object", "properties", props))).JSON()}
	edge := func() *jsontree.Node {
		if r.Chance(2) {
			return jsontree.Raw(Pick(r, rareStrings))
		}
		return jsontree.Raw(Pick(r, Strings))
	}
	for range 12 {
		o := Envelope()
		for _, k := range []string{"s", "t", "x"} {
			if r.Chance(60) {
				o.Set(k, edge())
			}
		}
		if r.Chance(40) {
			o.Set("set", jsontree.Arr(edge(), edge(), edge(), edge()))
		}
		if r.Chance(40) {
			m := jsontree.Obj()
			for range 3 {
				m.Members = append(m.Members, jsontree.Member{RawKey: edge().Raw, Value: edge()})
			}
			o.Set("m", m)
		}
		if r.Chance(40) {
			o.Set("map", jsontree.Arr(jsontree.Obj("k", edge()), jsontree.Obj("k", edge()), jsontree.Obj("k", edge())))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// keyEdges tests names: dots that make two paths equal, case, escapes, duplicates written in two forms, prefixes of
// each other.
func keyEdges(r Rand) Group {
	props := jsontree.Obj()
	for _, k := range Keys {
		if r.Chance(50) && k != "apiVersion" && k != "kind" && k != "metadata" {
			props.Set(k, structural(r, 1, ""))
		}
	}
	// a.b beside a -> b: two field errors with one dotted path
	inner := numericSchema(r, "integer").Set("minimum", 2)
	props.Set("a", jsontree.Obj("type", "object", "properties", jsontree.Obj("b", inner, "c", jsontree.Obj("type", "string")), "required", jsontree.Arr(jsontree.Str("c"))))
	props.Set("a.b", inner.Clone()).Set("a.c", jsontree.Obj("type", "string"))
	v := jsontree.Obj("type", "object", "properties", props)
	if r.Chance(30) {
		requireSome(r, v)
	}
	g := Group{Name: "key edges", CRD: Manifest(perhapsRuled(r, rootOf("v", v))).JSON()}
	for i := range 12 {
		o := Value(r, v, 3)
		if o.Kind != jsontree.Object {
			o = jsontree.Obj()
		}
		// Two field errors at one path make upstream's answer random. They are rare, so that fewer than one case in a
		// thousand has them.
		if r.Chance(10) {
			o.Set("a", jsontree.Obj("b", Pick(r, []*jsontree.Node{jsontree.Int(1), jsontree.Str("x"), jsontree.Raw("1.0")})))
		}
		if r.Chance(10) {
			o.Set("a.b", Pick(r, []*jsontree.Node{jsontree.Int(0), jsontree.Str("y"), jsontree.Raw("1.0"), jsontree.Int(1)}))
		}
		for range r.IntN(3) {
			o.Members = append(o.Members, jsontree.Member{Key: Pick(r, Keys), Value: Any(r, 2)})
		}
		if r.Chance(25) {
			o.Members = append(o.Members, jsontree.Member{RawKey: Pick(r, []string{`"\u0061"`, `"a\u002eb"`, `"A"`, `"\ud800"`, "\"\xff\"", `"a"`}), Value: Any(r, 1)})
		}
		if i%3 > 0 {
			Break(r, v, o, i%3)
		}
		g.Objects = append(g.Objects, request(r, Envelope(jsontree.Member{Key: "v", Value: o})))
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
			s = jsontree.Obj("type", "object", "properties", jsontree.Obj("n", s), "required", jsontree.Arr(jsontree.Str("n")))
		case 1:
			s = jsontree.Obj("type", "array", "items", s)
		case 2:
			s = jsontree.Obj("type", "object", "additionalProperties", s)
		case 3:
			s = jsontree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "properties", jsontree.Obj("n", s))
		}
		if r.Chance(10) {
			s.Set("nullable", true)
		}
	}
	root := rootOf("v", s)
	root.Get("properties").Set("free", jsontree.Obj("x-kubernetes-preserve-unknown-fields", true))
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
			o.Set(Pick(r, []string{"free", "v", "unknown"}), jsontree.Raw(strings.Repeat(open, n)+inner+strings.Repeat(shut, n)))
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
	props := jsontree.Obj(
		"s", jsontree.Obj("type", "string", "format", f), "x", jsontree.Obj("x-kubernetes-int-or-string", true, "format", f), "i", jsontree.Obj("type", "integer", "format", f),
		"n", jsontree.Obj("type", "number", "format", f), "b", jsontree.Obj("type", "boolean", "format", f), "l", jsontree.Obj("type", "array", "format", f, "items", jsontree.Obj("type", "string", "format", f)),
		"o", jsontree.Obj("type", "object", "format", f), "p", jsontree.Obj("x-kubernetes-preserve-unknown-fields", true, "format", f),
		"a", jsontree.Obj("type", "string", "nullable", true, "anyOf", jsontree.Arr(jsontree.Obj("format", f), jsontree.Obj("enum", jsontree.Arr(jsontree.Str("x"))))))
	g := Group{Name: "format " + f, CRD: Manifest(perhapsRuled(r, jsontree.Obj("type", "object", "properties", props))).JSON()}
	start := r.IntN(40)
	for i := range 12 {
		o := Envelope(jsontree.Member{Key: "s", Value: formatted(r, f)})
		if len(table) > 0 { // the table in order, besides random choices
			o.Set("s", table[(start+i)%len(table)])
		}
		for _, k := range []string{"x", "i", "n", "b", "o", "p", "a"} {
			if r.Chance(20) {
				o.Set(k, Pick(r, []*jsontree.Node{formatted(r, f), jsontree.Raw(Pick(r, Numbers)), Any(r, 1)}))
			}
		}
		if r.Chance(40) {
			o.Set("l", jsontree.Arr(formatted(r, f), formatted(r, f), formatted(r, f), formatted(r, f)))
		}
		if r.Chance(10) {
			o.Set("s", jsontree.Arr(Any(r, 1)))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}

// mapItem rarely replaces an item of a map list by a null or by another non-object.
func mapItem(r Rand, item *jsontree.Node) *jsontree.Node {
	switch r.IntN(12) {
	case 0:
		return jsontree.Null()
	case 1:
		return Any(r, 1)
	case 2:
		return jsontree.Obj()
	}
	return item
}
