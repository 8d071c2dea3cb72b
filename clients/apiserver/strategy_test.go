package apiserver

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crdeval/crdeval/engine"
)

// admitted records the last call of Admit.
type admitted struct {
	Definition
	item    engine.Item
	verdict *engine.Verdict
}

func (d *admitted) Admit(ctx context.Context, item engine.Item, o engine.EvaluationOptions) (v *engine.Verdict, err error) {
	d.item = item
	d.verdict, err = d.Definition.Admit(ctx, item, o)
	return d.verdict, err
}

// TestUnchanged: the evaluator returns no object for usual writes, because the strategy sets the generation before, and
// receives no managed fields of the old object.
func TestUnchanged(t *testing.T) {
	d := &admitted{Definition: lamps(t)}
	s := &strategy{definition: d, version: "v1", namespaced: true, written: &writtenObjects{}}
	ctx := withOutcome(genericapirequest.WithNamespace(t.Context(), "n"))
	read := func(watts string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		metadata := `,"managedFields":[{"manager":"m","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-01T00:00:00Z",` +
			`"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},"spec":{"watts":` + watts + `}}`
		if err := unmarshal([]byte(strings.Replace(lamp, `},"spec":{"watts":1.0,"volts":2}}`, metadata, 1)), u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	old := read("1.5")
	s.PrepareForCreate(ctx, old)
	old.SetResourceVersion("7")
	for _, c := range []struct {
		watts      string
		generation int64
	}{{"1.5", 1}, {"2.5", 2}} {
		u := read(c.watts)
		u.SetResourceVersion("7")
		s.PrepareForUpdate(ctx, u, old)
		if err := outcomeOf(ctx).err; err != nil || d.verdict.Object != nil {
			t.Errorf("%s: %v, returned %s", c.watts, err, d.verdict.Object)
		}
		if u.GetGeneration() != c.generation || u.GetManagedFields() == nil {
			t.Errorf("%s: metadata %v", c.watts, u.Object["metadata"])
		}
		if strings.Contains(string(d.item.OldObject.JSON), "managedFields") || old.GetManagedFields() == nil {
			t.Errorf("old object %s", d.item.OldObject.JSON)
		}
	}
}
