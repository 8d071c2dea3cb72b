package conversion

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/convert"
)

// group is the API group of the CRDs.
const group = "conversion.example.com"

// question is one request, and the call that is compared.
type question struct {
	how how
	oracle.Request
	// Objects are the stored objects of a list. Include selects what a row has of its object.
	Objects [][]byte
	Include string
}

// how names the compared call.
type how string

const (
	get       how = "get"      // Read
	getScale  how = "getscale" // Read and GetScale
	create    how = "create"
	update    how = "update"
	patch     how = "patch"
	status    how = "status"
	scale     how = "scale"
	toVersion how = "convert" // Convert
	list      how = "list"    // Table
)

// hows are the calls by their share of the cases.
var hows = []how{get, get, get, getScale, create, create, create, update, update, update, status, scale, patch, patch,
	patch, toVersion, toVersion, list, list}

const questionsPerGroup = 30

// maker generates a CRD and requests about its objects.
type maker struct {
	generate.Rand
	namespaced bool
	versions   []string
	served     []string
	reviews    []string
	scaled     bool
	behaviours []string
	declared   bool
	// rules are the conversion rules, and declarer is the definition that has them. Without rules they are absent.
	rules    engine.Document
	declarer *engine.Definition
}

// newMaker returns the generator of the k-th group.
func newMaker(seed, k uint64) *maker {
	m := &maker{Rand: generate.New("conversion", seed, k)}
	m.namespaced = m.Chance(75)
	m.versions = generate.Pick(m.Rand, [][]string{
		{"v1", "v1beta1"}, {"v1beta1", "v1"}, {"v1alpha1", "v1beta1", "v1"}, {"v2", "v1", "v1beta1", "v1alpha1"},
	})
	m.reviews = generate.Pick(m.Rand, [][]string{
		{"v1"}, {"v1beta1"}, {"v1", "v1beta1"}, {"v1beta1", "v1"}, {"v2", "v1"}, {"v1alpha1", "v1beta1", "v1"},
	})
	if m.Chance(4) {
		m.reviews = []string{"v2"}
	}
	m.scaled = m.Chance(80)
	m.behaviours = append(names(objects), names(reviews)...)
	m.declared = m.Chance(20)
	return m
}

// manifest returns the CRD, whose webhook is at the URL.
func (m *maker) manifest(url string, bundle []byte) []byte {
	storage := m.IntN(len(m.versions))
	var versions []any
	for i, name := range m.versions {
		v := m.version(name, i == storage)
		if v["served"] == true {
			m.served = append(m.served, name)
		}
		versions = append(versions, v)
	}
	if m.declared {
		m.declare(versions)
	}
	scope := "Cluster"
	if m.namespaced {
		scope = "Namespaced"
	}
	client := object{"url": url, "caBundle": bundle}
	spec := object{
		"group": group, "scope": scope, "versions": versions,
		"names": object{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"conversion": object{"strategy": "Webhook", "webhook": object{
			"conversionReviewVersions": m.reviews, "clientConfig": client,
		}},
	}
	apiVersion := "apiextensions.k8s.io/v1"
	if !m.declared && m.Chance(15) {
		apiVersion += "beta1"
		spec["preserveUnknownFields"] = false
		spec["conversion"] = object{"strategy": "Webhook", "webhookClientConfig": client}
		if m.Chance(60) { // otherwise the default, v1beta1
			spec["conversion"].(object)["conversionReviewVersions"] = m.reviews
		}
		first := versions[0].(object) // at v1beta1, versions must differ in each of these
		delete(first, "additionalPrinterColumns")
		first["schema"].(object)["openAPIV3Schema"].(object)["description"] = "the first version"
		for i, v := range versions { // at v1beta1, columns have another name for the path
			delete(v.(object)["subresources"].(object), "status")
			if i > 0 {
				v.(object)["subresources"].(object)["status"] = object{}
			}
			columns, _ := v.(object)["additionalPrinterColumns"].([]any)
			for _, c := range columns {
				c.(object)["JSONPath"] = c.(object)["jsonPath"]
				delete(c.(object), "jsonPath")
			}
		}
	}
	return encode(object{
		"apiVersion": apiVersion, "kind": "CustomResourceDefinition", "spec": spec,
		"metadata": object{"name": "widgets." + group},
	})
}

func (m *maker) version(name string, storage bool) object {
	root := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if m.Chance(85) {
		root = m.schema(name)
	}
	v := object{
		"name": name, "served": m.Chance(90) || name == m.versions[0], "storage": storage,
		"schema": object{"openAPIV3Schema": root},
	}
	sub := object{}
	if m.Chance(70) {
		sub["status"] = object{}
	}
	if m.scaled {
		sub["scale"] = object{
			"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas",
			"labelSelectorPath": ".status.selector",
		}
	}
	v["subresources"] = sub
	if m.Chance(30) {
		v["additionalPrinterColumns"] = []any{
			object{"name": "Color", "type": "string", "jsonPath": ".spec.color"},
			object{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
		}
	}
	return v
}

// schema returns a schema that has some of the properties. Versions differ in types, defaults and nullability.
func (m *maker) schema(version string) object {
	text := func() object { return m.varied(object{"type": "string"}, `"blue"`) }
	spec := object{
		"size": m.varied(object{"type": "integer"}, "3"), "ratio": m.varied(object{"type": "number"}, "1.5"),
		"nullable": object{"type": "string", "nullable": true},
		"list": object{"type": "array", "items": object{"type": "object", "properties": object{
			"n": m.varied(object{"type": "integer"}, "7"), "s": object{"type": "string"}}}},
		"map": m.varied(object{"type": "object", "additionalProperties": object{"type": "string"}}, `{"k":"v"}`),
		"any": object{"x-kubernetes-preserve-unknown-fields": true},
		"pod": object{
			"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
		},
		"port": m.varied(object{"type": "integer"}, "80"), "host": text(), "address": text(),
		"either": m.varied(object{"x-kubernetes-int-or-string": true}, `"50%"`), "color": text(), "shade": text(),
	}
	for _, name := range names(spec) {
		if m.Chance(12) && name != "size" {
			delete(spec, name)
		}
	}
	one := object{"type": "object", "properties": spec}
	if m.Chance(15) {
		one["required"] = []any{map[bool]string{true: "color", false: "shade"}[version == "v1"]}
	}
	if m.Chance(15) {
		one["x-kubernetes-validations"] = []any{
			object{"rule": "!has(self.size) || !has(oldSelf.size) || self.size >= oldSelf.size"},
		}
	}
	if m.Chance(20) && one["required"] == nil {
		one["default"] = object{}
	}
	state := object{"type": "object", "properties": object{
		"replicas": m.varied(object{"type": "integer"}, "0"), "selector": object{"type": "string"},
		"phase": m.varied(object{"type": "string", "maxLength": 6}, `"New"`),
	}}
	properties := object{"spec": one, "status": state}
	if m.Chance(10) {
		properties["metadata"] = object{"type": "object", "properties": object{
			"name": object{"type": "string", "maxLength": 8},
		}}
	}
	return object{"type": "object", "properties": properties}
}

// varied adds a default or nullability to a schema.
func (m *maker) varied(schema object, value string) object {
	if m.Chance(30) {
		schema["default"] = json.RawMessage(value)
	}
	if m.Chance(10) {
		schema["nullable"] = true
	}
	return schema
}

// declare makes the schemas of the other versions changed copies of that of the first one, and the rules between them.
func (m *maker) declare(versions []any) {
	schema := func(i int) object { return versions[i].(object)["schema"].(object) }
	first, err := jsontree.Parse(encode(schema(0)["openAPIV3Schema"]))
	if err != nil {
		panic(err) // it was encoded
	}
	rules := "crd: widgets." + group + "\nhub: " + m.versions[0] + "\nconversions:\n"
	for i, name := range m.versions[1:] {
		changed, lines := generate.Converted(m.Rand, first, m.Between(1, 8))
		schema(i + 1)["openAPIV3Schema"] = json.RawMessage(changed.JSON())
		rules += "- between: [" + m.versions[0] + ", " + name + "]\n  rules:\n"
		if len(lines) == 0 {
			lines = []string{"  []"}
		}
		rules += "  " + strings.Join(lines, "\n  ") + "\n"
	}
	m.rules = engine.YAML([]byte(rules))
}

// values are the values of fields: the first ones are valid.
var values = []struct {
	path   string
	values []string
	right  int
}{
	{"spec.color", []string{`"red"`, `""`, `"é<&>\u2028"`, "null", "1"}, 3},
	{"spec.shade", []string{`"dark"`, `"<a>"`, "null", "{}"}, 2},
	{"spec.host", []string{`"a.example.com"`, `"b"`, "null", "3"}, 2},
	{"spec.port", []string{"80", "8443", "null", `"x"`}, 2},
	{"spec.address", []string{`"c:9"`, `"d"`, `"e:f"`, "null"}, 3},
	{"spec.size", []string{"1", "5", "2.0", "9223372036854775807", "1.5", "null", `"3"`}, 3},
	{"spec.ratio", []string{"1.0", "2.5", "1e3", "-0.0", "100000000000000000000", "null", `"x"`}, 5},
	{"spec.nullable", []string{"null", `"t"`, "1"}, 2},
	{"spec.list", []string{`[]`, `[{"n":1}]`, `[{"n":1,"s":"t"},{}]`, `[{"s":null}]`, "[1]", "null"}, 4},
	{"spec.map", []string{`{}`, `{"a":"b"}`, `{"a":null}`, `{"a":1}`}, 2},
	{"spec.any", []string{`{"x":1.0,"y":null}`, `[1,{"z":null}]`, `"s"`, "null", "1e21", `{"items":[{}]}`}, 6},
	{"spec.pod", []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":1,"more":2}}`, `{"metadata":[]}`, "null",
	}, 1},
	{"spec.either", []string{"1", `"10%"`, "1.5"}, 2},
	{"spec.other", []string{"1", "null", `{"a":[]}`}, 3},
	{"other", []string{`{"a":1}`, "null"}, 2},
	{"status.replicas", []string{"0", "2", "null", `"x"`}, 2},
	{"status.phase", []string{`"Ready"`, `"much too long"`, "null"}, 1},
	{"status.selector", []string{`"a=b"`, "7"}, 1},
}

// fill sets some fields. wrong is the percentage of values from the whole list.
func (m *maker) fill(o object, wrong int) {
	for _, f := range values {
		if !m.Chance(40) {
			continue
		}
		from := f.values[:f.right]
		if m.Chance(wrong) {
			from = f.values
		}
		path := strings.Split(f.path, ".")
		at := o
		for _, name := range path[:len(path)-1] {
			if at[name] == nil {
				at[name] = object{}
			}
			at = at[name].(object)
		}
		at[path[len(path)-1]] = json.RawMessage(generate.Pick(m.Rand, from))
	}
}

// made returns an object of a version, with a name and a script for the webhook.
func (m *maker) made(version, script string, wrong int) (o, metadata object) {
	metadata = object{"name": "x"}
	if m.namespaced {
		metadata["namespace"] = "default"
	}
	if m.Chance(35) {
		metadata["labels"] = json.RawMessage(generate.Pick(m.Rand,
			[]string{`{"a":"b"}`, `{"a":"b","added.example.com/x":"1"}`, `{}`, "null"}))
	}
	if m.Chance(10) {
		metadata["finalizers"] = []any{"a.example.com/b"}
	}
	if m.Chance(6) {
		metadata["ownerReferences"] = []any{object{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q"}}
	}
	setScript(metadata, script)
	o = object{"apiVersion": group + "/" + version, "kind": "Widget", "metadata": metadata}
	m.fill(o, wrong)
	if m.declarer != nil && m.Chance(85) {
		o["apiVersion"] = group + "/" + m.versions[0] // which has the fields
		text, err := convert.Append(context.Background(), m.declarer, nil, encode(o), version, true)
		o["apiVersion"] = group + "/" + version
		if err != nil { // an invalid value
			return o, metadata
		}
		if o, err = parse(text); err != nil {
			panic(err) // it was encoded
		}
		metadata, _ = o["metadata"].(object)
	}
	return o, metadata
}

func setScript(metadata object, text string) {
	if text != "" {
		set("annotations", script, text)(metadata)
	}
}

// script returns the behaviour of the webhook for an object: mostly a lie for one version or for all.
func (m *maker) script() string {
	if m.declared || m.Chance(35) {
		return ""
	}
	version := "*"
	if m.Chance(60) {
		version = generate.Pick(m.Rand, m.versions)
	}
	return version + "=" + generate.Pick(m.Rand, m.behaviours)
}

// stored returns a stored object.
func (m *maker) stored(version, script string) []byte {
	o, metadata := m.made(version, script, 15)
	metadata["uid"], metadata["generation"], metadata["creationTimestamp"] = "u", m.Between(0, 3), "2024-01-01T00:00:00Z"
	metadata["resourceVersion"] = "7"
	if m.Chance(5) {
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = "2024-01-02T00:00:00Z", 0
	}
	if m.Chance(5) { // malformed metadata, which reads drop
		metadata["labels"] = json.RawMessage(generate.Pick(m.Rand, []string{`{"a":1}`, "[]", `"x"`, `{"a":"not valid"}`}))
	}
	if m.Chance(3) {
		metadata["unknown"] = 1
	}
	return encode(o)
}

// next returns a request.
func (m *maker) next() question {
	q := question{how: generate.Pick(m.Rand, hows)}
	if q.how == getScale && !m.scaled {
		q.how = get
	}
	q.Whole, q.Name = true, "x"
	q.Version = generate.Pick(m.Rand, m.served)
	if m.namespaced {
		q.Namespace = "default"
	}
	q.FieldValidation = generate.Pick(m.Rand, []string{"", oracle.Warn, oracle.Strict, oracle.Ignore})
	switch q.how {
	case list:
		q.Objects = m.list()
		q.Include = generate.Pick(m.Rand, []string{"", "Metadata", "None", "Object"})
	case toVersion:
		q.Op, q.Whole, q.Target = oracle.Convert, false, generate.Pick(m.Rand, m.versions)
		q.Body = m.plain()
	case create:
		q.Name, q.Body = "", m.created(q.Version)
	default:
		script := m.script()
		if q.how == scale && m.Chance(20) {
			script = "*=floats" // such an object has no Scale
		}
		q.Old = m.stored(generate.Pick(m.Rand, m.versions), script)
		if q.how == getScale { // of an object that was printed before: then 2.0 is an integer
			q.Old = bytes.ReplaceAll(q.Old, []byte(`"size":2.0`), []byte(`"size":2`))
		}
		m.changed(&q)
	}
	q.YAML = (q.how == create || q.how == update) && m.Chance(5)
	switch q.how {
	case create, update, patch, status, scale:
		if m.Chance(20) {
			o := m.mutation(q.Op == oracle.Scale)
			if metadata, ok := o["metadata"].(object); ok && m.Chance(10) {
				metadata["managedFields"] = json.RawMessage(generate.Pick(m.Rand, ofAdmission))
			}
			q.Mutation = encode(o)
		}
	}
	return q
}

// mutations are what mutating admission and patches do to members of an object.
var mutations = []struct {
	path   string
	values []string
}{
	{"metadata.labels", []string{`{"admitted":"yes"}`, `{"a":null}`, `{"a":1}`, "null", "[]"}},
	{"metadata.annotations", []string{`{"admitted":"yes"}`, "null", `{"n":1}`, `"x"`}},
	{"metadata.finalizers", []string{`["a.example.com/c"]`, "null", "[1]"}},
	{"metadata.name", []string{`"y"`, "null", "[]", `""`}},
	{"metadata.namespace", []string{`"other"`, "null", "1"}},
	{"metadata.generateName", []string{`"x-"`, "null", "[]"}},
	{"metadata.resourceVersion", []string{`"7"`, `"8"`, "null", "7"}},
	{"metadata.generation", []string{"9", "null", `"9"`, "2.0"}},
	{"metadata.unknown", []string{"1"}},
	{"metadata", []string{`"x"`, "[]", "null"}},
	{"apiVersion", []string{`"` + group + `/v1"`, `"` + group + `/v9"`, `"v1"`, "null", "1"}},
	{"kind", []string{`"Other"`, "null", "1"}},
	{"status", []string{`{"phase":"Done","replicas":null}`, "null", `"x"`, `{"more":{"n":null}}`}},
	{"spec", []string{"null", `{}`, "[]"}},
}

// ofAdmission is what a patch does not set: a server replaces the managed fields of a patched object.
var ofAdmission = []string{`"x"`, `{}`, "[null]"}

// mutation returns a merge patch, as mutating admission or a client applies it.
func (m *maker) mutation(ofScale bool) object {
	o := object{}
	if ofScale {
		return object{"spec": object{"replicas": m.IntN(9)}}
	}
	m.fill(o, 15)
	for _, name := range names(o) {
		if m.Chance(50) {
			delete(o, name)
		}
	}
	for range m.IntN(3) {
		c := generate.Pick(m.Rand, mutations)
		value := json.RawMessage(generate.Pick(m.Rand, c.values))
		if parent, name, nested := strings.Cut(c.path, "."); !nested {
			o[c.path] = value
		} else if inner, ok := o[parent].(object); ok || o[parent] == nil {
			if inner == nil {
				inner = object{}
				o[parent] = inner
			}
			inner[name] = value
		}
	}
	return o
}

// created returns an object as a client sends it.
func (m *maker) created(version string) []byte {
	o, metadata := m.made(version, m.script(), 4)
	if m.Chance(8) {
		delete(metadata, "name")
		metadata["generateName"] = "x-"
	}
	if m.Chance(5) {
		metadata["uid"], metadata["creationTimestamp"] = "mine", "2020-01-01T00:00:00Z"
	}
	return encode(o)
}

// changed completes a request about a stored object.
func (m *maker) changed(q *question) {
	switch q.how {
	case update, status:
		q.Op = oracle.Update
		if q.how == status {
			q.Op = oracle.Status
		}
		o, metadata := m.made(q.Version, m.script(), 4)
		metadata["uid"], metadata["resourceVersion"] = "u", "7"
		q.Body = encode(o)
	case scale:
		q.Op = oracle.Scale
		q.Body = encode(object{
			"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object{"name": "x"},
			"spec": object{"replicas": m.Between(0, 9)},
		})
	case patch:
		q.Op = generate.Pick(m.Rand, []oracle.Op{oracle.Update, oracle.Update, oracle.Status, oracle.Scale})
		q.Patch = oracle.MergePatch
		q.Body = encode(object{"spec": object{"size": m.Between(0, 9), "color": "green"}, "status": object{"phase": "Done"}})
		switch m.IntN(10) {
		case 0, 1, 2, 3:
			q.Body = encode(object{"metadata": object{"annotations": object{"patch": "true"}}})
		case 4, 5:
			q.Body = encode(m.mutation(q.Op == oracle.Scale))
		case 6, 7:
			q.Patch, q.Body = oracle.JSONPatch, encode(m.operations())
		}
	}
}

// operations returns a JSON patch.
func (m *maker) operations() (list []any) {
	for range m.Between(1, 3) {
		f := generate.Pick(m.Rand, values)
		if m.Chance(30) {
			c := generate.Pick(m.Rand, mutations)
			f.path, f.values = c.path, c.values
		}
		name := generate.Pick(m.Rand, []string{"add", "replace", "test", "remove", "copy", "move"})
		o := object{"op": name, "path": "/" + strings.ReplaceAll(f.path, ".", "/")}
		switch name {
		case "copy", "move":
			o["from"] = "/" + strings.ReplaceAll(generate.Pick(m.Rand, values).path, ".", "/")
		case "add", "replace", "test":
			o["value"] = json.RawMessage(generate.Pick(m.Rand, f.values))
		}
		list = append(list, o)
	}
	return list
}

// plain returns an object that need not be valid in any way.
func (m *maker) plain() []byte {
	version := generate.Pick(m.Rand, m.versions)
	o, metadata := m.made(version, m.script(), 30)
	k := m.IntN(16)
	if m.declared && (k == 1 || k == 2 || k == 5) {
		k = 0 // crdeval does not check the metadata that its own rules return
	}
	switch k {
	case 0:
		o = object{"apiVersion": o["apiVersion"], "kind": "Widget"}
	case 1:
		delete(o, "metadata")
	case 2:
		o["metadata"] = json.RawMessage(generate.Pick(m.Rand, []string{"null", "[]", `"x"`, "{}"}))
	case 3:
		o["kind"] = generate.Pick(m.Rand, []string{"Other", "WidgetList"})
	case 4:
		o["apiVersion"] = generate.Pick(m.Rand, []string{group + "/v9", "other.example.com/v1", "v1"})
	case 5:
		metadata["labels"] = json.RawMessage(generate.Pick(m.Rand, []string{`{"a":1}`, "[]", `"x"`, `{"a":"not valid"}`}))
	case 6:
		metadata["uid"], metadata["generation"] = "u", json.RawMessage("2.0")
	}
	return encode(o)
}

// list returns stored objects with distinct names. All of them make the webhook return the same wrong response, or each
// of them its own wrong object.
func (m *maker) list() [][]byte {
	made := make([][]byte, m.Between(0, 4))
	same := ""
	if m.Chance(30) {
		same = "*=" + generate.Pick(m.Rand, names(reviews))
	}
	for i := range made {
		o, err := parse(m.stored(generate.Pick(m.Rand, m.versions), ""))
		if err != nil {
			panic(err) // it was encoded
		}
		metadata, _ := o["metadata"].(object)
		metadata["name"] = "x" + string(rune('a'+i))
		own := ""
		if m.Chance(25) {
			own = "*=" + generate.Pick(m.Rand, names(objects))
		}
		delete(metadata, "annotations")
		setScript(metadata, cmp.Or(same, own))
		made[i] = encode(o)
	}
	return slices.Clip(made)
}
