package violation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

func TestMessageIsUpstreams(t *testing.T) {
	a, b := field.Required(field.NewPath("a"), "x"), field.Invalid(field.NewPath("b", "c"), map[string]any{"d": "<"}, "no")
	for _, kind := range []schema.GroupKind{{Group: "stable.example.com", Kind: "CronTab"}, {Kind: "CronTab"}, {}} {
		for _, name := range []string{"", "n", "a\"b\n\x00é\xff%s"} {
			for _, errs := range []field.ErrorList{nil, {a}, {a, a}, {a, b}, {b, a, b, a, field.Required(field.NewPath("a"), "x")}} {
				want := apierrors.NewInvalid(kind, name, errs).ErrStatus.Message
				if got := Message(kind, name, errs, nil); got != want {
					t.Errorf("%s\nwant %s", got, want)
				}
				if got, want := Together(errs), errs.ToAggregate(); (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
					t.Errorf("%v, want %v", got, want)
				}
			}
		}
	}
}

// TestMessageIsLinear: apimachinery took minutes for as many.
func TestMessageIsLinear(t *testing.T) {
	errs := make(field.ErrorList, 200_000)
	for i := range errs {
		errs[i] = field.Invalid(field.NewPath("spec", "items").Index(i), i, strings.Repeat("no ", 20))
	}
	start := time.Now()
	text := Message(schema.GroupKind{Kind: "K"}, "n", errs, nil)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v for %d bytes", took, len(text))
	}
	asked := 0
	Message(schema.GroupKind{Kind: "K"}, "n", errs, func() bool { asked++; return true })
	if asked != 1 {
		t.Errorf("went on after it was stopped: asked %d times", asked)
	}
}

func TestRoom(t *testing.T) {
	r := NewRoom(value.Limits{MaxFindings: 3, MaxFindingBytes: 100})
	if !r.Take(10, false) || !r.Take(80, false) || r.Err() != nil {
		t.Fatal("no room for two")
	}
	for range 2 {
		if !r.Take(10, true) {
			t.Fatal("no room to try")
		}
	}
	r.Give(10)
	if !r.Fits() || r.Err() != nil {
		t.Error("no room for what a trial left")
	}
	if r.Take(1, false) || r.Fits() || r.Err() == nil {
		t.Error("room for a fourth")
	}
	const want = "list of findings of at least 4 findings exceeds the limit of 3 findings: " +
		"mend what is known to be wrong, or split the document, or raise the limit"
	if got := fmt.Sprint(r.Err()); got != want {
		t.Errorf("%s", got)
	}
	r = NewRoom(value.Limits{MaxFindings: 3, MaxFindingBytes: 100})
	if r.Take(101, false) || r.Err() == nil {
		t.Error("room for 101 bytes")
	}
	r = nil
	if !r.Take(1<<40, false) || !r.Fits() || r.Err() != nil {
		t.Error("no room where there is no end")
	}
	if n, b := (value.Limits{}).Findings(); n != 10_000 || b != 8<<20 {
		t.Errorf("by default %d findings, %d bytes", n, b)
	}
}
