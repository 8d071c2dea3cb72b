package writecase

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update-writes", false, "write the results of the first surface to the files of writecase")

// Surface is a way to evaluate a write.
type Surface struct {
	Name string
	// Call is set if the surface runs cases of Admit as another call: Validate.
	Call string
	// Run returns the result of a case, or nil if the surface has no such call.
	Run func(t *testing.T, c *Case) Result
	// Reports returns the part of a line that the surface reports, and false if it does not report the line. nil means all.
	Reports func(c *Case, l Line) (Line, bool)
}

// Run runs all cases through surfaces, and compares the results. Each surface must run at least the given part of them,
// in percent.
func Run(t *testing.T, leastPercent int, surfaces ...Surface) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder(), "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	ran, all := make([]int, len(surfaces)), 0
	for _, path := range paths {
		cases, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		results := strings.TrimSuffix(path, ".yaml") + ".txt"
		if *update {
			writeResults(t, results, cases, &surfaces[0])
		}
		readResults(t, results, cases)
		for _, c := range cases {
			all++
			for i := range surfaces {
				t.Run(c.File+"/"+c.Name+"/"+surfaces[i].Name, func(t *testing.T) {
					if surfaces[i].run(t, c) {
						ran[i]++
					}
				})
			}
		}
	}
	for i := range surfaces {
		t.Logf("%s: %d of %d cases", surfaces[i].Name, ran[i], all)
		if ran[i]*100 < all*leastPercent {
			t.Errorf("%s runs only %d of %d cases", surfaces[i].Name, ran[i], all)
		}
	}
}

// run reports whether the surface has the call.
func (s *Surface) run(t *testing.T, c *Case) bool {
	t.Helper()
	if c.Except[s.Name] != "" {
		return false
	}
	got := s.result(t, c)
	if got == nil {
		return false
	}
	if want, got := s.reported(c, c.want.of(s.Call)).text(), s.reported(c, got).text(); got != want {
		t.Errorf("reports\n%s\nwant\n%s", got, want)
	}
	return true
}

// result returns the result of a case in the form of the files.
func (s *Surface) result(t *testing.T, c *Case) Result {
	t.Helper()
	r := s.Run(t, c)
	for i, l := range r {
		r[i] = l.escaped()
	}
	return r
}

func (s *Surface) reported(c *Case, r Result) (kept Result) {
	if s.Reports == nil {
		return r
	}
	for _, l := range r {
		if l, ok := s.Reports(c, l); ok {
			kept = append(kept, l)
		}
	}
	return kept
}

func writeResults(t *testing.T, path string, cases []*Case, s *Surface) {
	t.Helper()
	var b strings.Builder
	for _, c := range cases {
		r := s.result(t, c)
		if r == nil {
			t.Fatalf("%s does not run %s", s.Name, c.Name)
		}
		b.WriteString("== " + c.Name + "\n" + r.text() + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readResults reads the results of all cases, which have the order of the cases.
func readResults(t *testing.T, path string, cases []*Case) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := -1
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "== "); ok {
			if next++; next >= len(cases) || cases[next].Name != name {
				t.Fatalf("%s: the results are not in the order of the cases: %s", path, name)
			}
			cases[next].want = Result{}
			continue
		}
		if line == "" {
			continue
		}
		l, err := parseLine(line)
		if err != nil || next < 0 {
			t.Fatalf("%s: %v", path, err)
		}
		cases[next].want = append(cases[next].want, l)
	}
	if next != len(cases)-1 {
		t.Fatalf("%s has results of %d cases, there are %d: -update-writes in package engine updates it", path, next+1, len(cases))
	}
}
