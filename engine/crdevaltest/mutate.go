package crdevaltest

import (
	"os"
	"testing"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
)

// Mutate tests the suites of a file with mutants of their CRDs. The test fails if less than a percentage of the mutants
// is killed, and then lists the survivors.
func Mutate(t *testing.T, file string, minScore float64, o mutation.Options) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	suites, _, err := suite.Read(file, text)
	if err != nil {
		t.Fatal(err)
	}
	report, err := mutation.Run(t.Context(), suites, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range report.Errors {
		t.Error(err)
	}
	if report.Score.Mutants == 0 {
		t.Fatalf("%s: no mutants: the suites have no CRDs with rules or bounds", file)
	}
	if percent := report.Score.Percent(); percent < minScore {
		t.Errorf("the mutation score is %.1f%%, less than %g%%\n%s", percent, minScore, report.Text(false))
	}
}
