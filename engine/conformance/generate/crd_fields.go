package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// names are candidates for every name in a CRD.
var names = []string{"", "crontabs", "CronTabs", "cron-tabs", "cron.tabs", "-x", "x-", "1x", "a b", "é", "CronTab", "crontab", "Cron_Tab", strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("n", 254), "all", "v1", "v1beta1", "v2alpha10", "foo"}

// edit changes one field of a CRD outside of its schemas.
type edit func(r Rand, crd, spec, ver *tree.Node)

func oneOfNames(r Rand) *tree.Node {
	if r.Chance(10) {
		return Any(r, 1)
	}
	return tree.Str(Pick(r, names))
}

var edits = []edit{
	func(r Rand, crd, _, _ *tree.Node) { crd.Get("metadata").Set("name", oneOfNames(r)) },
	func(r Rand, crd, _, _ *tree.Node) {
		crd.Get("metadata").Set("name", Pick(r, []any{"", nil})).Set("generateName", Pick(r, []string{"x-", "Bad", strings.Repeat("n", 70)}))
	},
	func(r Rand, crd, _, _ *tree.Node) { crd.Set("metadata", metadata(r, true)) },
	func(r Rand, crd, spec, _ *tree.Node) {
		g := Pick(r, []string{"", "example", "stable.example.com", "a.k8s.io", "x.kubernetes.io", "A.b", "k8s.io", "a..b", "-a.b", "apiextensions.k8s.io", "a_b.c"})
		spec.Set("group", g)
		crd.Get("metadata").Set("name", "crontabs."+g)
		if r.Chance(50) {
			crd.Get("metadata").Set("annotations", tree.Obj("api-approved.kubernetes.io", Pick(r, []string{"", "https://github.com/x", "unapproved, x", "unapproved", "bogus", "http://", "://"})))
		}
	},
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Set("scope", Pick(r, []any{"Cluster", "Namespaced", "", "bogus", 1, nil}))
	},
	func(r Rand, crd, spec, _ *tree.Node) {
		n := oneOfNames(r)
		spec.Get("names").Set("plural", n)
		if text, ok := n.Text(); ok {
			crd.Get("metadata").Set("name", text+".stable.example.com")
		}
	},
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Get("names").Set(Pick(r, []string{"singular", "kind", "listKind"}), oneOfNames(r))
	},
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Get("names").Delete(Pick(r, []string{"singular", "kind", "listKind", "plural"}))
	},
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Get("names").Set(Pick(r, []string{"shortNames", "categories"}), tree.Arr(oneOfNames(r), oneOfNames(r)))
	},
	func(r Rand, _, _, ver *tree.Node) { ver.Set("name", oneOfNames(r)) },
	func(r Rand, _, _, ver *tree.Node) {
		ver.Set(Pick(r, []string{"served", "storage", "deprecated"}), Pick(r, []any{true, false, nil, "true"}))
	},
	func(r Rand, _, _, ver *tree.Node) {
		ver.Delete(Pick(r, []string{"served", "storage", "schema", "name"}))
	},
	func(r Rand, _, _, ver *tree.Node) {
		ver.Set("deprecated", r.Chance(70)).Set("deprecationWarning", Pick(r, []any{"use v2", "", strings.Repeat("w", 256), strings.Repeat("w", 257), "line\nbreak", "é \u2028", 1, nil}))
	},
	func(r Rand, _, spec, ver *tree.Node) { addVersion(r, spec, ver) },
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("versions", Pick(r, []any{tree.Arr(), nil, 1})) },
	func(r Rand, _, spec, ver *tree.Node) { addVersion(r, spec, ver); addVersion(r, spec, ver) },
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Set("preserveUnknownFields", Pick(r, []any{true, false, nil}))
	},
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("conversion", conversion(r)) },
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("conversion", conversion(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("subresources", subresources(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("subresources", subresources(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("additionalPrinterColumns", columns(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("additionalPrinterColumns", columns(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("selectableFields", selectable(r)) },
	func(r Rand, _, _, ver *tree.Node) { ver.Set("selectableFields", selectable(r)) },
	func(r Rand, crd, _, _ *tree.Node) {
		crd.Set("status", Pick(r, []*tree.Node{tree.Obj("storedVersions", tree.Arr(tree.Str("v1"), tree.Str("v9")), "conditions", tree.Arr()), tree.Obj("acceptedNames", tree.Obj("plural", "X")), tree.Null(), tree.Obj()}).Clone())
	},
	func(r Rand, crd, spec, ver *tree.Node) {
		Pick(r, []*tree.Node{crd, spec, ver, spec.Get("names")}).Set(Pick(r, []string{"unknown", "Spec", "version", "schemas"}), Any(r, 1))
	},
	func(r Rand, crd, _, _ *tree.Node) {
		crd.Set("apiVersion", Pick(r, []any{"apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v2", "v1", "", nil, 1}))
	},
	func(r Rand, crd, _, _ *tree.Node) {
		crd.Set("kind", Pick(r, []any{"CustomResourceDefinitionList", "Pod", "", nil, "customresourcedefinition"}))
	},
	func(r Rand, crd, spec, ver *tree.Node) { legacy(r, crd, spec, ver) },
	func(r Rand, crd, spec, ver *tree.Node) { legacy(r, crd, spec, ver) },
	func(r Rand, _, _, ver *tree.Node) {
		ver.Get("schema").Set("openAPIV3Schema", Pick(r, []*tree.Node{tree.Null(), tree.Obj(), tree.Arr(), tree.Obj("type", "string"), tree.Obj("type", "object", "nullable", true), tree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true),
			tree.Obj("type", "object", "additionalProperties", tree.Obj("type", "string")), tree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true), tree.Obj("x-kubernetes-preserve-unknown-fields", true)}).Clone())
	},
	func(r Rand, _, _, ver *tree.Node) {
		ver.Set("subresources", tree.Obj("status", tree.Obj()))
		e := Pick(r, extras)
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == tree.Object {
			s.Set(e.Key, e.Value.Clone())
		}
	},
	func(r Rand, _, _, ver *tree.Node) {
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == tree.Object {
			e := Pick(r, extras)
			s.Set(e.Key, e.Value.Clone())
		}
	},
	func(r Rand, _, _, ver *tree.Node) {
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == tree.Object {
			meta := tree.Obj("type", Pick(r, []string{"object", "string"}), "properties", tree.Obj(Pick(r, []string{"name", "generateName", "labels"}), Pick(r, []*tree.Node{tree.Obj("type", "string", "maxLength", 5), tree.Obj("type", "string", "default", "x"), tree.Obj("type", "object")}).Clone()))
			if r.Chance(30) {
				e := Pick(r, extras)
				meta.Set(e.Key, e.Value.Clone())
			}
			s.Set("properties", tree.Obj("metadata", meta, "apiVersion", tree.Obj("type", Pick(r, []string{"string", "integer"})), "kind", tree.Obj("type", Pick(r, []string{"string", "object"}))))
		}
	},
}

func addVersion(r Rand, spec, ver *tree.Node) {
	v := ver.Clone()
	v.Set("name", Pick(r, []string{"v2", "v1beta1", "v1alpha1", "v1", "v10", "foo", "v2beta3"})).Set("storage", r.Chance(10)).Set("served", r.Chance(80))
	switch r.IntN(4) {
	case 0:
		v.Get("schema").Set("openAPIV3Schema", tree.Obj("type", "object", "properties", tree.Obj("z", structural(r, 2, ""))))
	case 1:
		v.Set("additionalPrinterColumns", columns(r))
	case 2:
		v.Set("subresources", subresources(r))
	}
	if versions := spec.Get("versions"); versions != nil {
		versions.Items = append(versions.Items, v)
	}
}

func conversion(r Rand) *tree.Node {
	c := tree.Obj("strategy", Pick(r, []string{"None", "Webhook", "Webhook", "Webhook", "", "bogus"}))
	if r.Chance(80) {
		client := tree.Obj()
		if r.Chance(50) {
			client.Set("url", Pick(r, []any{"https://x/y", "http://x", "https://", "x", "", "https://user@x/y", "https://x/y?z", "https://x/y#f", 1, "https://[::1", ":"}))
		}
		if r.Chance(50) {
			s := tree.Obj("namespace", Pick(r, []any{"n", "", nil}), "name", Pick(r, []any{"s", "", "A b"}))
			if r.Chance(50) {
				s.Set("path", Pick(r, []any{"/x", "x", "/x//y", "/", "", "/a b", "/x/"}))
			}
			if r.Chance(50) {
				s.Set("port", Pick(r, []any{0, 443, 65535, 65536, -1, "443"}))
			}
			client.Set("service", s)
		}
		if r.Chance(30) {
			client.Set("caBundle", Pick(r, []any{"", "YQ==", "bad", "Cg==", "IA=="}))
		}
		hook := tree.Obj("conversionReviewVersions", Pick(r, []*tree.Node{tree.Arr(tree.Str("v1")), tree.Arr(tree.Str("v1beta1"), tree.Str("v1")), tree.Arr(), tree.Arr(tree.Str("v9")), tree.Arr(tree.Str("v1"), tree.Str("v1")), tree.Arr(tree.Str("A b"), tree.Str("v1")), tree.Null()}).Clone())
		if r.Chance(85) {
			hook.Set("clientConfig", client)
		}
		c.Set("webhook", hook)
		if r.Chance(10) {
			c.Set("webhook", Any(r, 1))
		}
	}
	return c
}

var jsonPaths = []string{".spec.replicas", ".status.replicas", "spec.replicas", "", ".", ".spec[0]", ".spec.a.b", ".spec.x\\.y", ".metadata.name", ".metadata.labels.app", "..", ".status", ".spec.replicas ", ".a[*]", ".a['b']", "{.spec}", ".a[?(@.x==1)].y", ".spec..x", ".v", ".spec", ".a[", "$.x", ".spec.v.w",
	".status.selector", ".Spec.Replicas", ".é", ".spec.[0]"}

func subresources(r Rand) *tree.Node {
	s := tree.Obj()
	if r.Chance(70) {
		s.Set("status", Pick(r, []any{tree.Obj(), tree.Obj(), nil, 1}))
	}
	if r.Chance(70) {
		scale := tree.Obj("specReplicasPath", Pick(r, jsonPaths), "statusReplicasPath", Pick(r, jsonPaths))
		if r.Chance(60) {
			scale.Set("labelSelectorPath", Pick(r, jsonPaths))
		}
		if r.Chance(50) {
			scale.Set("specReplicasPath", ".spec.replicas").Set("statusReplicasPath", ".status.replicas")
		}
		s.Set("scale", scale)
	}
	return s
}

func columns(r Rand) *tree.Node {
	a := tree.Arr()
	for range r.Between(1, 3) {
		c := tree.Obj("name", Pick(r, []any{"N", "", "A b", nil}), "type", Pick(r, []any{"string", "integer", "number", "boolean", "date", "", "bogus"}), "jsonPath", Pick(r, jsonPaths))
		if r.Chance(50) {
			c.Set("format", Pick(r, []any{"int32", "int64", "float", "double", "byte", "date", "date-time", "password", "bogus", ""}))
		}
		if r.Chance(30) {
			c.Set("priority", Pick(r, []any{0, 1, -1, 2147483648, "1"})).Set("description", "d")
		}
		a.Items = append(a.Items, c)
	}
	return a
}

func selectable(r Rand) *tree.Node {
	a := tree.Arr()
	n := r.Between(0, 3)
	if r.Chance(10) {
		n = r.Between(8, 10)
	}
	for range n {
		a.Items = append(a.Items, tree.Obj("jsonPath", Pick(r, jsonPaths)))
	}
	if r.Chance(50) {
		a.Items = append(a.Items, tree.Obj("jsonPath", Pick(r, []string{".spec.color", ".spec.n", ".spec.list", ".spec.deep.x", ".spec.color", ".color"})))
	}
	return a
}

// legacy rewrites a CRD to v1beta1, with some fields at the top of the spec.
func legacy(r Rand, crd, spec, ver *tree.Node) {
	crd.Set("apiVersion", "apiextensions.k8s.io/v1beta1")
	schema := ver.Get("schema")
	if r.Chance(50) && schema != nil {
		spec.Set("validation", schema)
		if r.Chance(80) {
			ver.Delete("schema")
		}
	}
	if r.Chance(40) {
		spec.Set("version", Pick(r, []string{"v1", "v2", ""}))
		if r.Chance(50) {
			spec.Delete("versions")
		}
	}
	if r.Chance(40) {
		spec.Set("subresources", subresources(r))
	}
	if r.Chance(40) {
		cols := columns(r)
		for _, c := range cols.Items {
			c.Set("JSONPath", c.Get("jsonPath"))
			if r.Chance(90) {
				c.Delete("jsonPath")
			}
		}
		spec.Set("additionalPrinterColumns", cols)
	}
	if r.Chance(50) {
		spec.Set("preserveUnknownFields", r.Chance(40))
	}
	if r.Chance(30) {
		c := conversion(r)
		if hook := c.Get("webhook"); hook != nil && hook.Kind == tree.Object {
			c.Set("webhookClientConfig", hook.Get("clientConfig")).Set("conversionReviewVersions", hook.Get("conversionReviewVersions"))
			if r.Chance(90) {
				c.Delete("webhook")
			}
		}
		spec.Set("conversion", c)
	}
}

// Form returns the group of a CRD with one or two unusual fields outside of its schemas. Objects are generated too, in
// case it is accepted.
func Form(r Rand) Group {
	schema := formSchema()
	if r.Chance(20) {
		schema = Schema(r)
	}
	crd := Manifest(schema)
	for range r.Between(1, 2) {
		spec := crd.Get("spec")
		versions := spec.Get("versions")
		if versions == nil || len(versions.Items) == 0 || versions.Items[0].Get("schema") == nil || crd.Get("metadata").Kind != tree.Object {
			break
		}
		Pick(r, edits)(r, crd, spec, versions.Items[0])
	}
	if r.Chance(5) {
		Mutate(r, crd)
	}
	g := Group{Name: "form", CRD: crd.JSON()}
	if r.Chance(2) {
		g.CRD = corrupt(r, g.CRD)
	}
	g.Objects = objectsFor(r, crd, 2)
	return g
}

// Broken returns the group of a random schema with one keyword too many.
func Broken(r Rand) Group {
	schema := Schema(r)
	var all []*tree.Node
	eachSchema(schema, func(n *tree.Node) { all = append(all, n) })
	for range r.Between(1, 2) {
		e := Pick(r, extras)
		Pick(r, all).Set(e.Key, e.Value.Clone())
	}
	crd := Manifest(schema)
	if r.Chance(20) {
		crd.At("spec", "versions").Items[0].Set("subresources", tree.Obj("status", tree.Obj()))
	}
	return Group{Name: "broken", CRD: crd.JSON(), Objects: objectsFor(r, crd, 2)}
}
