package cover

import (
	"os"
	"strings"
	"testing"
)

// TestList reads the reviewed list. Each line must name existing code.
func TestList(t *testing.T) {
	f, err := os.Open("../unreachable.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	exclusions, err := Exclusions(f)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range Packages {
		known[p.Path] = true
	}
	for _, e := range exclusions {
		if dir := e.File[:strings.LastIndexByte(e.File, '/')]; !known[dir] {
			t.Errorf("%s is in no package that is measured", e.File)
		}
	}
}

func TestExclusionsRefuse(t *testing.T) {
	for _, line := range []string{"a/b.go 12", "a/b.go 12:", "a/b.go: reason", "k8s.io/kube-openapi/pkg/validation/validate/values.go NoSuchFunction: reason"} {
		if _, err := Exclusions(strings.NewReader(line)); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

func TestSummarize(t *testing.T) {
	p := Packages[0].Path
	lines := Summarize([]Block{
		{File: p + "/a.go", From: 1, To: 3, Statements: 4, Hits: 1},
		{File: p + "/a.go", From: 5, To: 6, Statements: 2},
		{File: p + "/a.go", From: 8, To: 9, Statements: 3},
		{File: p + "/deeper/a.go", From: 1, To: 2, Statements: 100},
	}, []*Exclusion{{File: p + "/a.go", lines: [][2]int{{1, 6}}}})
	l := lines[0]
	if l.Reached != 4 || l.Reachable != 7 || l.Excluded != 2 || len(l.Missed) != 1 || !l.Failed() {
		t.Errorf("%+v", l)
	}
}
