package tables

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// group is a CRD, its stored objects, and versions.
type group struct {
	Manifest []byte
	Versions []string
	Objects  [][]byte
	// Columns are the paths of all columns.
	Paths []string
}

const (
	objectsPerGroup = 8
	apiGroup        = "stable.example.com"
)

type maker struct {
	generate.Rand
	now     time.Time
	objects []any // the group's objects, to choose paths
}

// object is a JSON object.
type object = map[string]any

// makeGroup returns the n-th group of a seed. Ages are relative to now; all else is a function of the seed.
func makeGroup(seed, n uint64, now time.Time) group {
	m := &maker{Rand: generate.New("tables", seed, n), now: now}
	g := group{Versions: []string{"v1"}}
	if m.Chance(30) {
		g.Versions = append(g.Versions, "v1beta1")
	}
	for i := range objectsPerGroup {
		o := m.object(i, generate.Pick(m.Rand, g.Versions))
		m.objects = append(m.objects, o)
		g.Objects = append(g.Objects, text(o))
	}
	var versions []any
	for i, v := range g.Versions {
		one := object{"name": v, "served": true, "storage": i == 0, "schema": object{"openAPIV3Schema": m.schema()}}
		if columns := m.columns(); len(columns) > 0 {
			one["additionalPrinterColumns"] = columns
			for _, c := range columns {
				if path, ok := c.(object)["jsonPath"].(string); ok {
					g.Paths = append(g.Paths, path)
				}
			}
		}
		versions = append(versions, one)
	}
	g.Manifest = text(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "crontabs." + apiGroup},
		"spec": object{
			"group": apiGroup, "scope": generate.Pick(m.Rand, []string{"Namespaced", "Namespaced", "Cluster"}), "versions": versions,
			"names": object{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
		},
	})
	return g
}

func text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // everything here is printable
	}
	return b
}

func (m *maker) schema() object {
	free := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if m.Chance(60) {
		return free
	}
	properties := object{"spec": free, "status": free, "items": object{"x-kubernetes-preserve-unknown-fields": true}}
	if m.Chance(50) {
		properties["spec"] = object{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": object{}, "properties": object{
			"a": object{"x-kubernetes-preserve-unknown-fields": true}, "color": object{"type": "string", "default": "blue"}}}
	}
	return object{"type": "object", "properties": properties}
}

var (
	columnTypes   = []string{"string", "string", "integer", "number", "boolean", "date"}
	columnFormats = []string{"", "", "", "int32", "date-time", "float", "byte"}
	columnNames   = []string{"Age", "Ready", "Replicas", "Name", "a b", "é", "x\ty", "\u001b[31m", "UPPER", "line\nbreak", "Namespace"}
)

func (m *maker) columns() (list []any) {
	if m.Chance(8) {
		return nil
	}
	for range m.Between(1, 6) {
		c := object{"name": generate.Pick(m.Rand, columnNames), "type": generate.Pick(m.Rand, columnTypes), "jsonPath": m.path()}
		if f := generate.Pick(m.Rand, columnFormats); f != "" {
			c["format"] = f
		}
		if m.Chance(30) {
			c["description"] = generate.Pick(m.Rand, []string{"what it is", "<b>", ""})
		}
		if m.Chance(25) {
			c["priority"] = generate.Pick(m.Rand, []int{0, 1, 10, -1})
		}
		list = append(list, c)
	}
	return list
}

var keys = []string{"a", "b", "c", "name", "type", "status", "x-y", "a.b", "é", "conditions", "list", "app.kubernetes.io/name"}

var literals = []string{
	"null", "true", "false", "0", "1", "2", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "9007199254740993", "1.5", "2.0", "3.9", "-0.5", "-3.99", "1e3", "1e21", "1e300",
	"1e-7", "123456789.125", `""`, `"x"`, `"Ready"`, `"True"`, `"null"`, `"<none>"`, `"a\tb"`, `"two\nlines"`, `"\u001b[31mred"`, `"cr\rlf"`, `"\f"`, `"\u2028"`, `"<&>"`, `"日本語"`, `"\ud800"`, `"1"`, "{}", "[]",
}

// value returns a value. Deep values are mostly scalars.
func (m *maker) value(depth int) any {
	const containers, objects = 50, 60 // percent
	switch {
	case depth >= 4 || !m.Chance(containers):
		return m.scalar()
	case m.Chance(objects):
		o := object{}
		for range m.Between(0, 4) {
			o[generate.Pick(m.Rand, keys)] = m.value(depth + 1)
		}
		return o
	default:
		var list []any
		alike := m.Chance(70)
		for range m.Between(0, 4) {
			if !alike {
				list = append(list, m.value(depth+1))
				continue
			}
			list = append(list, object{"type": generate.Pick(m.Rand, []string{"Ready", "Synced", "x"}), "status": m.scalar(), "a": m.scalar()})
		}
		if list == nil {
			return []any{}
		}
		return list
	}
}

func (m *maker) scalar() any {
	switch {
	case m.Chance(12):
		return m.moment()
	case m.Chance(30):
		return json.RawMessage(fmt.Sprint(m.IntN(4)))
	}
	return json.RawMessage(generate.Pick(m.Rand, literals))
}

// moment returns a time, near or far, or an invalid one.
func (m *maker) moment() string {
	if m.Chance(10) {
		return generate.Pick(m.Rand, []string{"0001-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01", "2020-01-01T00:00:00", "2020-01-01t00:00:00z", "9999-12-31T23:59:59Z", "2020-01-01T00:00:00.123+05:30", "1969-12-31T00:00:00Z"})
	}
	units := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour}
	ago := time.Duration(m.IntN(200)) * generate.Pick(m.Rand, units)
	if m.Chance(10) {
		ago = -ago
	}
	return m.now.Add(-ago).UTC().Format(time.RFC3339)
}

func (m *maker) object(i int, version string) object {
	name := fmt.Sprintf("o%d", i)
	if m.Chance(20) {
		name += strings.Repeat("-long", m.IntN(12))
	}
	meta := object{"name": name, "namespace": generate.Pick(m.Rand, []string{"default", "kube-system", "a"}), "resourceVersion": fmt.Sprint(revision), "uid": fmt.Sprintf("u-%d", i)}
	if m.Chance(80) {
		meta["creationTimestamp"] = m.now.Add(-time.Duration(m.IntN(1e9)) * time.Second).UTC().Format(time.RFC3339)
	}
	if m.Chance(50) {
		meta["labels"] = object{"app.kubernetes.io/name": "web", "b": "", "a": "x"}
	}
	if m.Chance(10) {
		meta["annotations"] = object{"k8s.io/initial-events-end": generate.Pick(m.Rand, []string{"true", "false"})}
	}
	if m.Chance(15) {
		meta["ownerReferences"] = []any{object{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}}
		meta["finalizers"] = []any{"example.com/x"}
		meta["generation"], meta["generateName"], meta["deletionGracePeriodSeconds"] = 3, "o", 0
		meta["deletionTimestamp"] = m.moment4()
		meta["managedFields"] = []any{object{"manager": "kubectl", "operation": "Update", "apiVersion": apiGroup + "/v1", "time": m.moment4(), "fieldsType": "FieldsV1", "fieldsV1": object{"f:spec": object{"f:a": object{}}}}}
	}
	o := object{"apiVersion": apiGroup + "/" + version, "kind": "CronTab", "metadata": meta, "spec": object{"single": object{generate.Pick(m.Rand, keys): m.value(3)}, "deep": m.only(m.IntN(4))}}
	for range m.Between(0, 5) {
		part := generate.Pick(m.Rand, []string{"spec", "spec", "status"})
		if _, found := o[part]; !found {
			o[part] = object{}
		}
		o[part].(object)[generate.Pick(m.Rand, keys)] = m.value(0)
	}
	if m.Chance(4) {
		o["items"] = m.items(version, 0)
	}
	return o
}

// moment4 returns a time that ObjectMeta accepts.
func (m *maker) moment4() string {
	return m.now.Add(-time.Duration(m.IntN(1e6)) * time.Second).UTC().Format(time.RFC3339)
}

// only reports whether the key occurs exactly once below.
func (m *maker) only(depth int) any {
	if depth == 0 {
		return object{"only": m.scalar()}
	}
	return []any{m.scalar(), object{"k": m.only(depth - 1)}}
}

// items makes an API server take the object for a list.
func (m *maker) items(version string, depth int) any {
	if m.Chance(15) {
		return m.value(2)
	}
	list := []any{}
	for i := range m.IntN(4) {
		if m.Chance(4) {
			list = append(list, m.scalar())
			continue
		}
		o := object{"spec": m.value(1)}
		if m.Chance(60) {
			o["metadata"] = object{"name": m.odd(fmt.Sprintf("i%d", i)), "labels": m.odd(object{"a": m.odd("b")}), "creationTimestamp": m.odd(m.moment()), "namespace": m.odd("a"),
				"ownerReferences": []any{m.odd(object{"kind": "Pod", "name": m.odd("p"), "controller": m.odd(true)})}, "generation": m.odd(3), "finalizers": []any{m.odd("x")},
				"managedFields": []any{m.odd(object{"manager": m.odd("x"), "fieldsV1": object{}})}, "annotations": object{"k8s.io/initial-events-end": m.odd("true")}}
		}
		if m.Chance(80) {
			o["apiVersion"] = m.odd(apiGroup + "/" + version)
		}
		if m.Chance(80) {
			o["kind"] = m.odd("CronTab")
		}
		if m.Chance(10) && depth < 3 {
			o["items"] = m.items(version, depth+1)
		}
		list = append(list, o)
	}
	return list
}

// odd returns the value, or rarely another one.
func (m *maker) odd(v any) any {
	switch {
	case m.Chance(4):
		return m.scalar()
	case m.Chance(2):
		return "v1"
	}
	return v
}
