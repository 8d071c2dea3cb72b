package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// openBoat is the CRD of boats with a field of spec, whose field any keeps everything.
func openBoat() string {
	return crdOf("              a: {type: string}\n          any: {x-kubernetes-preserve-unknown-fields: true}\n")
}

// TestIndentedObject checks that deep objects do not become YAML that is thousands of times as long.
func TestIndentedObject(t *testing.T) {
	head := "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a}\nany: "
	for _, items := range []string{strings.Repeat("1,", 50_000), `"` + strings.Repeat(`a\n`, 50_000) + `",`, `"` + strings.Repeat("a ", 50_000) + `",`} {
		any := strings.Repeat("{a: ", 900) + "[" + items + "1]" + strings.Repeat("}", 900)
		r := evaluate(t.Context(), Input{CRD: openBoat(), Object: head + any})
		if r.Object == nil || !r.Object.Allowed {
			t.Fatalf("%+v", r.Errors)
		}
		if n := len(r.Object.Result) + len(r.Object.Submitted); n > 1<<20 {
			t.Errorf("%.10s: %d bytes", items, n)
		}
		if !json.Valid([]byte(r.Object.Result)) {
			t.Errorf("%.10s: the result is %.100s", items, r.Object.Result)
		}
	}
}

// TestManyChanges checks that changes beyond the limit are counted once.
func TestManyChanges(t *testing.T) {
	testenv.SingleGoroutine(t)
	var fields strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&fields, "  f%d: 1\n", i)
	}
	object := "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec:\n" + fields.String()
	for _, validation := range []string{"Strict", "Ignore"} {
		r := evaluate(t.Context(), Input{CRD: openBoat(), Object: object, FieldValidation: validation})
		if r.Object == nil || len(r.Object.Changes) != maxChanges {
			t.Fatalf("%s: %+v", validation, r)
		}
		all := 3000 // and the set metadata
		if n := len(r.Object.Changes) + r.Object.OmittedChanges; n < all || n > all+1 {
			t.Errorf("%s: %d changes, want about %d", validation, n, all)
		}
	}
}

// TestLongPaths checks that the paths of differences are bounded in total.
func TestLongPaths(t *testing.T) {
	f := differences{}
	before, after := map[string]any{}, map[string]any{}
	for i := range 100 {
		before[fmt.Sprint(i)], after[fmt.Sprint(i)] = 1, 2
	}
	f.at(strings.Repeat("k", maxChangeBytes/50), func() { f.compare(before, after) })
	if len(f.list) < 40 || len(f.list)+f.omitted != 100 || f.bytes < maxChangeBytes {
		t.Errorf("%d changes, %d omitted", len(f.list), f.omitted)
	}
}
