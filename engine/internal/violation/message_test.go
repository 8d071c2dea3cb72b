package violation

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

func TestMessageIsUpstreams(t *testing.T) {
	a, b := field.Required(field.NewPath("a"), "x"), field.Invalid(field.NewPath("b", "c"), map[string]any{"d": "<"}, "no")
	var many field.ErrorList
	for i := range 100 {
		many = append(many, field.Invalid(field.NewPath("c").Index(i%40), i%40, "no"))
	}
	for _, kind := range []schema.GroupKind{{Group: "stable.example.com", Kind: "CronTab"}, {Kind: "CronTab"}, {}} {
		for _, name := range []string{"", "n", "a\"b\n\x00é\xff%s"} {
			for _, errs := range []field.ErrorList{nil, {a}, {a, a}, {a, b}, {b, a, b, a, field.Required(field.NewPath("a"), "x")}, many} {
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

// TestTextIsUpstreams compares texts with Error() and ErrorBody(), and the bad value with its JSON.
func TestTextIsUpstreams(t *testing.T) {
	bad := []any{
		nil, "", "a\"b<\n\x00é\xff\u2028%s", int64(-5), int32(7), 12, true, false, 1.0, 1e21, 1e-7, 12345678.5, math.MaxFloat64, float32(0.1),
		map[string]any{}, map[string]any{"z": []any{1.5, int64(1), nil, "<&>", map[string]any{}}, "a": map[string]any{"\xff": true, "": "é\u2029\x7f"}},
		[]any{}, []any(nil), map[string]any(nil), []string{"x"}, field.OmitValueType{}, metav1.OwnerReference{Kind: "K"}, errors.New("e"), math.NaN(),
		[]any{[]any{}}, func() {}, &[]string{"p"}, (*int)(nil), types.UID("u"), metav1.Duration{},
	}
	for _, typ := range []field.ErrorType{
		field.ErrorTypeNotFound, field.ErrorTypeRequired, field.ErrorTypeDuplicate, field.ErrorTypeInvalid, field.ErrorTypeNotSupported, field.ErrorTypeForbidden,
		field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTooFew, field.ErrorTypeInternal, field.ErrorTypeTypeInvalid, field.ErrorTypeTooShort, "other", "",
	} {
		for _, v := range bad {
			for _, detail := range []string{"", "of it"} {
				err := &field.Error{Type: typ, Field: "a.b[0]", BadValue: v, Detail: detail}
				pointer := regexp.MustCompile(`0x[0-9a-f]+`) // %#v of a function
				same := func(a, b string) bool { return pointer.ReplaceAllString(a, "") == pointer.ReplaceAllString(b, "") }
				if got, want := string(appendText([]byte("before"), err)), "before"+err.Error(); !same(got, want) {
					t.Errorf("%s\nwant %s", got, want)
				}
			}
		}
	}
	for _, v := range bad {
		if want, err := json.Marshal(v); err == nil && string(tree.AppendAny(nil, v)) != string(want) {
			t.Errorf("%s, want %s", tree.AppendAny(nil, v), want)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, text := range []string{"", "plain ~ text", `"`, `\`, "\n", "\x7f", "\x1f", "é", "\xff", "a\u2028"} {
		if got, want := string(AppendQuoted([]byte("x"), text)), "x"+strconv.Quote(text); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestMessageAllocs checks that Message allocates its text once.
func TestMessageAllocs(t *testing.T) {
	var errs field.ErrorList
	for i := range 10 {
		errs = append(errs, field.Invalid(field.NewPath("spec").Index(i), "x", "is wrong"), field.Required(field.NewPath("a").Index(i%3), ""))
	}
	if n := testing.AllocsPerRun(100, func() { Message(schema.GroupKind{Group: "g", Kind: "K"}, "n", errs[:16], nil) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// TestMessageIsLinear uses so many errors that apimachinery's NewInvalid would take minutes.
func TestMessageIsLinear(t *testing.T) {
	errs := make(field.ErrorList, 200_000)
	for i := range errs {
		errs[i] = field.Invalid(field.NewPath("spec", "items").Index(i), i, strings.Repeat("no ", 20))
	}
	start := testenv.CPUTime()
	text := Message(schema.GroupKind{Kind: "K"}, "n", errs, nil)
	if took := testenv.CPUTime() - start; took > 10*time.Second {
		t.Errorf("took %v for %d bytes", took, len(text))
	}
	asked := 0
	Message(schema.GroupKind{Kind: "K"}, "n", errs, func() bool { asked++; return true })
	if asked != 1 {
		t.Errorf("went on after it was stopped: asked %d times", asked)
	}
}
