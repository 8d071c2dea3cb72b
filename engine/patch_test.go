package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

var scaledCRD = writecase.Manifest("crontabs")

const stored = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7","generation":3},` +
	`"spec":{"replicas":1,"image":"a<b"},"status":{"replicas":1,"selector":"a=b"}}`

func scaled(t testing.TB) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), JSON([]byte(scaledCRD)), Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	return d
}

// tooManyOperations is what is said of a patch of one operation more than there may be, as a whole.
const tooManyOperations = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"

// TestPatchOfTooManyOperations: the words of the rejection stand once in it, and in the Status.
func TestPatchOfTooManyOperations(t *testing.T) {
	body := JSON([]byte("[" + strings.Repeat("{},", patch.MaxOperations) + "{}]"))
	v, err := scaled(t).Admit(context.Background(), Patch{Type: JSONPatch, Body: body, Old: JSON([]byte(stored))}, AdmitOptions{WithStatus: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Rejection{Code: 413, Reason: "RequestEntityTooLarge", Message: tooManyOperations}); v.Rejection == nil || v.Rejection.Code != want.Code || v.Rejection.Reason != want.Reason || v.Rejection.Message != want.Message {
		t.Errorf("%+v, want %+v", v.Rejection, want)
	}
	const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"` + tooManyOperations + `","reason":"RequestEntityTooLarge","code":413}`
	if got := strings.TrimSpace(string(v.Status)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestLargePatch checks that a patch has the limit of a document.
func TestLargePatch(t *testing.T) {
	body := JSON([]byte(`{"a":"` + strings.Repeat("x", 3<<20) + `"}`))
	_, err := scaled(t).Admit(t.Context(), Patch{Type: MergePatch, Body: body, Old: JSON([]byte(stored))}, AdmitOptions{})
	if ReasonOf(err) != ReasonLimitExceeded {
		t.Error(err)
	}
}

// BenchmarkPatch compares an update with patches to the same effect.
func BenchmarkPatch(b *testing.B) {
	d := scaled(b)
	whole := JSON([]byte(strings.Replace(stored, `"replicas":1`, `"replicas":2`, 1)))
	old := JSON([]byte(stored))
	for _, c := range []struct {
		name string
		item Write
	}{
		{"update", Update{Object: whole, Old: old}},
		{"merge", Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"replicas":2}}`)), Old: old}},
		{"json", Patch{Type: JSONPatch, Body: JSON([]byte(`[{"op":"replace","path":"/spec/replicas","value":2}]`)), Old: old}},
		{"scale", Update{Subresource: "scale", Object: JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":2}}`)), Old: old}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := d.Admit(context.Background(), c.item, AdmitOptions{}); err != nil || !v.Allowed {
					b.Fatal(err, v)
				}
			}
		})
	}
}

// TestPatchObserved checks that an observer receives the size of everything that was sent.
func TestPatchObserved(t *testing.T) {
	observer := &recorder{}
	d, _, err := Compile(t.Context(), JSON([]byte(scaledCRD)), Options{Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	const patch = `{"spec":{"replicas":2}}`
	if _, err := d.Admit(t.Context(), Patch{Type: MergePatch, Body: JSON([]byte(patch)), Old: JSON([]byte(stored))}, AdmitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := observer.evaluated[0].Bytes, len(stored)+len(patch); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
