package publish_test

import (
	"context"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/publish"
)

// TestAllocationsOfTables: a further row of a stored object costs nothing, whatever its version.
func TestAllocationsOfTables(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	d := fixture.Compile(t, storedCRD)
	const read = `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	allocations := func(rows int) float64 {
		var objects []engine.Document
		for range rows / 2 {
			objects = append(objects, widget("v1", read, `,"spec":{"size":2}`), widget("v1beta1", read, `,"spec":{"shade":"x"}`))
		}
		return testing.AllocsPerRun(20, func() {
			if _, err := publish.TableOf(context.Background(), d, "v1", objects, publish.TableOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	// Only the buffer of the table grows.
	if few, many := allocations(10), allocations(500); many-few > 20 {
		t.Errorf("%v allocations for 10 rows, %v for 500", few, many)
	}
}
