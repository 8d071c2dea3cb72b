package lens

import (
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// Each field of a version is counted once.
func TestCoverage(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f testFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	set, found := compileTest(t, &f, f.Tests[0].Rules)
	if set == nil {
		t.Fatal(found)
	}
	for _, c := range set.Coverage() {
		all := 0
		for name, p := range f.Schemas[c.Between[0]].Properties {
			if name != "apiVersion" && name != "kind" && name != "metadata" {
				all += leaves(&p)
			}
		}
		if sum := c.Carried + c.Read + c.Stashed + c.Dropped; sum != all {
			t.Errorf("%v: %d fields, want %d", c, sum, all)
		}
	}
	if got, want := fmt.Sprint(set.Coverage()), "[{[v1 v1beta1] 8 0 0 0} {[v1beta1 v1] 9 0 2 1}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
