package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

func definitionWithRules(t testing.TB, file, rules string) *engine.Definition {
	t.Helper()
	crd, err := os.ReadFile("testdata/conversion/" + file)
	if err != nil {
		t.Fatal(err)
	}
	d, report, err := engine.Compile(t.Context(), engine.YAML(crd), engine.Options{Conversion: engine.YAML([]byte(rules))})
	if err != nil || d == nil {
		t.Fatal(report, err)
	}
	return d
}

// Admit stores at the storage version and answers at that of the request; Read, Convert and tables convert, too.
func TestDeclaredConversion(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", tasksRules)
	if c := d.Conversion(); !c.Accepted || len(c.Rules) != 3 {
		t.Fatalf("%+v", c)
	}
	object := `{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a","namespace":"b"},"spec":{"host":"h","note":"x"}}`
	v, err := d.Admit(t.Context(), engine.Item{Object: engine.JSON([]byte(object)), Version: "v1beta1"}, engine.EvaluationOptions{})
	if err != nil || !v.Allowed {
		t.Fatalf("%+v %v", v, err)
	}
	if want := `"spec":{"endpoint":{"host":"h"}}`; !strings.Contains(string(v.StoredObject), want) {
		t.Errorf("stored %s, want %s", v.StoredObject, want)
	}
	if want := `"host":"h"`; !strings.Contains(string(v.Object), want) || !strings.Contains(string(v.Object), `"note":"x"`) {
		t.Errorf("object %s", v.Object)
	}
	read, err := d.Read(t.Context(), engine.Item{Object: engine.JSON(v.StoredObject)}, engine.EvaluationOptions{TargetVersion: "v1beta1"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(read.Object), `"note":"x"`) || strings.Contains(string(read.Object), "crdeval.dev") {
		t.Errorf("read %s", read.Object)
	}
}

const tasksRules = `
crd: tasks.example.com
between: [v1beta1, v1]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
- stash: {path: spec.note, maxBytes: 100}
`
