package selectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// group is a CRD, its objects, and selectors.
type group struct {
	Manifest []byte
	Versions []string
	Objects  []stored
	Asked    []question
}

// question is one list.
type question struct {
	Version, Namespace, Selector string
}

const (
	objectsPerGroup   = 10
	questionsPerGroup = 24

	apiGroup = "stable.example.com"
)

type maker struct {
	generate.Rand
	namespaced bool
	// leaves are the paths that the schema declares and their types, by version.
	leaves map[string][]leaf
	// fields are the selectable fields, by version.
	fields map[string][]string
	// seen are the values of objects, by path.
	seen []string
}

type leaf struct {
	path []string
	kind string
}

// object is a JSON object.
type object = map[string]any

// makeGroup returns the n-th group of a seed.
func makeGroup(seed, n uint64) group {
	m := &maker{Rand: generate.New("selectors", seed, n), leaves: map[string][]leaf{}, fields: map[string][]string{}}
	m.namespaced = m.Chance(75)
	g := group{Versions: []string{"v1"}}
	if m.Chance(40) {
		g.Versions = append(g.Versions, "v1beta1")
	}
	g.Manifest = m.manifest(g.Versions)
	for i := range objectsPerGroup {
		g.Objects = append(g.Objects, m.object(i, generate.Pick(m.Rand, g.Versions)))
	}
	for range questionsPerGroup {
		q := question{Version: generate.Pick(m.Rand, g.Versions)}
		if m.namespaced && m.Chance(60) {
			q.Namespace = generate.Pick(m.Rand, namespaces)
		}
		q.Selector = m.selector(q.Version)
		g.Asked = append(g.Asked, q)
	}
	return g
}

var namespaces = []string{"default", "kube-system", "a"}

func (m *maker) manifest(versions []string) []byte {
	scope := "Cluster"
	if m.namespaced {
		scope = "Namespaced"
	}
	var list []any
	for i, v := range versions {
		root, leaves := m.schema(0, nil)
		m.leaves[v] = leaves
		one := object{"name": v, "served": true, "storage": i == len(versions)-1, "schema": object{"openAPIV3Schema": root}}
		var selected []any
		if selected, m.fields[v] = m.selected(leaves); selected != nil {
			one["selectableFields"] = selected
		}
		list = append(list, one)
	}
	text, _ := json.Marshal(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "crontabs." + apiGroup},
		"spec": object{
			"group": apiGroup, "scope": scope, "versions": list,
			"names": object{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
		},
	})
	return text
}

var (
	plainNames = []string{"spec", "color", "size", "ready", "status", "a", "b", "camelCase", "x-y", "_u", "name"}
	// Names that a JSONPath does not take for a name, and names that it does.
	oddNames = []string{"*", "a}b", "a{b", "$", "@x", "a,b", `a\b`, "é", "0", "-1", "a'b", `"q"`, "?(@)", "a=b", "range", "x y", "a\tb", "'q'", "end", "#", "}{", "a\nb", `\`, ":"}
)

func (m *maker) name() string {
	if m.Chance(80) {
		return generate.Pick(m.Rand, plainNames)
	}
	return generate.Pick(m.Rand, oddNames)
}

// schema returns an object schema and adds the leaves below it.
func (m *maker) schema(depth int, path []string) (object, []leaf) {
	var leaves []leaf
	properties := object{}
	for range m.Between(1, 4) {
		name := m.name()
		if _, taken := properties[name]; taken {
			continue
		}
		at := slices.Concat(path, []string{name})
		if depth < 3 && m.Chance(35) {
			inner, below := m.schema(depth+1, at)
			properties[name], leaves = inner, append(leaves, below...)
			continue
		}
		if m.Chance(6) {
			values, kind := m.scalar()
			properties[name] = object{"type": "object", "additionalProperties": values}
			leaves = append(leaves, leaf{slices.Concat(at, []string{m.name()}), kind})
			continue
		}
		one, kind := m.scalar()
		properties[name], leaves = one, append(leaves, leaf{at, kind})
		if _, taken := properties["a"]; !taken && slices.Contains(oddNames, name) && m.Chance(60) { // a JSONPath can take one for a part of the other
			one, kind := m.scalar()
			properties["a"], leaves = one, append(leaves, leaf{slices.Concat(path, []string{"a"}), kind})
		}
	}
	s := object{"type": "object", "properties": properties}
	if depth > 0 && m.Chance(8) {
		s["nullable"] = true
	}
	if depth > 0 && m.Chance(8) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s, leaves
}

func (m *maker) scalar() (object, string) {
	kind := generate.Pick(m.Rand, []string{"string", "string", "string", "integer", "integer", "boolean", "number"})
	s := object{"type": kind}
	if m.Chance(40) {
		s["nullable"] = true
	}
	if m.Chance(15) {
		s["default"] = map[string]any{"string": "blue", "integer": 7, "boolean": true, "number": 1.5}[kind]
	}
	return s, kind
}

// selected returns the selectable fields of a version, most of them valid.
func (m *maker) selected(leaves []leaf) (list []any, names []string) {
	for range m.Between(0, 5) {
		if len(leaves) == 0 {
			break
		}
		l := generate.Pick(m.Rand, leaves)
		name := strings.Join(l.path, ".")
		if l.kind == "number" || slices.Contains(names, name) {
			continue
		}
		list, names = append(list, object{"jsonPath": "." + name}), append(names, name)
	}
	return list, names
}

// literals are values of any type, because storage contains what was valid once. Numbers are written as an API server
// writes them.
var literals = []string{
	"null", "null", "null", "true", "false", "0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", "9223372036854776000", "1.5", "1e+21", "1e-7",
	"123456789.125", "100000", "1234567", `""`, `"blue"`, `"red,green"`, `"a=b"`, `"a\\b"`, `"null"`, `"<nil>"`, `"true"`, `"7"`, `"é"`, `"\u2028\ud83d\ude00"`, `" x "`,
	`"\ud800"`, `{}`, `[]`, `{"b":1,"a":[1,"x",null,{"c":1.5}]}`, `["x",["y"],null]`, `{"a":null}`,
}

var fitting = map[string][]string{
	"string":  {`"blue"`, `"red,green"`, `"a=b"`, `""`, `"a\\b"`, `"x y"`, `"é"`, `"7"`, `"<nil>"`},
	"integer": {"0", "7", "-3", "9223372036854775807", "100000000"},
	"boolean": {"true", "false"},
	"number":  {"1.5", "3"},
}

func (m *maker) object(i int, version string) stored {
	o := stored{Name: fmt.Sprintf("o%d", i)}
	meta := object{"name": o.Name}
	if m.namespaced {
		o.Namespace = generate.Pick(m.Rand, namespaces)
		meta["namespace"] = o.Namespace
	}
	if m.Chance(20) {
		meta["labels"] = object{"color": "blue"}
	}
	body := object{}
	for _, l := range m.leaves[version] {
		if m.Chance(20) {
			continue
		}
		literal := generate.Pick(m.Rand, literals)
		if m.Chance(70) {
			literal = generate.Pick(m.Rand, fitting[l.kind])
		}
		m.put(body, l.path, json.RawMessage(literal))
		var text string
		if json.Unmarshal([]byte(literal), &text) != nil {
			text = literal
		}
		m.seen = append(m.seen, text)
	}
	body["apiVersion"], body["kind"], body["metadata"] = apiGroup+"/"+version, "CronTab", meta
	o.Body, _ = json.Marshal(body)
	return o
}

// put sets a value, and sometimes something else on its path.
func (m *maker) put(into object, path []string, v any) {
	for i, name := range path {
		if i == len(path)-1 || m.Chance(3) {
			if i < len(path)-1 {
				v = json.RawMessage(generate.Pick(m.Rand, literals))
			}
			if _, taken := into[name]; !taken {
				into[name] = v
			}
			return
		}
		if _, taken := into[name]; !taken {
			into[name] = object{}
		}
		next, ok := into[name].(object)
		if !ok {
			return
		}
		into = next
	}
}

var rawSelectors = []string{
	"", ",", ",,", "=", "==", "!=", "metadata.name", "metadata.name in (a,b)", "!metadata.name", "metadata.name=o1,", ",metadata.name=o1", "metadata.name===o1", "metadata.name=o1\\",
	`metadata.name=\x`, `metadata.name=o\,1`, "metadata.name=a=b", "metadata.name!=o1,metadata.name!=o2", "metadata.name=o1,metadata.name=o2", "metadata.namespace=default",
	"metadata.namespace!=default", "metadata.name=", "metadata.namespace=", " metadata.name=o1", "metadata.name =o1", "metadata.name= o1", "metadata.labels=x", "metadata.uid=1",
	"spec.unknown=1", "status.phase!=Running", ".spec=1", "metadata.name=o1/x", "metadata.name=..", "metadata.name=\xff", "x\xff=1", "metadata.namespace=default,metadata.name=o3",
	"metadata.namespace=a,metadata.namespace=default", "metadata.namespace=No Such", "metadata.name=o0,metadata.name!=o0", "a=b,c", `a\,b=c`, `a\=b=c`,
}

func (m *maker) selector(version string) string {
	if m.Chance(25) {
		return generate.Pick(m.Rand, rawSelectors)
	}
	var terms []string
	for range m.Between(1, 3) {
		terms = append(terms, m.term(version))
	}
	return strings.Join(terms, ",")
}

func (m *maker) term(version string) string {
	field := generate.Pick(m.Rand, []string{"metadata.name", "metadata.namespace"})
	if leaves := m.leaves[version]; len(leaves) > 0 && m.Chance(5) {
		field = strings.Join(generate.Pick(m.Rand, leaves).path, ".")
	} else if names := m.fields[version]; len(names) > 0 && m.Chance(80) {
		field = generate.Pick(m.Rand, names)
	}
	text := fmt.Sprintf("o%d", m.IntN(objectsPerGroup))
	if len(m.seen) > 0 && m.Chance(80) {
		text = generate.Pick(m.Rand, m.seen)
	}
	if m.Chance(90) {
		text = fields.EscapeValue(text)
	}
	return field + generate.Pick(m.Rand, []string{"=", "==", "!=", "!="}) + text
}
