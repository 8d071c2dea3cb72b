package violation

import (
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestBudget(t *testing.T) {
	r := NewBudget(tree.Limits{MaxViolations: 3, MaxViolationBytes: 100})
	if !r.Take(10, false) || !r.Take(80, false) || r.Err() != nil {
		t.Fatal("two violations are over the budget")
	}
	for range 2 {
		if !r.Take(10, true) {
			t.Fatal("a trial is over the budget")
		}
	}
	r.Give(10)
	if !r.Fits() || r.Err() != nil {
		t.Error("over the budget after the trial")
	}
	if r.Take(1, false) || r.Fits() || r.Err() == nil {
		t.Error("a fourth violation is within the budget")
	}
	const want = "list of violations of at least 4 violations exceeds the limit of 3 violations: " +
		"fix the reported errors, or split the document"
	if got := fmt.Sprint(r.Err()); got != want {
		t.Errorf("%s", got)
	}
	r = NewBudget(tree.Limits{MaxViolations: 3, MaxViolationBytes: 100})
	if r.Take(101, false) || r.Err() == nil {
		t.Error("101 bytes are within the budget")
	}
	r = nil
	if !r.Take(1<<40, false) || !r.Fits() || r.Err() != nil {
		t.Error("the nil Budget has a bound")
	}
	if l := (tree.Limits{}).WithDefaults(); l.MaxViolations != 10_000 || l.MaxViolationBytes != 8<<20 {
		t.Errorf("by default %d violations, %d bytes", l.MaxViolations, l.MaxViolationBytes)
	}
}
