package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
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
		t.Fatalf("refused: %v", report.Violations)
	}
	return d
}

var tableNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func table(t *testing.T, d *engine.Definition, o engine.TableOptions, objects ...string) *engine.Table {
	t.Helper()
	var docs []engine.Document
	for _, o := range objects {
		docs = append(docs, engine.YAML([]byte(o)))
	}
	o.Now = tableNow
	table, err := d.Table(t.Context(), "v1", docs, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const head = "apiVersion: stable.example.com/v1\nkind: CronTab\n"

func TestTable(t *testing.T) {
	d := tableCRD(t, `{name: filt, type: string, jsonPath: ".elems[?(@.id==\"b\")].v"}, {name: obj, type: string, jsonPath: .o}, {name: int, type: integer, jsonPath: .f},
		{name: bool, type: boolean, jsonPath: .b}, {name: num, type: number, jsonPath: .i}, {name: lst, type: string, jsonPath: ".elems[*].v"}, {name: date, type: date, jsonPath: .d},
		{name: nullstr, type: string, jsonPath: .nul}, {name: Age, type: date, jsonPath: .metadata.creationTimestamp}`)
	got := table(t, d, engine.TableOptions{Object: engine.RowNone}, head+`
metadata: {name: x, namespace: d, creationTimestamp: "2026-11-21T11:00:00Z"}
elems: [{id: a, v: "1"}, {id: b, v: "2"}]
o: {k: [1, x], a: <&>}
f: 3.9
b: "true"
i: 4
d: x
nul: null
`)
	const want = `[{"cells":["x","2","{\"a\":\"\\u003c\\u0026\\u003e\",\"k\":[1,\"x\"]}",3,null,4,"1","<invalid>","<no value>","60m"],"object":null}]`
	json := string(got.JSON())
	if _, rows, _ := strings.Cut(json, `"rows":`); rows != want+"}" {
		t.Errorf("%s\nwant %s", json, want)
	}
	text, err := got.Text(t.Context(), engine.TextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
}
