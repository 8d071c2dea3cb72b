package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

// tableCRD is a CRD with the columns given, as YAML flow mappings.
func tableCRD(t *testing.T, columns string) *engine.Definition {
	t.Helper()
	manifest := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns: [` + columns + `]
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {image: {type: string, default: busybox}}}}}}
    additionalPrinterColumns: [{name: Image, type: string, jsonPath: .spec.image}]
`
	d, report, err := engine.Compile(t.Context(), engine.YAML([]byte(manifest)), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		t.Fatalf("rejected: %v", report.Violations)
	}
	return d
}

var tableNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func table(t *testing.T, d *engine.Definition, o publish.TableOptions, objects ...string) *publish.Table {
	t.Helper()
	var docs []engine.Document
	for _, o := range objects {
		docs = append(docs, engine.YAML([]byte(o)))
	}
	o.Now = tableNow
	table, err := publish.TableOf(t.Context(), d, "v1", docs, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const head = "apiVersion: stable.example.com/v1\nkind: CronTab\n"

// TestTable: what columns show of values of every kind.
func TestTable(t *testing.T) {
	const object = head + `metadata: {name: x, namespace: d, creationTimestamp: "2026-11-21T11:00:00Z"}
elems: [{id: a, v: "1"}, {id: b, v: "2"}]
o: {k: [1, x], a: <&>}
f: 3.9
b: "true"
i: 4
nul: null
large: 9007199254740993
past: "2020-02-30T00:00:00Z"
future: "2026-11-21T12:00:02Z"
`
	for _, c := range []struct{ kind, path, cell string }{
		{"string", `.elems[?(@.id==\"b\")].v`, `"2"`},
		{"string", `.elems[*].v`, `"1"`}, // the first alone
		{"string", ".o", `"{\"a\":\"\\u003c\\u0026\\u003e\",\"k\":[1,\"x\"]}"`},
		{"string", ".f", `"3.9"`},
		{"string", ".nul", `"<no value>"`},
		{"string", ".missing", "null"},
		{"integer", ".f", "3"},
		{"integer", ".b", "null"},
		{"integer", ".nul", "null"},
		{"number", ".i", "4"},
		{"number", ".large", "9007199254740992"},
		{"boolean", ".b", "null"},
		{"date", ".metadata.creationTimestamp", `"60m"`},
		{"date", ".past", `"<invalid>"`},
		{"date", ".future", `"<invalid>"`},
		{"date", ".i", "null"},
		{"string", ".elems[7].v", "null"},
		{"string", `.x}{range .elems[*]}{.v}{end`, "null"},
	} {
		d := tableCRD(t, `{name: c, type: `+c.kind+`, jsonPath: "`+c.path+`"}`)
		got := table(t, d, publish.TableOptions{Object: publish.RowNone}, object)
		if want := `{"cells":["x",` + c.cell + `],"object":null}`; got.Len() != 1 || string(got.Row(0)) != want {
			t.Errorf("%s column of %s: %s, want %s", c.kind, c.path, got.Row(0), want)
		}
	}
}

// TestTableFrame: what is around the rows.
func TestTableFrame(t *testing.T) {
	left := int64(5)
	for _, c := range []struct {
		columns string
		o       publish.TableOptions
		want    string
	}{
		{"", publish.TableOptions{}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name","type":"string","format":"name"},{"name":"Age","type":"date","format":""}],"rows":[]}`},
		{`{name: A, type: integer, format: int32, jsonPath: .a, priority: 1, description: what it is}, {name: B, type: string, jsonPath: ".b["}, {name: C, type: string, jsonPath: .c}`,
			publish.TableOptions{ResourceVersion: "7", Continue: "<x>", RemainingItemCount: &left},
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","continue":"\u003cx\u003e","remainingItemCount":5},"columnDefinitions":[{"name":"Name","type":"string","format":"name"},{"name":"A","type":"integer","format":"int32"}],"rows":[]}`},
		{"", publish.TableOptions{NoHeaders: true}, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":null,"rows":[]}`},
	} {
		got := table(t, tableCRD(t, c.columns), c.o)
		text := regexp.MustCompile(`,"description":"[^"]*","priority":\d+`).ReplaceAllString(string(got.JSON()), "")
		if text != c.want {
			t.Errorf("%s\nwant %s", text, c.want)
		}
	}
	d := tableCRD(t, "{name: A, type: string, jsonPath: .a.b}, {name: B, type: string, jsonPath: .b, description: theirs, priority: 2}")
	columns := table(t, d, publish.TableOptions{NoHeaders: true}).Columns()
	if len(columns) != 3 || !strings.HasPrefix(columns[0].Description, "Name must be unique") || columns[1].Description != "Custom resource definition column (in JSONPath format): .a.b" ||
		columns[2].Description != "theirs" || columns[2].Priority != 2 {
		t.Errorf("%+v", columns)
	}
}

// TestTableObjects: what rows hold of their objects, which are read at the table's version.
func TestTableObjects(t *testing.T) {
	d := tableCRD(t, "")
	const object = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: x, namespace: d, generation: 1, labels: {a: b}, unknown: 1}\nspec: {image: null, other: 1}\n"
	const meta = `{"name":"x","namespace":"d","generation":1,"labels":{"a":"b"}}`
	for _, c := range []struct {
		object publish.RowObject
		want   string
	}{
		{publish.RowMetadata, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":` + meta + `}`},
		{publish.RowNone, "null"},
		{publish.RowWhole, `{"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":` + meta + `,"spec":{"image":null}}`},
	} {
		got, err := publish.TableOf(t.Context(), d, "v2", []engine.Document{engine.YAML([]byte(object))}, publish.TableOptions{Object: c.object, Now: tableNow})
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(got.Row(0)), `"object":`)
		if keysSorted(t, strings.TrimSuffix(after, "}")) != keysSorted(t, c.want) {
			t.Errorf("object %d: %s, want %s", c.object, after, c.want)
		}
	}
}

func keysSorted(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTableOfItems: an object with a list of items is a row for each.
func TestTableOfItems(t *testing.T) {
	d := tableCRD(t, "{name: V, type: string, jsonPath: .v}")
	got := table(t, d, publish.TableOptions{}, head+"metadata: {name: x, namespace: d}\nitems: [{v: 1}, {v: 2, metadata: {name: b, labels: {c: 1}}}, {items: [{v: 3}, {items: []}]}]\n",
		head+"metadata: {name: w, namespace: d}\nitems: {}\n", head+"metadata: {name: z, namespace: d}\nitems: []\n")
	var names []string
	for i := range got.Len() {
		names = append(names, string(got.Row(i)))
	}
	want := []string{
		`{"cells":["","1"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}}`,
		`{"cells":["b","2"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"b"}}}`,
		`{"cells":["","3"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}}`,
		`{"cells":["w",null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"w","namespace":"d","generation":1}}}`,
	}
	if len(names) != len(want) {
		t.Fatalf("%d rows: %s", len(names), names)
	}
	for i := range want {
		if keysSorted(t, names[i]) != keysSorted(t, want[i]) {
			t.Errorf("row %d: %s, want %s", i, names[i], want[i])
		}
	}
	if keysSorted(t, string(got.JSON())) == "" {
		t.Error("no JSON")
	}
}

// deep makes paths with several .. visit billions of values.
var deep = strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200)

// TestTableRejected: what an API server answers in place of a table, and what ends one.
func TestTableRejected(t *testing.T) {
	testenv.SingleGoroutine(t)
	const meta = "metadata: {name: x, namespace: d}\n"
	long := strings.Repeat("a", 200<<10)
	wide := strings.Repeat("{name: c, type: string, jsonPath: .spec},", 60)
	for _, c := range []struct {
		name, columns, object string
		o                     publish.TableOptions
		reason                engine.Reason
		text                  string
	}{
		{"an item that is no object", "", head + meta + "items: [1]", publish.TableOptions{}, engine.ReasonObjectRejected, "objects[1]: items member is not an object: map[string]interface {}"},
		{"an item that cannot be brought to the version", "", head + meta + "items: [{kind: Pod}]", publish.TableOptions{Object: publish.RowWhole}, engine.ReasonObjectRejected,
			`objects[1]: /, Kind=Pod is unstructured and is not suitable for converting to "stable.example.com/v1"`},
		{"an item of an unknown version", "", head + meta + "items: [{kind: Pod, apiVersion: stable.example.com/v9}]", publish.TableOptions{Object: publish.RowWhole}, engine.ReasonObjectRejected,
			"objects[1]: request to convert CR from an invalid group/version: stable.example.com/v9"},
		{"a panic", "{name: c, type: string, jsonPath: \".x}{range .y[*]}{[0]}{end\"}", head + meta, publish.TableOptions{}, engine.ReasonObjectRejected,
			"objects[0]: This request caused apiserver to panic. Look in the logs for details."},
		{"too many values", "{name: c, type: string, jsonPath: ...*...*...*...*..x}", head + meta + "spec: " + deep, publish.TableOptions{}, engine.ReasonLimitExceeded,
			`objects[1]: work of the JSONPaths up to the column "c" of at least 4194305 visited values exceeds the limit of 4194304 visited values`},
		{"too much text", wide, head + meta + "spec: " + long, publish.TableOptions{}, engine.ReasonLimitExceeded, "objects[1]: cells of one object of at least 8388609 bytes exceeds the limit of 8388608 bytes"},
		{"too large a table", "{name: c, type: string, jsonPath: .spec}", head + meta + "spec: " + long, publish.TableOptions{MaxBytes: 1000}, engine.ReasonLimitExceeded, "objects[1]: table of at least "},
		{"long paths", "{name: c, type: string, jsonPath: ." + long + "}", head + meta, publish.TableOptions{}, engine.ReasonLimitExceeded, `objects[0]: JSONPaths up to the column "c" of at least 204801 bytes`},
		{"an object that cannot be read", "", "kind: 1\n" + meta, publish.TableOptions{}, engine.ReasonObjectRejected, "objects[1]: "},
		{"an object of another group", "", "apiVersion: other/v1\nkind: CronTab\n" + meta, publish.TableOptions{}, engine.ReasonVersionNotFound, "objects[1]: "},
		{"no option", "", head + meta, publish.TableOptions{Object: 9}, engine.ReasonInvalidArgument, "unknown object of a row"},
	} {
		d := tableCRD(t, c.columns)
		_, err := publish.TableOf(t.Context(), d, "v1", []engine.Document{engine.YAML([]byte(head + meta)), engine.YAML([]byte(c.object))}, c.o)
		if engine.ReasonOf(err) != c.reason || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%s: %v %v, want %v %s", c.name, engine.ReasonOf(err), err, c.reason, c.text)
		}
		var e *engine.Error
		if errors.As(err, &e) && c.reason == engine.ReasonLimitExceeded && (e.Limit == 0 || e.Actual <= e.Limit) {
			t.Errorf("%s: limit %d, actual %d", c.name, e.Limit, e.Actual)
		}
	}
	d := tableCRD(t, "")
	for version, reason := range map[string]engine.Reason{"": engine.ReasonInvalidArgument, "v9": engine.ReasonVersionNotFound} {
		if _, err := publish.TableOf(t.Context(), d, version, nil, publish.TableOptions{}); engine.ReasonOf(err) != reason {
			t.Errorf("version %q: %v", version, err)
		}
	}
	for _, document := range []engine.Document{{}, {JSON: []byte("{}"), YAML: []byte("{}")}} {
		if _, err := publish.TableOf(t.Context(), d, "v1", []engine.Document{document}, publish.TableOptions{}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
			t.Errorf("%v: %v", document, err)
		}
	}
}

// TestTableStops: Table stops at the deadline of its context.
func TestTableStops(t *testing.T) {
	d := tableCRD(t, "{name: c, type: string, jsonPath: ...*...*...*...*..x}")
	object := engine.YAML([]byte(head + "metadata: {name: x, namespace: d}\nspec: " + deep))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err := publish.TableOf(ctx, d, "v1", []engine.Document{object, object, object, object}, publish.TableOptions{})
	if engine.ReasonOf(err) != engine.ReasonItemDeadline || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestTableText: what kubectl prints, in all its ways. Conformance holds the text against kubectl's own printer.
func TestTableText(t *testing.T) {
	d := tableCRD(t, "{name: Spec, type: string, jsonPath: .spec.cron}, {name: Replicas, type: integer, jsonPath: .spec.replicas}, {name: Image, type: string, jsonPath: .spec.image, priority: 1}, {name: Age, type: date, jsonPath: .metadata.creationTimestamp}")
	got := table(t, d, publish.TableOptions{},
		head+"metadata: {name: my-new-cron-object, namespace: default, creationTimestamp: \"2026-11-20T12:00:00Z\", labels: {b: '2', a: '1'}}\nspec: {cron: \"* * * * */5\", replicas: 3, image: awesome}\n",
		head+"metadata: {name: x, namespace: kube-system}\nspec: {cron: \"two\\nlines\", image: \"\\e[31m\"}\n")
	for _, c := range []struct {
		o    publish.TextOptions
		want string
	}{
		{publish.TextOptions{}, `
NAME                 SPEC          REPLICAS   AGE
my-new-cron-object   * * * * */5   3          24h
x                    two...                   
`},
		{publish.TextOptions{NoHeaders: true}, `
my-new-cron-object   * * * * */5   3     24h
x                    two...              
`},
		{publish.TextOptions{Wide: true, Namespaces: true}, `
NAMESPACE     NAME                 SPEC          REPLICAS   IMAGE     AGE
default       my-new-cron-object   * * * * */5   3          awesome   24h
kube-system   x                    two...                   ^[[31m    
`},
		{publish.TextOptions{Labels: true, LabelColumns: []string{"example.com/a", "b"}, ShowKind: true}, `
NAME                                            SPEC          REPLICAS   AGE   A     B     LABELS
crontab.stable.example.com/my-new-cron-object   * * * * */5   3          24h         2     a=1,b=2
crontab.stable.example.com/x                    two...                                     <none>
`},
	} {
		text, err := got.Text(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := publish.TableText(t.Context(), got.JSON(), "CronTab.stable.example.com", c.o)
		if err != nil || string(wire) != string(text) {
			t.Errorf("%+v: of the JSON %v\n%s", c.o, err, wire)
		}
		if "\n"+string(text) != c.want {
			t.Errorf("%+v:\n%s\nwant%s", c.o, strings.ReplaceAll(string(text), "\n", "|\n"), c.want)
		}
	}
	none, err := table(t, d, publish.TableOptions{}).Text(t.Context(), publish.TextOptions{})
	if err != nil || len(none) != 0 {
		t.Errorf("no rows: %q %v", none, err)
	}
	for _, wrong := range []string{"", "{}", `{"kind":"Pod"}`, `{"kind":"Table","rows":[{"cells":]}`} {
		if _, err := publish.TableText(t.Context(), []byte(wrong), "", publish.TextOptions{}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestDecodedTable: an object that was read already gets no defaults of its version. Odd metadata and other versions are
// read as ever.
func TestDecodedTable(t *testing.T) {
	d := tableCRD(t, "")
	for _, c := range []struct{ version, metadata, want, decoded string }{
		{"v2", `"name":"a"`, `"busybox"`, `null`},
		{"v1", `"name":"a"`, `null`, `null`},
		{"v2", `"name":"a","labels":{"x":1}`, `"busybox"`, `"busybox"`},
		{"v2", `"name":"a","generation":5`, `"busybox"`, `null`},
	} {
		object := engine.JSON([]byte(`{"apiVersion":"stable.example.com/` + c.version + `","kind":"CronTab","metadata":{` + c.metadata + `},"spec":{}}`))
		for decoded, want := range map[bool]string{false: c.want, true: c.decoded} {
			got, err := publish.TableOf(t.Context(), d, "v2", []engine.Document{object}, publish.TableOptions{Now: tableNow, Decoded: decoded})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got.Row(0)), `"cells":["a",`+want+`]`) {
				t.Errorf("%+v, decoded %v: %s", c, decoded, got.Row(0))
			}
		}
	}
}
