package diff_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/host"
)

// TestReplayWithoutMemory checks that a replay reports an error of the hook, wherever it occurs, and never a result that
// lacks a comparison.
func TestReplayWithoutMemory(t *testing.T) {
	const schema = `{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"}%s}}}`
	old, new := compileYAML(t, thing(fmt.Sprintf(schema, ""), "")), compileYAML(t, thing(fmt.Sprintf(schema, `,"maxItems":1`), ""))
	object := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"list":[` +
		strings.Repeat("0,", 200_000) + `0]}}`
	errNoMemory := errors.New("no memory")
	items := []engine.ObjectWrite{engine.Create{Object: engine.JSON([]byte(object))}}
	all, err := diff.Replay(t.Context(), old, new, items, engine.FieldValidationWarn)
	if err != nil || !slices.Contains(all[0].Outcomes, diff.NewlyRejected) {
		t.Fatal(all, err)
	}
	for last := 1; ; last++ {
		calls := 0
		found, err := diff.Replay(host.WithHooks(t.Context(), &host.Hooks{Grow: func(n int64) error {
			if n > 0 {
				calls++
			}
			if n > 0 && calls == last {
				return errNoMemory
			}
			return nil
		}}), old, new, items, engine.FieldValidationWarn)
		if err != nil {
			t.Fatal(err)
		}
		if calls < last {
			if last < 5 {
				t.Errorf("%d calls of the hook", calls)
			}
			return
		}
		if !errors.Is(found[0].Err, errNoMemory) && !slices.Equal(found[0].Outcomes, all[0].Outcomes) { // without hints
			t.Errorf("no memory at call %d: outcomes %v, %v", last, found[0].Outcomes, found[0].Err)
		}
	}
}
