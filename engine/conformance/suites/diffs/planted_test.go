package diffs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
)

// TestPlanted: each incompatibility of testdata/planted.txt is breaking, and upstream confirms the counterexamples.
func TestPlanted(t *testing.T) {
	file, err := os.ReadFile("testdata/planted.txt")
	if err != nil {
		t.Fatal(err)
	}
	difference := regexp.MustCompile(`<<(.*?)\|\|(.*?)>>`)
	parse := func(schema, side string) []byte {
		var s object
		if err := yaml.Unmarshal([]byte(difference.ReplaceAllString(schema, side)), &s); err != nil {
			t.Fatal(schema, err)
		}
		return crd(object{"type": "object", "properties": object{"f": s}})
	}
	r := &run{runner.New[Counts]("diff", runner.Options{Log: t.Output()})}
	planted := 0
	for line := range strings.Lines(string(file)) {
		name, schema, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		planted++
		n := Counts{Kinds: map[string]int{}, Missed: map[string]int{}}
		r.incompatible(&n, 0, name, parse(schema, "$1"), parse(schema, "$2"))
		if n.Shown != 1 || n.Unconfirmed+n.Rejected > 0 {
			t.Errorf("%s: %s; %d rejected", name, n.String(), n.Rejected)
		}
	}
	if planted == 0 {
		t.Error("testdata/planted.txt has no incompatibility")
	}
}
