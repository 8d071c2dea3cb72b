package openapi

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/tree"
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
func (m *maker) manifests() []*tree.Node {
	m.group = generate.Pick(m.Rand, groups)
	count := 1
	if m.Chance(25) {
		count = m.Between(2, 3)
	}
	var all []*tree.Node
	names := slices.Clone(kinds)
	for range count {
		k := m.IntN(len(names))
		all = append(all, m.manifest(names[k]))
		names = slices.Delete(names, k, k+1)
	}
	return all
}

func (m *maker) manifest(kind string) *tree.Node {
	plural := strings.ToLower(kind) + generate.Pick(m.Rand, []string{"", "s", "es"})
	scope := generate.Pick(m.Rand, []string{"Namespaced", "Cluster"})
	spec := tree.Obj("group", m.group, "scope", scope,
		"names", tree.Obj("plural", plural, "singular", strings.ToLower(kind), "kind", kind, "listKind", kind+"List"))
	if m.Chance(6) {
		spec.Set("preserveUnknownFields", true) // as v1beta1 CRDs could
	}
	list := tree.Arr()
	names := slices.Clone(versions)
	count := 1
	if m.Chance(30) {
		count = m.Between(2, 3)
	}
	for i := range count {
		k := m.IntN(len(names))
		v := tree.Obj("name", names[k], "served", i == 0 || m.Chance(70), "storage", i == 0)
		names = slices.Delete(names, k, k+1)
		if !m.Chance(3) {
			v.Set("schema", tree.Obj("openAPIV3Schema", m.schema()))
		}
		m.subresources(v)
		list.Items = append(list.Items, v)
	}
	spec.Set("versions", list)
	return tree.Obj("apiVersion", "apiextensions.k8s.io/v1", "kind", "CustomResourceDefinition",
		"metadata", tree.Obj("name", plural+"."+m.group, "annotations", tree.Obj("api-approved.kubernetes.io", "https://github.com/kubernetes/kubernetes/pull/1")), "spec", spec)
}

func (m *maker) subresources(v *tree.Node) {
	subresources := tree.Obj()
	if m.Chance(40) {
		subresources.Set("status", tree.Obj())
	}
	if m.Chance(30) {
		subresources.Set("scale", tree.Obj("specReplicasPath", ".spec.replicas", "statusReplicasPath", ".status.replicas"))
	}
	if m.Chance(60) {
		v.Set("subresources", subresources)
	}
	if m.Chance(12) {
		list := tree.Arr()
		for range m.Between(1, 3) {
			list.Items = append(list.Items, tree.Obj("jsonPath", generate.Pick(m.Rand, fields)))
		}
		v.Set("selectableFields", list)
	}
}

// schema returns a root schema, its own or that of a generator of whole CRDs.
func (m *maker) schema() *tree.Node {
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
	crd, err := tree.Parse(manifest)
	if err != nil {
		return m.root()
	}
	if versions := crd.At("spec", "versions"); versions != nil && len(versions.Items) > 0 {
		if s := generate.Pick(m.Rand, versions.Items).At("schema", "openAPIV3Schema"); s != nil && s.Kind == tree.Object {
			return s
		}
	}
	return m.root()
}

// root returns a root schema with what documents change: null, int-or-string, unknown fields, embedded resources, and
// empty values.
func (m *maker) root() *tree.Node {
	s := m.place(4)
	s.Set("type", "object")
	for _, k := range []string{"nullable", "default", "x-kubernetes-int-or-string", "items", "x-kubernetes-embedded-resource", "anyOf", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "additionalProperties"} {
		if !m.Chance(4) {
			s.Delete(k)
		}
	}
	return s
}

func (m *maker) place(depth int) *tree.Node {
	s := tree.Obj()
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
			s.Set("items", tree.Obj("type", "string"))
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

func (m *maker) properties(depth int) *tree.Node {
	p := tree.Obj()
	for range m.Between(0, 4) {
		name := generate.Pick(m.Rand, []string{"a", "b", "spec", "status", "kind", "apiVersion", "metadata", "$ref", "x-y", "a<b", "é", "A", "items"})
		s := m.place(max(depth, 0))
		switch name {
		case "kind", "apiVersion":
			s = tree.Obj("type", "string", "description", "own", "enum", tree.Arr(tree.Str("x")))
		case "metadata":
			s = tree.Obj("type", "object")
		}
		p.Set(name, s)
	}
	return p
}

// intOrString declares int-or-string in one of the allowed forms, or almost.
func (m *maker) intOrString(s *tree.Node) {
	s.Set("x-kubernetes-int-or-string", true)
	pattern := func() *tree.Node { return tree.Arr(tree.Obj("type", "integer"), tree.Obj("type", "string")) }
	switch m.IntN(7) {
	case 0:
		s.Set("anyOf", pattern())
	case 1:
		s.Set("allOf", tree.Arr(tree.Obj("anyOf", pattern()), tree.Obj("pattern", "^a")))
	case 2:
		s.Set("anyOf", tree.Arr(tree.Obj("pattern", "^a"), tree.Obj("maximum", tree.Int(5))))
	case 3:
		s.Set("anyOf", tree.Arr(tree.Obj("minimum", tree.Int(0)))).Set("allOf", tree.Arr(tree.Obj("maxLength", tree.Int(9))))
	case 4:
		s.Set("allOf", tree.Arr(tree.Obj("maxLength", tree.Int(9), "properties", tree.Obj())))
	case 5:
		s.Set("anyOf", tree.Arr(tree.Obj("type", "integer", "required", tree.Arr()), tree.Obj("type", "string")))
	}
}

// keywords adds some keywords that describe or restrict a value, some with empty values.
func (m *maker) keywords(s *tree.Node) {
	values := func() *tree.Node { return generate.Any(m.Rand, 2) }
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
			s.Set("example", generate.Pick(m.Rand, []*tree.Node{values(), tree.Obj(), tree.Arr(), tree.Str(""), tree.Null(), tree.Int(0), tree.Bool(false)}))
		case 4:
			s.Set("externalDocs", generate.Pick(m.Rand, []*tree.Node{tree.Obj(), tree.Obj("url", "https://x"), tree.Obj("description", "d", "url", "")}))
		case 5:
			s.Set("enum", tree.Arr(values(), values()))
		case 6:
			s.Set("required", generate.Pick(m.Rand, []*tree.Node{tree.Arr(), tree.Arr(tree.Str("a")), tree.Arr(tree.Str("kind"), tree.Str("b"), tree.Str("a")), tree.Arr(tree.Str("apiVersion"))}))
		case 7:
			s.Set("maximum", tree.Raw(generate.Pick(m.Rand, []string{"1", "1.5", "1e21", "-0", "1e-7", "123456789012345678"})))
		case 8:
			s.Set("multipleOf", tree.Raw("0.1")).Set("exclusiveMaximum", m.Chance(50)).Set("minimum", tree.Raw("0"))
		case 9:
			s.Set("maxLength", tree.Int(0)).Set("minItems", tree.Int(3))
		case 10:
			s.Set("format", generate.Pick(m.Rand, []string{"int32", "date-time", "nonsense", ""}))
		case 11:
			s.Set("x-kubernetes-map-type", generate.Pick(m.Rand, []string{"atomic", "granular"}))
		case 12:
			s.Set("x-kubernetes-list-type", generate.Pick(m.Rand, []string{"atomic", "set", "map"})).Set("x-kubernetes-list-map-keys", tree.Arr(tree.Str("a")))
		case 13:
			s.Set("x-kubernetes-validations", tree.Arr(tree.Obj("rule", "self == self", "message", "a<b", "reason", "FieldValueInvalid", "optionalOldSelf", m.Chance(50), "fieldPath", ".a")))
		case 14:
			s.Set("not", tree.Obj("enum", tree.Arr(values())))
		case 15:
			s.Set("oneOf", tree.Arr(tree.Obj("required", tree.Arr(tree.Str("a"))), tree.Obj("properties", tree.Obj("a", tree.Obj("maximum", tree.Int(1))), "example", tree.Str("x"))))
		case 16:
			s.Set("anyOf", tree.Arr(tree.Obj("items", tree.Obj("pattern", "x")), tree.Obj("additionalProperties", false, "not", tree.Obj("minLength", tree.Int(1)))))
		case 17:
			s.Set("pattern", generate.Pick(m.Rand, []string{"^a<b$", "\\d+", "^$"}))
		case 18:
			s.Set("additionalProperties", m.Chance(50))
		case 19:
			s.Set("uniqueItems", m.Chance(2)).Set("maxProperties", tree.Int(9))
		}
	}
}
