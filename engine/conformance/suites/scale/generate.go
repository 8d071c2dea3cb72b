package scale

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// group is a CRD and requests about its objects.
type group struct {
	Manifest []byte
	Requests []ask
}

// ask is one request, and the call that is compared.
type ask struct {
	how how
	oracle.Request
}

// how names the compared call.
type how string

const (
	get   how = "get"   // GetScale
	put   how = "put"   // Admit of a Scale, and SetScale where that can be compared
	patch how = "patch" // Admit of a patch, of the object, its status or its scale
)

const (
	requestsPerGroup = 24
	apiGroup         = "stable.example.com"
)

// object is a JSON object.
type object = map[string]any

type maker struct {
	generate.Rand
	namespaced bool
	versions   []string
	// paths of a version: replicas in spec and status, selector; nil without the subresource.
	paths map[string]*paths
}

type paths struct{ spec, status, selector string }

func makeGroup(seed, n uint64) group {
	m := &maker{Rand: generate.New("scale", seed, n), paths: map[string]*paths{}, versions: []string{"v1"}}
	m.namespaced = m.Chance(80)
	if m.Chance(30) {
		m.versions = append(m.versions, "v2")
	}
	g := group{Manifest: m.manifest()}
	for range requestsPerGroup {
		g.Requests = append(g.Requests, m.request())
	}
	return g
}

func text(v any) []byte {
	made, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return made
}

func (m *maker) manifest() []byte {
	scope := "Cluster"
	if m.namespaced {
		scope = "Namespaced"
	}
	var list []any
	for i, v := range m.versions {
		list = append(list, m.version(v, i == len(m.versions)-1))
	}
	return text(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "crontabs." + apiGroup},
		"spec": object{"group": apiGroup, "scope": scope, "versions": list, "names": object{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"}},
	})
}

func (m *maker) version(name string, storage bool) object {
	count := object{"type": "integer"}
	if m.Chance(30) {
		count["maximum"] = m.Between(3, 10)
	}
	if m.Chance(20) {
		count["default"] = m.Between(1, 3)
	}
	if m.Chance(15) {
		count["nullable"] = true
	}
	spec := object{"type": "object", "properties": object{
		"replicas": count, "size": object{"type": "object", "properties": object{"count": count}},
		"a": object{"type": "string"}, "list": object{"type": "array", "items": object{"type": "object", "properties": object{"n": object{"type": "integer"}, "s": object{"type": "string"}}}},
		"any": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "ratio": object{"type": "number"},
		"null": object{"type": "string", "nullable": true}, "day": object{"type": "string", "format": "date"},
	}}
	if m.Chance(30) {
		spec["x-kubernetes-validations"] = []any{object{"rule": generate.Pick(m.Rand, rules)}}
	}
	if m.Chance(20) {
		spec["required"] = []any{"a"}
	}
	status := object{"type": "object", "properties": object{
		"replicas": object{"type": "integer"}, "selector": object{"type": "string"}, "deep": object{"type": "object", "properties": object{"count": object{"type": "integer"}}},
		"any": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "phase": object{"type": "string", "maxLength": 4},
	}}
	sub := object{}
	if m.Chance(80) {
		sub["status"] = object{}
	}
	if m.Chance(90) {
		p := &paths{spec: generate.Pick(m.Rand, specPaths), status: generate.Pick(m.Rand, statusPaths)}
		one := object{"specReplicasPath": p.spec, "statusReplicasPath": p.status}
		if m.Chance(60) {
			p.selector = generate.Pick(m.Rand, selectorPaths)
			one["labelSelectorPath"] = p.selector
		}
		sub["scale"], m.paths[name] = one, p
	}
	properties := object{"spec": spec, "status": status}
	return object{"name": name, "served": true, "storage": storage, "subresources": sub, "deprecated": m.Chance(5), "schema": object{"openAPIV3Schema": object{"type": "object", "properties": properties}}}
}

var (
	specPaths     = []string{".spec.replicas", ".spec.replicas", ".spec.size.count", ".spec.any.x", ".spec.missing.deep"}
	statusPaths   = []string{".status.replicas", ".status.replicas", ".status.deep.count", ".status.any.x"}
	selectorPaths = []string{".status.selector", ".spec.a", ".status.any.s", ".spec.any.s"}
	rules         = []string{"!has(self.replicas) || self.replicas < 8", "!has(self.replicas) || !has(oldSelf.replicas) || self.replicas >= oldSelf.replicas", "!has(self.a) || self.a != 'no'"}
)

// Valid and invalid values of numbers and texts.
var (
	counts    = []string{"0", "1", "3", "5", "7", "9", "-1", "2147483647", "2147483648", "4294967299", "-2147483648", "9223372036854775807", "1.0", "1.5", "1e3", "null", `"3"`, `{}`, `[]`, "true"}
	selectors = []string{`"a=b"`, `""`, `"x<y"`, "7", "null", `{}`, `{"a":"b"}`, `{"a":1}`}
	anything  = []string{"null", "1", "1.0", "1.5", `"x"`, `"a<b&c"`, `"é\u2028"`, "true", `{}`, `[]`, `{"x":1,"s":"t"}`, `{"x":null}`, `[1,null]`, `[{"n":1,"s":null},{"q":2}]`, `{"b":{"c":[{"d":null}]}}`}
)

func (m *maker) raw(from []string, right int) json.RawMessage {
	if m.Chance(80) {
		return json.RawMessage(from[m.IntN(right)])
	}
	return json.RawMessage(generate.Pick(m.Rand, from))
}

// stored returns a stored object. It may have been valid once. printed means that an object was printed before: then
// numbers such as 1.0 are integers.
func (m *maker) stored(version string, printed bool) []byte {
	counts, anything := counts, anything
	if printed {
		float := func(n string) bool { return n == "1.0" || n == "1e3" }
		counts, anything = slices.DeleteFunc(slices.Clone(counts), float), slices.DeleteFunc(slices.Clone(anything), float)
	}
	o := object{"apiVersion": apiGroup + "/" + version, "kind": "CronTab"}
	meta := object{"name": "x", "uid": "u", "generation": m.Between(0, 3), "creationTimestamp": "2024-01-01T00:00:00Z", "resourceVersion": "7"}
	if m.namespaced {
		meta["namespace"] = "default"
	}
	if m.Chance(10) {
		meta["finalizers"] = []any{"a.b/c"}
		meta["deletionTimestamp"] = "2024-01-02T00:00:00Z"
		meta["deletionGracePeriodSeconds"] = m.IntN(2)
	}
	if m.Chance(15) {
		meta["labels"] = object{"k": "v"}
	}
	if m.Chance(8) {
		meta["ownerReferences"] = m.owners()
	}
	o["metadata"] = meta
	for _, p := range []struct {
		key    string
		values []string
		right  int
	}{
		{"spec.replicas", counts, 6}, {"spec.size.count", counts, 6}, {"spec.any.x", counts, 6}, {"status.replicas", counts, 6}, {"status.deep.count", counts, 6},
		{"status.any.x", counts, 6}, {"status.selector", selectors, 3}, {"status.any.s", selectors, 3}, {"spec.any.s", selectors, 3}, {"spec.a", selectors, 3},
		{"spec.list", []string{`[]`, `[{"n":1}]`, `[{"n":1,"s":"t"},{"n":2}]`, `[{"n":"x"}]`}, 3}, {"spec.ratio", []string{"1.0", "1", "2.5"}, 3}, {"spec.null", []string{"null", `"t"`}, 2},
		{"spec.other", anything, 14}, {"spec.day", []string{`"2024-01-01"`, `"no"`}, 1}, {"status.phase", []string{`"up"`, `"ready"`}, 1}, {"spec.any.z", anything, 14},
	} {
		if m.Chance(45) {
			m.place(o, strings.Split(p.key, "."), m.raw(p.values, p.right))
		}
	}
	if m.Chance(4) {
		o[generate.Pick(m.Rand, []string{"spec", "status"})] = json.RawMessage(generate.Pick(m.Rand, anything))
	}
	return text(o)
}

func (m *maker) owners() []any {
	one := object{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q"}
	return []any{one, one}[:m.Between(1, 2)]
}

// place sets a value if nothing is in the way of its path.
func (m *maker) place(o object, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		next, ok := o[name].(object)
		if !ok {
			if o[name] != nil {
				return
			}
			next = object{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = v
}

func (m *maker) request() ask {
	q := ask{how: generate.Pick(m.Rand, []how{get, put, put, patch, patch, patch, patch})}
	q.Version, q.Whole, q.Name, q.Op = generate.Pick(m.Rand, m.versions), true, "x", oracle.Scale
	if m.namespaced {
		q.Namespace = "default"
	}
	q.Old = m.stored(generate.Pick(m.Rand, m.versions), q.how == get)
	q.FieldValidation = generate.Pick(m.Rand, []string{"", oracle.Warn, oracle.Strict, oracle.Ignore})
	switch q.how {
	case put:
		q.Body = m.scale()
		if m.Chance(5) {
			q.YAML = true
		}
	case patch:
		q.Op = generate.Pick(m.Rand, []oracle.Op{oracle.Update, oracle.Update, oracle.Update, oracle.Status, oracle.Scale})
		q.Patch = generate.Pick(m.Rand, []string{oracle.MergePatch, oracle.JSONPatch})
		if q.Patch == oracle.MergePatch {
			q.Body = m.mergePatch(q)
		} else {
			q.Body = m.jsonPatch(q)
		}
		if m.Chance(1) {
			q.Body = []byte(generate.Pick(m.Rand, []string{"", "{", "[1,", "nul", `"a`, "{}x", "null", "[]", "{}", `"a"`, "7"}))
		}
	}
	return q
}

// scale returns a Scale as a client sends it.
func (m *maker) scale() []byte {
	meta := object{"name": "x"}
	if m.namespaced && m.Chance(50) {
		meta["namespace"] = "default"
	}
	s := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, "spec": object{"replicas": m.raw(counts, 6)}}
	if m.Chance(50) {
		meta["resourceVersion"] = "7"
	}
	if m.Chance(20) {
		s["status"] = object{"replicas": m.raw(counts, 6), "selector": m.raw(selectors, 3)}
	}
	if m.Chance(6) {
		meta["ownerReferences"] = m.owners()
	}
	if m.Chance(35) {
		m.spoil(s, meta)
	}
	made := string(text(s))
	if m.Chance(3) {
		made = strings.Replace(made, `"kind"`, `"kind":"Scale","kind"`, 1)
	}
	return []byte(made)
}

func (m *maker) spoil(s, meta object) {
	switch m.IntN(16) {
	case 0:
		s["apiVersion"] = generate.Pick(m.Rand, []string{"autoscaling/v2", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1", "autoscaling/__internal", "apps/__internal", "apps/v1", "v1", apiGroup + "/v1", "", "a/b/c"})
	case 1:
		s["kind"] = generate.Pick(m.Rand, []string{"CronTab", "HorizontalPodAutoscaler", "", "scale", "ListOptions"})
	case 2:
		delete(s, generate.Pick(m.Rand, []string{"apiVersion", "kind", "metadata", "spec"}))
	case 3:
		meta["name"] = generate.Pick(m.Rand, []string{"y", "", "x "})
	case 4:
		meta["namespace"] = generate.Pick(m.Rand, []string{"other", "default", ""})
	case 5:
		meta["uid"] = generate.Pick(m.Rand, []string{"u", "v", ""})
	case 6:
		meta["resourceVersion"] = generate.Pick(m.Rand, []string{"8", "", "x", "0"})
	case 7:
		s["spec"] = json.RawMessage(generate.Pick(m.Rand, anything))
	case 8:
		s["unknown"] = 1
	case 9:
		s["spec"] = object{"replicas": 3, "more": object{"x": 1}}
	case 10:
		meta["labels"] = json.RawMessage(generate.Pick(m.Rand, []string{`{"a":"b"}`, `{"a":1}`, `[]`, `null`}))
	case 11:
		s["metadata"] = json.RawMessage(generate.Pick(m.Rand, anything))
	case 12:
		meta["creationTimestamp"] = json.RawMessage(generate.Pick(m.Rand, []string{`null`, `"2024-01-01T00:00:00Z"`, `"x"`}))
	case 13:
		s["status"] = json.RawMessage(generate.Pick(m.Rand, anything))
	case 14:
		s["Spec"] = object{"replicas": 4}
	case 15:
		meta["managedFields"] = []any{}
	}
}

// String describes the case.
func (q ask) String() string {
	return fmt.Sprintf("%s %s %s %s%s", q.how, q.Op, q.Version, q.FieldValidation, strings.TrimPrefix(q.Patch, "application"))
}
