package cel

import (
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Names of properties: plain ones, keywords, names that need escapes, and names that expressions cannot use.
var names = []string{"a", "b", "c", "name", "items", "value", "x1", "self", "oldSelf", "true", "in", "namespace", "package", "var", "void", "while", "int", "type",
	"a-b", "a.b", "a/b", "a__b", "__", "_", "__dot__", "a_b", "A", "1a", "é", "a b", "", "apiVersion", "kind", "metadata", "spec", "status", "@items"}

// rootSchema returns the schema of a rule's node, in three of four cases an object.
func rootSchema(r generate.Rand) *jsontree.Node {
	switch r.IntN(12) {
	case 0:
		return arrayOf(r, 3)
	case 1:
		return mapOf(r, 3)
	case 2:
		return scalar(r)
	case 3:
		return embedded(r, 3)
	}
	s := objectOf(r, 4)
	// what most overloads need is always declared
	props := s.Get("properties")
	for _, p := range []struct {
		name string
		make func(generate.Rand) *jsontree.Node
	}{
		{"n", integer}, {"s", str}, {"t", str}, {"f", boolean}, {"d", number}, {"l", func(r generate.Rand) *jsontree.Node { return arrayOf(r, 2) }},
		{"lm", func(r generate.Rand) *jsontree.Node { return mapListOf(r, 2) }}, {"set", func(r generate.Rand) *jsontree.Node {
			return listWith(r, generate.Pick(r, []func(generate.Rand) *jsontree.Node{str, integer, number, intOrString, boolean})(r)).Set("x-kubernetes-list-type", "set")
		}},
		{"ls", func(r generate.Rand) *jsontree.Node { return listWith(r, str(r)) }}, {"ln", func(r generate.Rand) *jsontree.Node { return listWith(r, integer(r)) }},
		{"m", func(r generate.Rand) *jsontree.Node { return mapOf(r, 2) }}, {"x", intOrString},
	} {
		if r.Chance(40) {
			props.Set(p.name, p.make(r))
		}
	}
	return s
}

// place returns a schema of any kind.
func place(r generate.Rand, depth int) *jsontree.Node {
	if depth <= 0 {
		return scalar(r)
	}
	var s *jsontree.Node
	switch r.IntN(10) {
	case 0, 1:
		s = objectOf(r, depth)
	case 2, 3, 4:
		s = arrayOf(r, depth)
	case 5:
		s = mapOf(r, depth)
	case 6:
		if r.Chance(20) {
			return jsontree.Obj("type", "object") // nothing declared: an empty object in rules
		}
		s = embedded(r, depth)
		if r.Chance(70) {
			s = scalar(r)
		}
	default:
		s = scalar(r)
	}
	if r.Chance(12) {
		s.Set("nullable", true)
	}
	return s
}

func scalar(r generate.Rand) *jsontree.Node {
	switch r.IntN(14) {
	case 0:
		return boolean(r)
	case 1, 2:
		return integer(r)
	case 3:
		return number(r)
	case 4:
		return intOrString(r)
	case 5:
		s := jsontree.Obj("type", "string", "format", "byte")
		if r.Chance(30) {
			s.Set("maxLength", generate.Pick(r, []int{-1, 0, 5, 100}))
		}
		return s
	case 6:
		return jsontree.Obj("type", "string", "format", "duration")
	case 7:
		return jsontree.Obj("type", "string", "format", "date")
	case 8:
		return jsontree.Obj("type", "string", "format", "date-time")
	case 9:
		if r.Chance(50) {
			return jsontree.Obj("x-kubernetes-preserve-unknown-fields", true)
		}
		return jsontree.Obj("type", "string", "format", generate.Pick(r, []string{"uri", "uuid", "ipv4", "cidr", "email", "hostname", "password"}))
	}
	return str(r)
}

func boolean(generate.Rand) *jsontree.Node { return jsontree.Obj("type", "boolean") }

func integer(r generate.Rand) *jsontree.Node {
	s := jsontree.Obj("type", "integer")
	if r.Chance(25) {
		s.Set("format", generate.Pick(r, []string{"int32", "int64"}))
	}
	return s
}

func number(r generate.Rand) *jsontree.Node {
	s := jsontree.Obj("type", "number")
	if r.Chance(25) {
		s.Set("format", generate.Pick(r, []string{"float", "double"}))
	}
	return s
}

func intOrString(r generate.Rand) *jsontree.Node {
	s := jsontree.Obj("x-kubernetes-int-or-string", true)
	if r.Chance(20) {
		s.Set("maxLength", r.Between(0, 40))
	}
	return s
}

func str(r generate.Rand) *jsontree.Node {
	s := jsontree.Obj("type", "string")
	if r.Chance(35) {
		s.Set("maxLength", generate.Pick(r, []int{0, 1, 9, 10, 11, 20, 253, 1000}))
	}
	if r.Chance(15) {
		s.Set("enum", jsontree.Arr(jsontree.Str("a"), jsontree.Str("bc"), jsontree.Str("é\U0001F600")))
	}
	return s
}

func objectOf(r generate.Rand, depth int) *jsontree.Node {
	props := jsontree.Obj()
	s := jsontree.Obj("type", "object", "properties", props)
	for range r.Between(1, 5) {
		props.Set(generate.Pick(r, names), place(r, depth-1))
	}
	for _, reserved := range []string{"apiVersion", "kind"} {
		if props.Get(reserved) != nil {
			props.Set(reserved, jsontree.Obj("type", "string"))
		}
	}
	if props.Get("metadata") != nil {
		props.Set("metadata", jsontree.Obj("type", "object"))
	}
	if r.Chance(10) {
		s.Set("x-kubernetes-preserve-unknown-fields", true)
	}
	if r.Chance(10) {
		s.Set("x-kubernetes-map-type", "atomic")
	}
	if r.Chance(30) {
		required := jsontree.Arr()
		for _, p := range props.Members {
			if r.Chance(30) {
				required.Items = append(required.Items, jsontree.Str(p.Key))
			}
		}
		s.Set("required", required)
	}
	return s
}

func embedded(r generate.Rand, depth int) *jsontree.Node {
	s := jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true)
	if r.Chance(40) {
		s.Set("x-kubernetes-preserve-unknown-fields", true)
		return s
	}
	props := jsontree.Obj("spec", objectOf(r, depth-1))
	if r.Chance(30) {
		meta := jsontree.Obj("type", "object")
		if r.Chance(50) {
			meta.Set("properties", jsontree.Obj("name", jsontree.Obj("type", "string", "maxLength", r.Between(1, 300))))
		}
		props.Set("metadata", meta)
	}
	return s.Set("properties", props)
}

func mapOf(r generate.Rand, depth int) *jsontree.Node {
	s := jsontree.Obj("type", "object", "additionalProperties", place(r, depth-1))
	if r.Chance(30) {
		s.Set("maxProperties", generate.Pick(r, []int{0, 1, 5, 10, 100}))
	}
	return s
}

func arrayOf(r generate.Rand, depth int) *jsontree.Node {
	if r.Chance(25) {
		return mapListOf(r, depth)
	}
	return listWith(r, place(r, depth-1))
}

func listWith(r generate.Rand, items *jsontree.Node) *jsontree.Node {
	s := jsontree.Obj("type", "array", "items", items)
	if r.Chance(30) {
		s.Set("maxItems", generate.Pick(r, []int{0, 1, 3, 10, 100}))
	}
	switch r.IntN(4) {
	case 0:
		s.Set("x-kubernetes-list-type", "atomic")
	case 1:
		if t, _ := items.Get("type").Text(); t != "object" && t != "array" || items.Get("x-kubernetes-map-type") != nil || items.Get("x-kubernetes-list-type") != nil {
			s.Set("x-kubernetes-list-type", "set")
		}
	}
	return s
}

func mapListOf(r generate.Rand, depth int) *jsontree.Node {
	item := objectOf(r, depth-1)
	keys, required := jsontree.Arr(), jsontree.Arr()
	for _, k := range []string{generate.Pick(r, []string{"k", "k", "k", "é"}), "a-b", "type", "in"}[:generate.Pick(r, []int{1, 1, 1, 2, 3, 4})] {
		item.Get("properties").Set(k, generate.Pick(r, []func(generate.Rand) *jsontree.Node{str, str, integer, boolean, intOrString})(r))
		keys.Items = append(keys.Items, jsontree.Str(k))
		required.Items = append(required.Items, jsontree.Str(k))
	}
	item.Set("required", required)
	s := jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", keys, "items", item)
	if r.Chance(30) {
		s.Set("maxItems", generate.Pick(r, []int{1, 3, 10, 100}))
	}
	return s
}
