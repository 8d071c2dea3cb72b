package generate

import (
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Schema returns the root of a random structural schema that uses every keyword.
func Schema(r Rand) *jsontree.Node {
	root := jsontree.Obj("type", "object")
	props := jsontree.Obj()
	for _, name := range []string{"spec", "status"} {
		if r.Chance(70) {
			props.Set(name, structural(r, 3, ""))
		}
	}
	for range r.Between(1, 3) {
		props.Set(Pick(r, Keys[:20]), structural(r, r.Between(0, 3), ""))
	}
	for _, reserved := range []string{"apiVersion", "kind", "metadata"} {
		props.Delete(reserved)
	}
	if r.Chance(10) {
		props.Set("metadata", jsontree.Obj("type", "object", "properties", jsontree.Obj(Pick(r, []string{"name", "generateName"}), stringSchema(r, false))))
	}
	if r.Chance(10) {
		props.Set("kind", jsontree.Obj("type", "string")).Set("apiVersion", jsontree.Obj("type", "string"))
	}
	root.Set("properties", props)
	if r.Chance(20) {
		requireSome(r, root)
	}
	if r.Chance(10) {
		root.Set("x-kubernetes-preserve-unknown-fields", true)
	}
	if r.Chance(20) {
		addLogicalOperators(r, root, 2)
	}
	describe(r, root)
	return root
}

// structural returns a schema. as restricts it: "" to nothing, "scalar" to scalars, "item" to what items can be.
func structural(r Rand, depth int, as string) *jsontree.Node {
	weights := []int{8, 5, 8, 6, 5, 3, 3, 2, 2, 2}
	if depth <= 0 || as == "scalar" {
		weights[0], weights[1], weights[7], weights[8] = 0, 0, 0, 0
	}
	if as == "scalar" {
		weights[6], weights[9] = 0, 0
	}
	var s *jsontree.Node
	switch r.weighted(weights...) {
	case 0:
		s = objectSchema(r, depth)
	case 1:
		s = arraySchema(r, depth)
	case 2:
		s = stringSchema(r, true)
	case 3:
		s = numericSchema(r, "integer")
	case 4:
		s = numericSchema(r, "number")
	case 5:
		s = jsontree.Obj("type", "boolean")
		if r.Chance(10) {
			s.Set("enum", jsontree.Arr(jsontree.Bool(r.Chance(50))))
		}
	case 6:
		s = intOrString(r)
	case 7: // a map
		s = jsontree.Obj("type", "object", "additionalProperties", structural(r, depth-1, ""))
		if r.Chance(10) {
			s.Set("additionalProperties", r.Chance(70))
		}
		bound(r, s, "minProperties", "maxProperties", 3)
		if r.Chance(10) {
			s.Set("x-kubernetes-map-type", Pick(r, []string{"granular", "atomic"}))
		}
	case 8:
		s = embedded(r, depth)
	default:
		s = jsontree.Obj("x-kubernetes-preserve-unknown-fields", true)
		if r.Chance(50) {
			s.Set("type", Pick(r, []string{"object", "object", "string", "integer"}))
		} else if r.Chance(10) {
			s.Set("properties", jsontree.Obj("a", jsontree.Obj("type", "integer")))
		}
	}
	if r.Chance(15) {
		s.Set("nullable", r.Chance(80))
	}
	if r.Chance(6) {
		addLogicalOperators(r, s, 2)
	}
	if r.Chance(15) && as != "item" {
		d := Value(r, s, 2)
		if s.Get("x-kubernetes-embedded-resource") != nil && r.Chance(40) {
			Mutate(r, d)
		}
		if !deepDefault(r, s, d) {
			s.Set("default", d)
		}
	}
	describe(r, s)
	return s
}

// deepDefault reports, in most cases, that registration would reject the value as a default, because it is unpruned or
// null.
func deepDefault(r Rand, s, d *jsontree.Node) bool {
	return d.Raw == "null" && r.Chance(90) || s.Get("x-kubernetes-embedded-resource") != nil && r.Chance(70)
}

func describe(r Rand, s *jsontree.Node) {
	if r.Chance(3) {
		s.Set("description", "what it is").Set("title", "T")
	}
	if r.Chance(2) {
		s.Set("example", Any(r, 1)).Set("externalDocs", jsontree.Obj("url", "http://x", "description", "d"))
	}
}

// bound sometimes sets a pair of size bounds.
func bound(r Rand, s *jsontree.Node, least, most string, limit int) {
	lo := r.IntN(limit)
	if r.Chance(20) {
		s.Set(least, lo)
	}
	if r.Chance(20) {
		s.Set(most, lo+r.IntN(limit+1))
	}
}

func objectSchema(r Rand, depth int) *jsontree.Node {
	s := jsontree.Obj("type", "object")
	props := jsontree.Obj()
	for range r.Between(0, 4) {
		props.Set(Pick(r, Keys), structural(r, depth-1, ""))
	}
	if len(props.Members) > 0 {
		s.Set("properties", props)
		if r.Chance(40) {
			requireSome(r, s)
		}
	}
	bound(r, s, "minProperties", "maxProperties", 4)
	if r.Chance(20) {
		s.Set("x-kubernetes-preserve-unknown-fields", true)
	}
	if r.Chance(10) {
		s.Set("x-kubernetes-map-type", Pick(r, []string{"granular", "atomic"}))
	}
	if r.Chance(4) && len(props.Members) > 0 {
		s.Set("enum", jsontree.Arr(Value(r, s, 2), Value(r, s, 2)))
	}
	return s
}

func requireSome(r Rand, s *jsontree.Node) {
	req := jsontree.Arr()
	for _, p := range s.Get("properties").Members {
		if r.Chance(50) {
			req.Items = append(req.Items, jsontree.Str(p.Key))
		}
	}
	if r.Chance(5) {
		req.Items = append(req.Items, jsontree.Str("undeclared"))
	}
	s.Set("required", req)
}

func arraySchema(r Rand, depth int) *jsontree.Node {
	s := jsontree.Obj("type", "array")
	switch r.weighted(5, 2, 3, 1) {
	case 0:
		s.Set("items", structural(r, depth-1, "item"))
	case 1:
		items := structural(r, depth-1, "scalar")
		items.Delete("nullable")
		s.Set("items", items).Set("x-kubernetes-list-type", "set")
		if r.Chance(30) && depth > 0 {
			items = objectSchema(r, depth-1).Set("x-kubernetes-map-type", "atomic")
			if r.Chance(30) {
				items = jsontree.Obj("type", "array", "x-kubernetes-list-type", "atomic", "items", structural(r, 0, "scalar"))
			}
			s.Set("items", items)
		}
	case 2:
		mapList(r, s, depth)
	case 3:
		s.Set("items", structural(r, depth-1, "")).Set("x-kubernetes-list-type", "atomic")
	}
	bound(r, s, "minItems", "maxItems", 3)
	if r.Chance(8) {
		s.Set("x-kubernetes-preserve-unknown-fields", true)
	}
	if r.Chance(3) {
		s.Set("uniqueItems", false)
	}
	return s
}

func mapList(r Rand, s *jsontree.Node, depth int) {
	item := objectSchema(r, depth-1)
	item.Delete("enum")
	props := item.Get("properties")
	if props == nil {
		props = jsontree.Obj()
		item.Set("properties", props)
	}
	keys, required := jsontree.Arr(), jsontree.Arr()
	for i := range r.Between(1, 3) {
		name := []string{"k", "a.b", "port"}[i]
		key := structural(r, 0, "scalar")
		key.Delete("nullable")
		if key.Get("default") == nil && r.Chance(30) {
			if v := Value(r, key, 0); v.Raw != "null" {
				key.Set("default", v)
			}
		}
		if key.Get("default") == nil {
			required.Items = append(required.Items, jsontree.Str(name))
		}
		props.Set(name, key)
		keys.Items = append(keys.Items, jsontree.Str(name))
	}
	item.Delete("nullable")
	item.Set("required", required)
	s.Set("items", item).Set("x-kubernetes-list-type", "map").Set("x-kubernetes-list-map-keys", keys)
}

func stringSchema(r Rand, formats bool) *jsontree.Node {
	s := jsontree.Obj("type", "string")
	bound(r, s, "minLength", "maxLength", 5)
	if r.Chance(15) {
		s.Set("pattern", Pick(r, Patterns).Re)
	}
	if r.Chance(12) {
		enum := jsontree.Arr()
		for range r.Between(1, 3) {
			enum.Items = append(enum.Items, jsontree.Str(Pick(r, []string{"a", "b", "A", "", "é", "1", "a\"b"})))
		}
		if r.Chance(20) {
			enum.Items = append(enum.Items, jsontree.Null())
		}
		s.Set("enum", enum)
	}
	if formats && r.Chance(25) {
		s.Set("format", Pick(r, FormatNames))
	}
	return s
}

var smallNumbers = []string{"0", "1", "-1", "2", "3", "5", "10", "0.5", "1.5", "2.5", "-0.5", "100", "1000000", "2147483647", "9007199254740993", "1e6", "1e-5", "1e21"}

func numericSchema(r Rand, t string) *jsontree.Node {
	s := jsontree.Obj("type", t)
	if r.Chance(25) {
		s.Set("minimum", jsontree.Raw(Pick(r, smallNumbers)))
		if r.Chance(25) {
			s.Set("exclusiveMinimum", true)
		}
	}
	if r.Chance(25) {
		s.Set("maximum", jsontree.Raw(Pick(r, smallNumbers)))
		if r.Chance(25) {
			s.Set("exclusiveMaximum", true)
		}
	}
	if r.Chance(15) {
		s.Set("multipleOf", jsontree.Raw(Pick(r, []string{"1", "2", "3", "0.5", "0.1", "2.5", "10", "1e3", "0.01"})))
	}
	if r.Chance(20) {
		s.Set("format", Pick(r, []string{"int32", "int64", "float", "double", "int32", "date", "no-such-format"}))
	}
	if r.Chance(10) {
		enum := jsontree.Arr()
		for range r.Between(1, 3) {
			enum.Items = append(enum.Items, jsontree.Raw(Pick(r, smallNumbers)))
		}
		s.Set("enum", enum)
	}
	return s
}

func intOrString(r Rand) *jsontree.Node {
	s := jsontree.Obj("x-kubernetes-int-or-string", true)
	pattern := func() *jsontree.Node {
		return jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string"))
	}
	switch r.IntN(4) {
	case 0:
		s.Set("anyOf", pattern())
	case 1:
		s.Set("allOf", jsontree.Arr(jsontree.Obj("anyOf", pattern()), valueValidation(r, s, 1)))
	}
	if r.Chance(20) {
		s.Set("pattern", Pick(r, Patterns).Re)
	}
	if r.Chance(20) {
		s.Set("maxLength", r.IntN(4))
	}
	if r.Chance(20) {
		s.Set("maximum", r.IntN(4))
	}
	if r.Chance(15) {
		s.Set("enum", jsontree.Arr(jsontree.Str("A"), jsontree.Int(7), jsontree.Raw("1.5"), jsontree.Str("1")))
	}
	if r.Chance(10) {
		s.Set("format", Pick(r, FormatNames))
	}
	return s
}

func embedded(r Rand, depth int) *jsontree.Node {
	s := jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true)
	if r.Chance(70) {
		s.Set("x-kubernetes-preserve-unknown-fields", true)
	}
	if r.Chance(60) || s.Get("x-kubernetes-preserve-unknown-fields") == nil {
		props := jsontree.Obj("spec", structural(r, depth-1, ""))
		if r.Chance(30) {
			meta := jsontree.Obj("type", "object")
			if r.Chance(60) {
				labels := jsontree.Obj("type", "object", "additionalProperties", jsontree.Obj("type", "string"))
				name := jsontree.Obj("type", "string")
				finalizers := jsontree.Obj("type", "array", "items", jsontree.Obj("type", "string"))
				switch r.IntN(6) {
				case 0:
					labels.Set("default", jsontree.Raw(Pick(r, metadataFields["labels"])))
				case 1:
					name.Set("default", jsontree.Raw(Pick(r, metadataFields["name"])))
				case 2:
					finalizers.Set("default", jsontree.Raw(Pick(r, metadataFields["finalizers"])))
				case 3:
					name.Set("maxLength", 2).Set("default", Pick(r, []string{"x", "abc"}))
					finalizers.Get("items").Set("default", Pick(r, []string{"a/b", "bad one"}))
				case 4:
					meta.Set("default", Pick(r, []*jsontree.Node{jsontree.Obj("name", "x"), jsontree.Obj("bogus", 1), jsontree.Obj("labels", jsontree.Obj("a", 1)), jsontree.Obj()}).Clone())
				}
				meta.Set("properties", jsontree.Obj("labels", labels, "name", name, "finalizers", finalizers))
			}
			props.Set("metadata", meta)
		}
		if r.Chance(30) {
			k := jsontree.Obj("type", "string")
			if r.Chance(50) {
				k.Set("enum", jsontree.Arr(jsontree.Str("Pod"), jsontree.Str("x y")))
			}
			if r.Chance(60) {
				k.Set("default", Pick(r, []any{"Pod", "x y", "-bad", "", 1}))
			}
			props.Set("kind", k)
		}
		if r.Chance(15) {
			props.Set("apiVersion", jsontree.Obj("type", "string", "default", Pick(r, []any{"v1", "a/b/c", ""})))
		}
		s.Set("properties", props)
	}
	return s
}
