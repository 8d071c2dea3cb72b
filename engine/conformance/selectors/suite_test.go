package selectors

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/suite"
)

// TestRunAgrees is a short run: what make conformance does at length.
func TestRunAgrees(t *testing.T) {
	var log strings.Builder
	n := Run(suite.Options{N: 1000, Seed: 1, Log: &log})
	if n.Failed() {
		t.Errorf("%s\n%s\n%s", &n, n.Detail(), log.String())
	}
	if n.Cases < 1000 || n.Selected == 0 || n.Declined == 0 || n.Odd == 0 || n.Refused*2 > n.Definitions {
		t.Errorf("a run of little use: %s\n%s", &n, n.Detail())
	}
}
