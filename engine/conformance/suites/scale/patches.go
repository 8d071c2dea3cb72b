package scale

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// change is a value that a patch sets at a path.
type change struct {
	path   []string
	values []string
	right  int
}

// changes are those of a patch of the object and of its status. For a Scale, other paths are useful.
var (
	changes = []change{
		{[]string{"spec", "replicas"}, counts, 6}, {[]string{"spec", "size", "count"}, counts, 6}, {[]string{"spec", "any"}, anything, 15}, {[]string{"spec", "a"}, []string{`"b"`, `"no"`, "null", "1"}, 3},
		{[]string{"spec", "list"}, []string{`[]`, `[{"n":3}]`, `[{"n":3,"s":null}]`, `[{"n":1},{"s":"x","q":1}]`, "null"}, 5}, {[]string{"spec", "ratio"}, []string{"1.0", "1", "2e2", `"x"`}, 3},
		{[]string{"spec", "null"}, []string{"null", `"t"`}, 2}, {[]string{"spec", "unknown"}, anything, 15}, {[]string{"unknown"}, anything, 15}, {[]string{"spec"}, anything, 15},
		{[]string{"status", "replicas"}, counts, 6}, {[]string{"status", "phase"}, []string{`"on"`, `"much too long"`, "null"}, 3}, {[]string{"status"}, anything, 15}, {[]string{"spec", "day"}, []string{`"2025-01-01"`, `"x"`, "null"}, 3},
		{[]string{"status", "unknown"}, anything, 15}, {[]string{"metadata", "labels"}, []string{`{"k":"w"}`, `{"k":null}`, "null", `{"k":1}`, `{"":"x"}`}, 3},
	}
	ofMetadata = []change{
		{[]string{"metadata", "name"}, []string{`"x"`, `"y"`, "null", `""`, "1"}, 1}, {[]string{"metadata", "namespace"}, []string{`"default"`, `"other"`, "null", `""`}, 1},
		{[]string{"metadata", "resourceVersion"}, []string{`"7"`, `"8"`, "null", `"0"`, `""`, `"x"`, "7"}, 1}, {[]string{"metadata", "uid"}, []string{`"u"`, `"v"`, "null"}, 1},
		{[]string{"metadata", "generation"}, []string{"9", "null"}, 2}, {[]string{"metadata", "creationTimestamp"}, []string{"null", `"2025-01-01T00:00:00Z"`, `"x"`}, 2},
		{[]string{"metadata", "finalizers"}, []string{`["d.e/f"]`, `["plain"]`, "null", `[]`}, 4}, {[]string{"metadata", "unknown"}, anything, 15},
		{[]string{"metadata", "ownerReferences"}, []string{`[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"q"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"q"}]`, "null"}, 1},
		{[]string{"metadata", "deletionTimestamp"}, []string{"null", `"2024-01-02T00:00:00Z"`}, 2}, {[]string{"metadata"}, []string{"null", "{}", "1"}, 1},
		{[]string{"kind"}, []string{`"CronTab"`, `"Other"`, "null", `""`, "1"}, 1}, {[]string{"apiVersion"}, []string{`"` + apiGroup + `/v1"`, `"` + apiGroup + `/v2"`, `"` + apiGroup + `/v3"`, `"other/v1"`, "null", `"a/b/c"`, `""`, "1"}, 1},
	}
	ofScale = []change{
		{[]string{"spec", "replicas"}, counts, 6}, {[]string{"spec", "replicas"}, counts, 6}, {[]string{"spec"}, []string{"null", "{}", `{"replicas":4,"x":1}`}, 3}, {[]string{"status", "replicas"}, counts, 6},
		{[]string{"status", "selector"}, selectors, 3}, {[]string{"unknown"}, anything, 15}, {[]string{"metadata", "labels"}, []string{`{"k":"w"}`, "null"}, 2},
		{[]string{"apiVersion"}, scaleVersions, len(scaleVersions)}, {[]string{"kind"}, scaleKinds, len(scaleKinds)},
		{[]string{"Spec"}, []string{`{"Replicas":5}`, `{"replicas":5}`}, 2}, {[]string{"status", "targetSelector"}, selectors, 3},
	}
)

// scaleVersions and scaleKinds are types that upstream's decoder of Scales knows, and some that it does not know.
var (
	scaleVersions = []string{
		`"extensions/v1beta1"`, `"apps/v1beta1"`, `"apps/v1beta2"`, `"autoscaling/__internal"`, `"apps/__internal"`, `"extensions/__internal"`,
		`"autoscaling/v2"`, `"apps/v1"`, `"v1"`,
	}
	scaleKinds = []string{`"Scale"`, `"Deployment"`, `"HorizontalPodAutoscaler"`, `"ListOptions"`, `"WatchEvent"`, `"Status"`, `"scale"`}
)

func (m *maker) change(q ask) change {
	switch {
	case m.Chance(15):
		return generate.Pick(m.Rand, ofMetadata)
	case q.Op == oracle.Scale:
		return generate.Pick(m.Rand, ofScale)
	}
	return generate.Pick(m.Rand, changes)
}

func (m *maker) mergePatch(q ask) []byte {
	o := object{}
	for range m.Between(0, 3) {
		c := m.change(q)
		m.place(o, c.path, m.raw(c.values, c.right))
	}
	made := string(text(o))
	if m.Chance(5) {
		made = strings.Replace(made, `"spec":{`, `"spec":{"a":"first","a":"second",`, 1)
	}
	return []byte(made)
}

func (m *maker) jsonPatch(q ask) []byte {
	ops := make([]string, m.Between(0, 4))
	for i := range ops {
		ops[i] = m.operation(q)
	}
	return []byte("[" + strings.Join(ops, ",") + "]")
}

func (m *maker) operation(q ask) string {
	c := m.change(q)
	path := "/" + strings.Join(c.path, "/")
	if m.Chance(10) {
		path = generate.Pick(m.Rand, []string{"/spec/list/0", "/spec/list/-", "/spec/list/0/n", "/spec/list/5", "/spec/any/x", "/spec/any/b/c/0", "", "/", "spec", "/spec/other", "/spec/any/x~1y"})
	}
	o := object{"op": generate.Pick(m.Rand, []string{"add", "add", "add", "replace", "replace", "remove", "test", "copy", "move"}), "path": path}
	switch o["op"] {
	case "add", "replace", "test":
		o["value"] = m.raw(c.values, c.right)
	case "copy", "move":
		o["from"] = "/" + strings.Join(m.change(q).path, "/")
	}
	if m.Chance(4) {
		switch m.IntN(5) {
		case 0:
			o["extra"] = 1
		case 1:
			delete(o, generate.Pick(m.Rand, []string{"op", "path", "value"}))
		case 2:
			o["op"] = json.RawMessage(generate.Pick(m.Rand, anything))
		case 3:
			o["path"] = json.RawMessage(generate.Pick(m.Rand, anything))
		case 4:
			return fmt.Sprintf(`{"op":"add","op":"add","path":"/spec/any","value":{"d":1,"d":%d}}`, m.IntN(3))
		}
	}
	return string(text(o))
}
