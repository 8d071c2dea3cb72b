package publish_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/casefile"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	tables "github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"
)

// TestCases compares tables, fields, scales and OpenAPI documents with the reference's.
func TestCases(t *testing.T) {
	cases, err := casefile.Load("../conformance/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]func(*testing.T, *engine.Definition, []byte, *casefile.Answer){
		"table": tableCase, "fields": fieldsCase, "scale": scaleCase, "openapi": openAPICase,
	}
	asked := map[string]int{}
	for i := range cases {
		c := &cases[i]
		compare, has := answers[c.Op]
		if !has {
			continue
		}
		asked[c.Op]++
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			d, err := kubeserver.CompileStored(t.Context(), c.CRD, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, object := range c.Objects {
				compare(t, d, object, &c.Answers[i])
			}
		})
	}
	if len(asked) != len(answers) {
		t.Errorf("cases of %v", asked)
	}
}

// tableCase compares the columns and rows of an object. The reference only ran its converter, so the object is shown as
// it is: TableOf would read it from storage first and prune what the schema of the case does not declare.
func tableCase(t *testing.T, d *engine.Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	doc := tree.Acquire()
	defer doc.Release()
	root, err := doc.ParseJSON(object, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	columns := compiled.Of(d).Inner.Versions[0].Columns
	rows := columns.NewRows(tables.Target{}, time.Now())
	defer rows.Release()
	text, _, err := rows.AppendRows(nil, nil, doc, root, tables.RowNone, nil)
	if err != nil {
		t.Fatal(err)
	}
	headers, err := json.Marshal(columns.Headers())
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"metadata":{},"columnDefinitions":`+string(headers)+`,"rows":[`+string(text)+`]}`, want.Result)
}

func fieldsCase(t *testing.T, d *engine.Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	fields, err := publish.Select(t.Context(), d, "", engine.JSON(object))
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := map[string]string{}, map[string]string{}
	for _, f := range fields {
		got[f.Field] = f.Value
	}
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(fields) || !maps.Equal(got, wanted) {
		t.Errorf("fields %v\nwant %v", fields, wanted)
	}
}

func scaleCase(t *testing.T, d *engine.Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	text, err := publish.GetScale(t.Context(), d, "", engine.JSON(object))
	if err != nil {
		t.Fatal(err)
	}
	var wanted map[string]any
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	delete(wanted["metadata"].(map[string]any), "creationTimestamp") // null in the reference's own print of the type
	result, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, string(text), result)
}

// openAPICase compares the definition of the kind in documents of both forms.
func openAPICase(t *testing.T, d *engine.Definition, _ []byte, want *casefile.Answer) {
	t.Helper()
	const kind = "com.example.stable.v1.CronTab"
	crd := publish.NewCRD(d, apiextensionsv1.CustomResourceDefinitionStatus{})
	v2, err := publish.OpenAPI{}.V2(t.Context(), crd)
	if err != nil {
		t.Fatal(err)
	}
	v3, err := publish.OpenAPI{}.V3(t.Context(), d.Group(), "v1", crd)
	if err != nil {
		t.Fatal(err)
	}
	var documents struct {
		Definitions map[string]json.RawMessage
		Components  struct{ Schemas map[string]json.RawMessage }
	}
	for _, text := range [][]byte{v2.JSON, v3.JSON} {
		if err := json.Unmarshal(text, &documents); err != nil {
			t.Fatal(err)
		}
	}
	var wanted struct{ V2, V3 json.RawMessage }
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, string(documents.Definitions[kind]), wanted.V2)
	sameJSON(t, string(documents.Components.Schemas[kind]), wanted.V3)
}

func sameJSON(t *testing.T, got string, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
