package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
)

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../testdata/golden/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g writes.Golden
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			for name, subject := range map[string]writes.Subject{"upstream": writes.Upstream{}, "engine": ours.Engine{}} {
				check(t, name, subject, g)
			}
		})
	}
}

func check(t *testing.T, name string, s writes.Subject, g writes.Golden) {
	t.Helper()
	crd, request := g.Case()
	var d writes.Definition
	var answer oracle.Answer
	if old := g.Previous.Keep(); old != nil {
		d, answer = s.Update(old, crd)
	} else {
		d, answer = s.Register(crd)
	}
	if request == nil {
		for _, diff := range oracle.Compare(g.Answer, answer) {
			t.Errorf("%s (upstream is the file here): %s", name, diff)
		}
		return
	}
	if d == nil {
		t.Fatalf("%s does not take the definition: %+v", name, answer)
	}
	for _, diff := range writes.Compare(*request, g.Answer, d.Answer(*request)) {
		t.Errorf("%s (upstream is the file here): %s", name, diff)
	}
	if c, ok := d.(writes.Checked); ok {
		for _, diff := range c.Check(*request) {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
