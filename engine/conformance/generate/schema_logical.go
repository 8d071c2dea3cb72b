package generate

import "github.com/crdeval/crdeval/engine/conformance/jsontree"

// addLogicalOperators adds allOf, anyOf, oneOf and not to a schema. Their validations concern declared fields.
func addLogicalOperators(r Rand, s *jsontree.Node, depth int) {
	if s.Get("x-kubernetes-int-or-string") != nil && s.Get("anyOf") != nil {
		return
	}
	for range r.Between(1, 2) {
		j := Pick(r, []string{"allOf", "anyOf", "oneOf", "not"})
		if s.Get(j) != nil {
			continue
		}
		if j == "not" {
			s.Set("not", valueValidation(r, s, depth))
			continue
		}
		branches := jsontree.Arr()
		for range r.Between(1, 3) {
			branches.Items = append(branches.Items, valueValidation(r, s, depth))
		}
		if r.Chance(10) {
			branches.Items = append(branches.Items, branches.Items[0].Clone()) // equal branches, for ties and repeated messages
		}
		s.Set(j, branches)
	}
}

// valueValidation returns a nested value validation for the fields of s.
func valueValidation(r Rand, s *jsontree.Node, depth int) *jsontree.Node {
	v := jsontree.Obj()
	t, _ := s.Get("type").Text()
	switch t {
	case "object":
		objectValidation(r, v, s, depth)
	case "array":
		bound(r, v, "minItems", "maxItems", 3)
		if items := s.Get("items"); items != nil && depth > 0 && r.Chance(60) {
			v.Set("items", valueValidation(r, items, depth-1))
		}
	case "integer", "number":
		copyMembers(v, numericSchema(r, t))
	case "boolean":
		if r.Chance(50) {
			v.Set("enum", jsontree.Arr(jsontree.Bool(r.Chance(50))))
		}
	default:
		copyMembers(v, stringSchema(r, true))
		if r.Chance(30) {
			copyMembers(v, numericSchema(r, "integer"))
		}
	}
	if depth > 0 && r.Chance(20) {
		addLogicalOperators(r, v, depth-1)
	}
	return v
}

func objectValidation(r Rand, v, s *jsontree.Node, depth int) {
	props := s.Get("properties")
	if props == nil {
		bound(r, v, "minProperties", "maxProperties", 3)
		return
	}
	nested, required := jsontree.Obj(), jsontree.Arr()
	for _, p := range props.Members {
		if r.Chance(40) {
			required.Items = append(required.Items, jsontree.Str(p.Key))
		}
		if depth > 0 && r.Chance(50) {
			nested.Set(p.Key, valueValidation(r, p.Value, depth-1))
		}
	}
	if len(required.Items) > 0 {
		v.Set("required", required)
	}
	if len(nested.Members) > 0 {
		v.Set("properties", nested)
	}
}

func copyMembers(to, from *jsontree.Node) {
	for _, m := range from.Members {
		if m.Key != "type" {
			to.Set(m.Key, m.Value)
		}
	}
}
