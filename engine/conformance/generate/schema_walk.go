package generate

import "github.com/crdeval/crdeval/engine/conformance/jsontree"

// eachSchema visits a schema and all schemas below it, including those of allOf, anyOf, oneOf and not.
func eachSchema(s *jsontree.Node, visit func(*jsontree.Node)) {
	if s == nil || s.Kind != jsontree.Object {
		return
	}
	visit(s)
	for _, m := range s.Members {
		switch m.Key {
		case "properties", "patternProperties", "definitions", "dependencies":
			for _, p := range m.Value.Members {
				eachSchema(p.Value, visit)
			}
		case "items", "additionalProperties", "additionalItems", "not":
			eachSchema(m.Value, visit)
			for _, e := range m.Value.Items {
				eachSchema(e, visit)
			}
		case "allOf", "anyOf", "oneOf":
			for _, e := range m.Value.Items {
				eachSchema(e, visit)
			}
		}
	}
}

// withoutTexts removes descriptions, which are most bytes of a manifest and have no effect.
func withoutTexts(crd *jsontree.Node) {
	for _, v := range crd.At("spec", "versions").GetItems() {
		eachSchema(v.At("schema", "openAPIV3Schema"), func(n *jsontree.Node) {
			if d := n.Get("description"); d != nil && d.Kind == jsontree.Scalar {
				n.Delete("description")
			}
		})
	}
	crd.Get("metadata").Delete("annotations")
	if a := approval(crd); a != nil {
		crd.Get("metadata").Set("annotations", a)
	}
	crd.Delete("status")
}

// approval keeps the annotation that CRDs of protected groups need.
func approval(crd *jsontree.Node) *jsontree.Node {
	name, _ := crd.At("spec", "group").Text()
	for _, suffix := range []string{".k8s.io", ".kubernetes.io"} {
		if len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix {
			return jsontree.Obj("api-approved.kubernetes.io", "https://github.com/kubernetes/kubernetes/pull/1")
		}
	}
	return nil
}
