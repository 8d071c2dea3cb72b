package openapi

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// maker generates the CRDs of a group.
type maker struct {
	generate.Rand
	real  *generate.Real
	group string
}

// Names that documents process: articles, identifiers in camel case, prefixes of verbs.
var (
	groups   = []string{"stable.example.com", "example.com", "apps.k8s.io", "policy-set.x-k8s.io", "3scale.net", "a.b-c.d3e.example", "k8s.io", "status.io", "apimachinery.k8s.io"}
	versions = []string{"v1", "v1beta1", "v2alpha1", "foo", "v10", "x-1-y", "status"}
	fields   = []string{".spec.color", ".spec.a.b", ".spec", ".a", "..x", ".spec['a b']"}
	kinds    = []string{"CronTab", "Apple", "egg", "Glass", "Ingress", "Nodes", "collectionFoo", "My-Kind", "deleteJob", "U2", "Status", "Scale", "ForAllNamespaces", "list", "İstio", "My-\u212aelvin"}
)

// manifests returns the manifests of up to three CRDs of one group.
func (m *maker) manifests() []*jsontree.Node {
	m.group = generate.Pick(m.Rand, groups)
	count := 1
	if m.Chance(25) {
		count = m.Between(2, 3)
	}
	var all []*jsontree.Node
	names := slices.Clone(kinds)
	for range count {
		k := m.IntN(len(names))
		all = append(all, m.manifest(names[k]))
		names = slices.Delete(names, k, k+1)
	}
	return all
}

func (m *maker) manifest(kind string) *jsontree.Node {
	plural := strings.ToLower(kind) + generate.Pick(m.Rand, []string{"", "s", "es"})
	scope := generate.Pick(m.Rand, []string{"Namespaced", "Cluster"})
	spec := jsontree.Obj("group", m.group, "scope", scope,
		"names", jsontree.Obj("plural", plural, "singular", strings.ToLower(kind), "kind", kind, "listKind", kind+"List"))
	if m.Chance(6) {
		spec.Set("preserveUnknownFields", true) // as v1beta1 CRDs could
	}
	list := jsontree.Arr()
	names := slices.Clone(versions)
	count := 1
	if m.Chance(30) {
		count = m.Between(2, 3)
	}
	for i := range count {
		k := m.IntN(len(names))
		v := jsontree.Obj("name", names[k], "served", i == 0 || m.Chance(70), "storage", i == 0)
		names = slices.Delete(names, k, k+1)
		if !m.Chance(3) {
			v.Set("schema", jsontree.Obj("openAPIV3Schema", m.schema()))
		}
		m.subresources(v)
		list.Items = append(list.Items, v)
	}
	spec.Set("versions", list)
	return jsontree.Obj("apiVersion", "apiextensions.k8s.io/v1", "kind", "CustomResourceDefinition",
		"metadata", jsontree.Obj("name", plural+"."+m.group, "annotations", jsontree.Obj("api-approved.kubernetes.io", "https://github.com/kubernetes/kubernetes/pull/1")), "spec", spec)
}

func (m *maker) subresources(v *jsontree.Node) {
	subresources := jsontree.Obj()
	if m.Chance(40) {
		subresources.Set("status", jsontree.Obj())
	}
	if m.Chance(30) {
		subresources.Set("scale", jsontree.Obj("specReplicasPath", ".spec.replicas", "statusReplicasPath", ".status.replicas"))
	}
	if m.Chance(60) {
		v.Set("subresources", subresources)
	}
	if m.Chance(12) {
		list := jsontree.Arr()
		for range m.Between(1, 3) {
			list.Items = append(list.Items, jsontree.Obj("jsonPath", generate.Pick(m.Rand, fields)))
		}
		v.Set("selectableFields", list)
	}
}

// schema returns a root schema, its own or that of a generator of whole CRDs.
func (m *maker) schema() *jsontree.Node {
	var manifest []byte
	switch k := m.IntN(100); {
	case k < 35:
		return generate.Schema(m.Rand)
	case k < 65:
		return m.root()
	case k < 70:
		manifest = generate.Broken(m.Rand).CRD
	case k < 98 || m.real == nil:
		if m.real == nil {
			return generate.Schema(m.Rand)
		}
		manifest = m.real.Mutant(m.Rand, m.IntN(m.real.Mutants())).CRD
	default:
		manifest = m.real.Definition(m.IntN(m.real.Definitions())).CRD
	}
	crd, err := jsontree.Parse(manifest)
	if err != nil {
		return m.root()
	}
	if versions := crd.At("spec", "versions"); versions != nil && len(versions.Items) > 0 {
		if s := generate.Pick(m.Rand, versions.Items).At("schema", "openAPIV3Schema"); s != nil && s.Kind == jsontree.Object {
			return s
		}
	}
	return m.root()
}

// root returns a root schema with what documents change: null, int-or-string, unknown fields, embedded resources, and
// empty values.
func (m *maker) root() *jsontree.Node {
	s := m.place(4)
	s.Set("type", "object")
	for _, k := range []string{"nullable", "default", "x-kubernetes-int-or-string", "items", "x-kubernetes-embedded-resource", "anyOf", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "additionalProperties"} {
		if !m.Chance(4) {
			s.Delete(k)
		}
	}
	return s
}

func (m *maker) place(depth int) *jsontree.Node {
	s := jsontree.Obj()
	kind := m.IntN(10)
	if depth == 0 {
		kind = 4 + m.IntN(6)
	}
	switch kind {
	case 0, 1, 2:
		s.Set("type", "object").Set("properties", m.properties(depth-1))
	case 3:
		s.Set("type", "object").Set("additionalProperties", m.place(depth-1))
	case 4:
		s.Set("type", "array")
		if depth > 0 {
			s.Set("items", m.place(depth-1))
		} else {
			s.Set("items", jsontree.Obj("type", "string"))
		}
	case 5:
		m.intOrString(s)
	case 6:
		s.Set("type", "object").Set("x-kubernetes-preserve-unknown-fields", true)
		if depth > 0 && m.Chance(50) {
			s.Set("properties", m.properties(depth-1))
		}
	case 7:
		s.Set("type", "object").Set("x-kubernetes-embedded-resource", true).Set("x-kubernetes-preserve-unknown-fields", true)
		if depth > 0 && m.Chance(60) {
			s.Delete("x-kubernetes-preserve-unknown-fields")
			s.Set("properties", m.properties(depth-1))
		}
	default:
		s.Set("type", generate.Pick(m.Rand, []string{"string", "integer", "number", "boolean"}))
	}
	if m.Chance(20) {
		s.Set("nullable", true)
	}
	m.keywords(s)
	return s
}

func (m *maker) properties(depth int) *jsontree.Node {
	p := jsontree.Obj()
	for range m.Between(0, 4) {
		name := generate.Pick(m.Rand, []string{"a", "b", "spec", "status", "kind", "apiVersion", "metadata", "$ref", "x-y", "a<b", "é", "A", "items"})
		s := m.place(max(depth, 0))
		switch name {
		case "kind", "apiVersion":
			s = jsontree.Obj("type", "string", "description", "own", "enum", jsontree.Arr(jsontree.Str("x")))
		case "metadata":
			s = jsontree.Obj("type", "object")
		}
		p.Set(name, s)
	}
	return p
}

// intOrString declares int-or-string in one of the allowed forms, or almost.
func (m *maker) intOrString(s *jsontree.Node) {
	s.Set("x-kubernetes-int-or-string", true)
	pattern := func() *jsontree.Node {
		return jsontree.Arr(jsontree.Obj("type", "integer"), jsontree.Obj("type", "string"))
	}
	switch m.IntN(7) {
	case 0:
		s.Set("anyOf", pattern())
	case 1:
		s.Set("allOf", jsontree.Arr(jsontree.Obj("anyOf", pattern()), jsontree.Obj("pattern", "^a")))
	case 2:
		s.Set("anyOf", jsontree.Arr(jsontree.Obj("pattern", "^a"), jsontree.Obj("maximum", jsontree.Int(5))))
	case 3:
		s.Set("anyOf", jsontree.Arr(jsontree.Obj("minimum", jsontree.Int(0)))).Set("allOf", jsontree.Arr(jsontree.Obj("maxLength", jsontree.Int(9))))
	case 4:
		s.Set("allOf", jsontree.Arr(jsontree.Obj("maxLength", jsontree.Int(9), "properties", jsontree.Obj())))
	case 5:
		s.Set("anyOf", jsontree.Arr(jsontree.Obj("type", "integer", "required", jsontree.Arr()), jsontree.Obj("type", "string")))
	}
}

// keywords adds some keywords that describe or restrict a value, some with empty values.
func (m *maker) keywords(s *jsontree.Node) {
	values := func() *jsontree.Node { return generate.Any(m.Rand, 2) }
	typ, _ := s.Get("type").Text()
	for range m.IntN(3) {
		k := m.IntN(20)
		if m.Chance(90) && (k == 2 || k == 11 && typ != "object" || k == 12 && typ != "array" || k == 18 || k == 13) {
			continue // mostly rejected
		}
		switch k {
		case 0:
			s.Set("description", generate.Pick(m.Rand, []string{"", "some <b>text</b> & \"more\"\n", "\u2028\u00e9\u0007", "a"}))
		case 1:
			s.Set("title", "Title")
		case 2:
			s.Set("default", values())
		case 3:
			s.Set("example", generate.Pick(m.Rand, []*jsontree.Node{values(), jsontree.Obj(), jsontree.Arr(), jsontree.Str(""), jsontree.Null(), jsontree.Int(0), jsontree.Bool(false)}))
		case 4:
			s.Set("externalDocs", generate.Pick(m.Rand, []*jsontree.Node{jsontree.Obj(), jsontree.Obj("url", "https://x"), jsontree.Obj("description", "d", "url", "")}))
		case 5:
			s.Set("enum", jsontree.Arr(values(), values()))
		case 6:
			s.Set("required", generate.Pick(m.Rand, []*jsontree.Node{jsontree.Arr(), jsontree.Arr(jsontree.Str("a")), jsontree.Arr(jsontree.Str("kind"), jsontree.Str("b"), jsontree.Str("a")), jsontree.Arr(jsontree.Str("apiVersion"))}))
		case 7:
			s.Set("maximum", jsontree.Raw(generate.Pick(m.Rand, []string{"1", "1.5", "1e21", "-0", "1e-7", "123456789012345678"})))
		case 8:
			s.Set("multipleOf", jsontree.Raw("0.1")).Set("exclusiveMaximum", m.Chance(50)).Set("minimum", jsontree.Raw("0"))
		case 9:
			s.Set("maxLength", jsontree.Int(0)).Set("minItems", jsontree.Int(3))
		case 10:
			s.Set("format", generate.Pick(m.Rand, []string{"int32", "date-time", "nonsense", ""}))
		case 11:
			s.Set("x-kubernetes-map-type", generate.Pick(m.Rand, []string{"atomic", "granular"}))
		case 12:
			s.Set("x-kubernetes-list-type", generate.Pick(m.Rand, []string{"atomic", "set", "map"})).Set("x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("a")))
		case 13:
			s.Set("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", "self == self", "message", "a<b", "reason", "FieldValueInvalid", "optionalOldSelf", m.Chance(50), "fieldPath", ".a")))
		case 14:
			s.Set("not", jsontree.Obj("enum", jsontree.Arr(values())))
		case 15:
			s.Set("oneOf", jsontree.Arr(jsontree.Obj("required", jsontree.Arr(jsontree.Str("a"))), jsontree.Obj("properties", jsontree.Obj("a", jsontree.Obj("maximum", jsontree.Int(1))), "example", jsontree.Str("x"))))
		case 16:
			s.Set("anyOf", jsontree.Arr(jsontree.Obj("items", jsontree.Obj("pattern", "x")), jsontree.Obj("additionalProperties", false, "not", jsontree.Obj("minLength", jsontree.Int(1)))))
		case 17:
			s.Set("pattern", generate.Pick(m.Rand, []string{"^a<b$", "\\d+", "^$"}))
		case 18:
			s.Set("additionalProperties", m.Chance(50))
		case 19:
			s.Set("uniqueItems", m.Chance(2)).Set("maxProperties", jsontree.Int(9))
		}
	}
}
