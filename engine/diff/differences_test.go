package diff_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestManyDifferences checks that the omitted differences of an object with very many are counted.
func TestManyDifferences(t *testing.T) {
	testenv.SingleGoroutine(t)
	const n, most = 100_000, 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	var fields strings.Builder
	for i := range n {
		fmt.Fprintf(&fields, `,"u%07d":1`, i)
	}
	object := engine.JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"default"},"spec":{` +
		fields.String()[1:] + `}}`))
	closed, open := compileYAML(t, thing("{type: object}", "")), compileYAML(t, thing("{type: object, x-kubernetes-preserve-unknown-fields: true}", ""))
	replayed, err := diff.Replay(ctx, closed, open, []engine.ObjectWrite{engine.Create{Object: object}}, engine.FieldValidationWarn)
	if err != nil {
		t.Fatal(err)
	}
	r := replayed[0]
	if r.Err != nil || len(r.Differences)+r.OmittedDifferences != n || r.Differences[0].Outcome != diff.PrunedOtherwise {
		t.Errorf("%v, %d differences and %d more, want %d that are pruned otherwise", r.Err, len(r.Differences), r.OmittedDifferences, n)
	}
}
