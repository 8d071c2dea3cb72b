package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// names are candidates for every name in a CRD.
var names = []string{"", "crontabs", "CronTabs", "cron-tabs", "cron.tabs", "-x", "x-", "1x", "a b", "é", "CronTab", "crontab", "Cron_Tab", strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("n", 254), "all", "v1", "v1beta1", "v2alpha10", "foo"}

// edit changes one field of a CRD outside of its schemas.
type edit func(r Rand, crd, spec, ver *jsontree.Node)

func oneOfNames(r Rand) *jsontree.Node {
	if r.Chance(10) {
		return Any(r, 1)
	}
	return jsontree.Str(Pick(r, names))
}

var edits = []edit{
	func(r Rand, crd, _, _ *jsontree.Node) { crd.Get("metadata").Set("name", oneOfNames(r)) },
	func(r Rand, crd, _, _ *jsontree.Node) {
		crd.Get("metadata").Set("name", Pick(r, []any{"", nil})).Set("generateName", Pick(r, []string{"x-", "Bad", strings.Repeat("n", 70)}))
	},
	func(r Rand, crd, _, _ *jsontree.Node) { crd.Set("metadata", metadata(r, true)) },
	func(r Rand, crd, spec, _ *jsontree.Node) {
		g := Pick(r, []string{"", "example", "stable.example.com", "a.k8s.io", "x.kubernetes.io", "A.b", "k8s.io", "a..b", "-a.b", "apiextensions.k8s.io", "a_b.c"})
		spec.Set("group", g)
		crd.Get("metadata").Set("name", "crontabs."+g)
		if r.Chance(50) {
			crd.Get("metadata").Set("annotations", jsontree.Obj("api-approved.kubernetes.io", Pick(r, []string{"", "https://github.com/x", "unapproved, x", "unapproved", "bogus", "http://", "://"})))
		}
	},
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Set("scope", Pick(r, []any{"Cluster", "Namespaced", "", "bogus", 1, nil}))
	},
	func(r Rand, crd, spec, _ *jsontree.Node) {
		n := oneOfNames(r)
		spec.Get("names").Set("plural", n)
		if text, ok := n.Text(); ok {
			crd.Get("metadata").Set("name", text+".stable.example.com")
		}
	},
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Get("names").Set(Pick(r, []string{"singular", "kind", "listKind"}), oneOfNames(r))
	},
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Get("names").Delete(Pick(r, []string{"singular", "kind", "listKind", "plural"}))
	},
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Get("names").Set(Pick(r, []string{"shortNames", "categories"}), jsontree.Arr(oneOfNames(r), oneOfNames(r)))
	},
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("name", oneOfNames(r)) },
	func(r Rand, _, _, ver *jsontree.Node) {
		ver.Set(Pick(r, []string{"served", "storage", "deprecated"}), Pick(r, []any{true, false, nil, "true"}))
	},
	func(r Rand, _, _, ver *jsontree.Node) {
		ver.Delete(Pick(r, []string{"served", "storage", "schema", "name"}))
	},
	func(r Rand, _, _, ver *jsontree.Node) {
		ver.Set("deprecated", r.Chance(70)).Set("deprecationWarning", Pick(r, []any{"use v2", "", strings.Repeat("w", 256), strings.Repeat("w", 257), "line\nbreak", "é \u2028", 1, nil}))
	},
	func(r Rand, _, spec, ver *jsontree.Node) { addVersion(r, spec, ver) },
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("versions", Pick(r, []any{jsontree.Arr(), nil, 1})) },
	func(r Rand, _, spec, ver *jsontree.Node) { addVersion(r, spec, ver); addVersion(r, spec, ver) },
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Set("preserveUnknownFields", Pick(r, []any{true, false, nil}))
	},
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("conversion", conversion(r)) },
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("conversion", conversion(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("subresources", subresources(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("subresources", subresources(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("additionalPrinterColumns", columns(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("additionalPrinterColumns", columns(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("selectableFields", selectable(r)) },
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("selectableFields", selectable(r)) },
	func(r Rand, crd, _, _ *jsontree.Node) {
		crd.Set("status", Pick(r, []*jsontree.Node{jsontree.Obj("storedVersions", jsontree.Arr(jsontree.Str("v1"), jsontree.Str("v9")), "conditions", jsontree.Arr()), jsontree.Obj("acceptedNames", jsontree.Obj("plural", "X")), jsontree.Null(), jsontree.Obj()}).Clone())
	},
	func(r Rand, crd, spec, ver *jsontree.Node) {
		Pick(r, []*jsontree.Node{crd, spec, ver, spec.Get("names")}).Set(Pick(r, []string{"unknown", "Spec", "version", "schemas"}), Any(r, 1))
	},
	func(r Rand, crd, _, _ *jsontree.Node) {
		crd.Set("apiVersion", Pick(r, []any{"apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v2", "v1", "", nil, 1}))
	},
	func(r Rand, crd, _, _ *jsontree.Node) {
		crd.Set("kind", Pick(r, []any{"CustomResourceDefinitionList", "Pod", "", nil, "customresourcedefinition"}))
	},
	func(r Rand, crd, spec, ver *jsontree.Node) { legacy(r, crd, spec, ver) },
	func(r Rand, crd, spec, ver *jsontree.Node) { legacy(r, crd, spec, ver) },
	func(r Rand, _, _, ver *jsontree.Node) {
		ver.Get("schema").Set("openAPIV3Schema", Pick(r, []*jsontree.Node{jsontree.Null(), jsontree.Obj(), jsontree.Arr(), jsontree.Obj("type", "string"), jsontree.Obj("type", "object", "nullable", true), jsontree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true),
			jsontree.Obj("type", "object", "additionalProperties", jsontree.Obj("type", "string")), jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true), jsontree.Obj("x-kubernetes-preserve-unknown-fields", true)}).Clone())
	},
	func(r Rand, _, _, ver *jsontree.Node) {
		ver.Set("subresources", jsontree.Obj("status", jsontree.Obj()))
		e := Pick(r, extras)
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == jsontree.Object {
			s.Set(e.Key, e.Value.Clone())
		}
	},
	func(r Rand, _, _, ver *jsontree.Node) {
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == jsontree.Object {
			e := Pick(r, extras)
			s.Set(e.Key, e.Value.Clone())
		}
	},
	func(r Rand, _, _, ver *jsontree.Node) {
		if s := ver.At("schema", "openAPIV3Schema"); s != nil && s.Kind == jsontree.Object {
			meta := jsontree.Obj("type", Pick(r, []string{"object", "string"}), "properties", jsontree.Obj(Pick(r, []string{"name", "generateName", "labels"}), Pick(r, []*jsontree.Node{jsontree.Obj("type", "string", "maxLength", 5), jsontree.Obj("type", "string", "default", "x"), jsontree.Obj("type", "object")}).Clone()))
			if r.Chance(30) {
				e := Pick(r, extras)
				meta.Set(e.Key, e.Value.Clone())
			}
			s.Set("properties", jsontree.Obj("metadata", meta, "apiVersion", jsontree.Obj("type", Pick(r, []string{"string", "integer"})), "kind", jsontree.Obj("type", Pick(r, []string{"string", "object"}))))
		}
	},
}

func addVersion(r Rand, spec, ver *jsontree.Node) {
	v := ver.Clone()
	v.Set("name", Pick(r, []string{"v2", "v1beta1", "v1alpha1", "v1", "v10", "foo", "v2beta3"})).Set("storage", r.Chance(10)).Set("served", r.Chance(80))
	switch r.IntN(4) {
	case 0:
		v.Get("schema").Set("openAPIV3Schema", jsontree.Obj("type", "object", "properties", jsontree.Obj("z", structural(r, 2, ""))))
	case 1:
		v.Set("additionalPrinterColumns", columns(r))
	case 2:
		v.Set("subresources", subresources(r))
	}
	if versions := spec.Get("versions"); versions != nil {
		versions.Items = append(versions.Items, v)
	}
}

func conversion(r Rand) *jsontree.Node {
	c := jsontree.Obj("strategy", Pick(r, []string{"None", "Webhook", "Webhook", "Webhook", "", "bogus"}))
	if r.Chance(80) {
		client := jsontree.Obj()
		if r.Chance(50) {
			client.Set("url", Pick(r, []any{"https://x/y", "http://x", "https://", "x", "", "https://user@x/y", "https://x/y?z", "https://x/y#f", 1, "https://[::1", ":"}))
		}
		if r.Chance(50) {
			s := jsontree.Obj("namespace", Pick(r, []any{"n", "", nil}), "name", Pick(r, []any{"s", "", "A b"}))
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
		hook := jsontree.Obj("conversionReviewVersions", Pick(r, []*jsontree.Node{jsontree.Arr(jsontree.Str("v1")), jsontree.Arr(jsontree.Str("v1beta1"), jsontree.Str("v1")), jsontree.Arr(), jsontree.Arr(jsontree.Str("v9")), jsontree.Arr(jsontree.Str("v1"), jsontree.Str("v1")), jsontree.Arr(jsontree.Str("A b"), jsontree.Str("v1")), jsontree.Null()}).Clone())
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

func subresources(r Rand) *jsontree.Node {
	s := jsontree.Obj()
	if r.Chance(70) {
		s.Set("status", Pick(r, []any{jsontree.Obj(), jsontree.Obj(), nil, 1}))
	}
	if r.Chance(70) {
		scale := jsontree.Obj("specReplicasPath", Pick(r, jsonPaths), "statusReplicasPath", Pick(r, jsonPaths))
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

func columns(r Rand) *jsontree.Node {
	a := jsontree.Arr()
	for range r.Between(1, 3) {
		c := jsontree.Obj("name", Pick(r, []any{"N", "", "A b", nil}), "type", Pick(r, []any{"string", "integer", "number", "boolean", "date", "", "bogus"}), "jsonPath", Pick(r, jsonPaths))
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

func selectable(r Rand) *jsontree.Node {
	a := jsontree.Arr()
	n := r.Between(0, 3)
	if r.Chance(10) {
		n = r.Between(8, 10)
	}
	for range n {
		a.Items = append(a.Items, jsontree.Obj("jsonPath", Pick(r, jsonPaths)))
	}
	if r.Chance(50) {
		a.Items = append(a.Items, jsontree.Obj("jsonPath", Pick(r, []string{".spec.color", ".spec.n", ".spec.list", ".spec.deep.x", ".spec.color", ".color"})))
	}
	return a
}

// legacy rewrites a CRD to v1beta1, with some fields at the top of the spec.
func legacy(r Rand, crd, spec, ver *jsontree.Node) {
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
		if hook := c.Get("webhook"); hook != nil && hook.Kind == jsontree.Object {
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
		if versions == nil || len(versions.Items) == 0 || versions.Items[0].Get("schema") == nil || crd.Get("metadata").Kind != jsontree.Object {
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
	var all []*jsontree.Node
	eachSchema(schema, func(n *jsontree.Node) { all = append(all, n) })
	for range r.Between(1, 2) {
		e := Pick(r, extras)
		Pick(r, all).Set(e.Key, e.Value.Clone())
	}
	crd := Manifest(schema)
	if r.Chance(20) {
		crd.At("spec", "versions").Items[0].Set("subresources", jsontree.Obj("status", jsontree.Obj()))
	}
	return Group{Name: "broken", CRD: crd.JSON(), Objects: objectsFor(r, crd, 2)}
}
