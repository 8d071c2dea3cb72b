package conversion

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// honest is the behaviour of a webhook that converts correctly.
const honest = "honest"

// lie changes a converted object, or returns a json.RawMessage that replaces it. original is the object of the request.
type lie func(o object, original json.RawMessage) any

// objects are the wrong conversions of an object, by name of the behaviour. Some are allowed.
var objects = map[string]lie{
	"kind":               root("kind", "Other"),
	"kind-missing":       root("kind", nil),
	"kind-number":        root("kind", json.RawMessage("1")),
	"version":            root("apiVersion", group+"/v9"),
	"version-group":      root("apiVersion", "other.example.com/v1"),
	"version-bare":       root("apiVersion", "v1"),
	"version-slashes":    root("apiVersion", "a/b/c"),
	"version-missing":    root("apiVersion", nil),
	"version-number":     root("apiVersion", json.RawMessage("1")),
	"unchanged":          func(_ object, original json.RawMessage) any { return original },
	"metadata-missing":   root("metadata", nil),
	"metadata-null":      root("metadata", json.RawMessage("null")),
	"metadata-list":      root("metadata", json.RawMessage("[]")),
	"metadata-string":    root("metadata", "x"),
	"metadata-empty":     root("metadata", object{}),
	"metadata-name-only": root("metadata", object{"name": "x"}),
	"name":               metadata("name", "other"),
	"name-missing":       metadata("name", nil),
	"name-number":        metadata("name", json.RawMessage("7")),
	"namespace":          metadata("namespace", "other"),
	"namespace-missing":  metadata("namespace", nil),
	"uid":                metadata("uid", "42"),
	"uid-missing":        metadata("uid", nil),
	"uid-list":           metadata("uid", json.RawMessage("[]")),
	"garbage": func(o object, _ json.RawMessage) any {
		if m, ok := o["metadata"].(object); ok {
			maps.Copy(m, object{
				"generation": 42, "resourceVersion": "42", "finalizers": []any{"foo.example.com/x"}, "garbage": "foo",
				"ownerReferences":   []any{object{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}},
				"creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": 3, "managedFields": []any{object{"manager": "m"}},
			})
		}
		return o
	},
	"spec-missing":   root("spec", nil),
	"spec-null":      root("spec", json.RawMessage("null")),
	"spec-list":      root("spec", json.RawMessage(`[1,"a",null]`)),
	"spec-string":    root("spec", "text"),
	"status-changed": root("status", object{"phase": "much too long", "replicas": -3, "more": object{"x": nil}}),
	"unknown": func(o object, _ json.RawMessage) any {
		o["unknown"], o["Spec"] = object{"deep": []any{nil, 1}}, object{"color": "x"}
		return field("other", object{"n": nil})(o, nil)
	},
	"nulls": func(o object, _ json.RawMessage) any {
		for _, name := range []string{"color", "shade", "host", "nullable", "list", "any", "pod"} {
			field(name, json.RawMessage("null"))(o, nil)
		}
		return o
	},
	"floats": func(o object, _ json.RawMessage) any {
		for name, value := range map[string]string{
			"size": "1.0", "ratio": "1e3", "any": `{"f":2.50,"z":-0.0,"e":1E-7,"i":3.0}`,
		} {
			field(name, json.RawMessage(value))(o, nil)
		}
		return o
	},
	"large-numbers": func(o object, _ json.RawMessage) any {
		field("size", json.RawMessage("9223372036854775808"))(o, nil)
		return field("any", json.RawMessage(`{"a":18446744073709551616,"b":1e308,"c":9007199254740993}`))(o, nil)
	},
	"overflow":    field("ratio", json.RawMessage("1e400")),
	"wrong-types": field("size", "a text"),
	"list":        field("list", json.RawMessage(`[{"n":1.0},{"s":null,"q":1},null]`)),
	"pod-metadata": field("pod", object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": "p", "labels": object{"a": 1}, "more": true}}),
	"pod-metadata-list": field("pod", object{"apiVersion": "v1", "kind": "Pod", "metadata": []any{}}),
	"pod-kind-missing":  field("pod", object{"metadata": object{}}),
	"items":             root("items", json.RawMessage(`[{"a":1}]`)),
	"duplicates":        replaced(`"kind":`, `"kind":"First","kind":`),
	"duplicate-fields":  replaced(`"spec":{`, `"spec":{"color":"first","color":"second","shade":"s","shade":"t",`),
	"duplicate-labels":  replaced(`"metadata":{`, `"metadata":{"labels":{"a":"1"},"labels":{"a":"2"},`),
	"invalid-utf8":      replaced(`"spec":{`, "\"spec\":{\"color\":\"\xff\",\"shade\":\"a\xffb\","),
	"case":              replaced(`"metadata":`, `"Metadata":{},"metadata":`),
	"escapes":           replaced(`"kind":"W`, `"kind":"\u0057`),
	"converted-null":    whole(`null`),
	"converted-string":  whole(`"x"`),
	"converted-number":  whole(`7`),
	"converted-bool":    whole(`true`),
	"converted-list":    whole(`[]`),
	"converted-nested":  whole(`[{"apiVersion":"` + group + `/v1","kind":"Widget"}]`),
	"converted-empty":   whole(`{}`),
	"converted-list-kind": func(o object, _ json.RawMessage) any {
		return encode(object{"apiVersion": o["apiVersion"], "kind": "WidgetList", "items": []any{o}})
	},
}

func init() {
	for name, values := range map[string][]string{
		"labels":      {"", `"a text with spaces"`, `"é"`, `"` + strings.Repeat("x", 64) + `"`},
		"annotations": {"", `"a text with spaces"`},
	} {
		for what, change := range map[string]func(m object){
			"empty":        func(m object) { m[name] = object{} },
			"missing":      func(m object) { delete(m, name) },
			"null":         func(m object) { m[name] = nil },
			"list":         func(m object) { m[name] = []any{} },
			"string":       func(m object) { m[name] = "x" },
			"added":        set(name, "added.example.com/x", "1"),
			"changed":      set(name, script, "gone"),
			"bad-key":      set(name, "not a key", "x"),
			"slashes":      set(name, "some/non-qualified/label", "x"),
			"empty-key":    set(name, "", "x"),
			"two-bad-keys": func(m object) { set(name, "a b", "x")(m); set(name, "c d", "y")(m) },
			"number":       set(name, "n", 1),
			"float":        set(name, "n", json.Number("1.5")),
			"null-value":   set(name, "n", nil),
			"list-value":   set(name, "n", []any{}),
			"object-value": set(name, "n", object{}),
			"two-bad":      func(m object) { set(name, "n", 1)(m); set(name, "o", true)(m) },
			"bad-and-key":  func(m object) { set(name, "n", 1)(m); set(name, "a b", "x")(m) },
		} {
			objects[name+"-"+what] = within(change)
		}
		for i, value := range values[1:] {
			objects[name+"-value-"+string(rune('a'+i))] = within(set(name, "v", json.RawMessage(value)))
		}
	}
	objects["annotations-large"] = within(set("annotations", "large", strings.Repeat("x", 256<<10+1)))
}

// names returns the names of behaviours in order.
func names[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }

// root sets a member of the object. Nil removes it.
func root(key string, value any) lie {
	return func(o object, _ json.RawMessage) any { return put(o, key, value) }
}

// metadata sets a member of the metadata, if there is metadata. Nil removes it.
func metadata(key string, value any) lie { return within(func(m object) { put(m, key, value) }) }

func within(change func(m object)) lie {
	return func(o object, _ json.RawMessage) any {
		if m, ok := o["metadata"].(object); ok {
			change(m)
		}
		return o
	}
}

// set sets a label or an annotation, and creates the map if necessary.
func set(name, key string, value any) func(m object) {
	return func(m object) {
		list, ok := m[name].(object)
		if !ok {
			list = object{}
			m[name] = list
		}
		list[key] = value
	}
}

// field sets a member of the spec, if there is a spec.
func field(key string, value any) lie {
	return func(o object, _ json.RawMessage) any {
		if spec, ok := o["spec"].(object); ok {
			put(spec, key, value)
		}
		return o
	}
}

func put(o object, key string, value any) object {
	if o[key] = value; value == nil {
		delete(o, key)
	}
	return o
}

// replaced changes the text of the object once.
func replaced(old, with string) lie {
	return func(o object, _ json.RawMessage) any {
		return json.RawMessage(bytes.Replace(encode(o), []byte(old), []byte(with), 1))
	}
}

// whole replaces the object.
func whole(text string) lie {
	return func(object, json.RawMessage) any { return json.RawMessage(text) }
}
