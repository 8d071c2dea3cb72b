// Package callpath counts the functions of the server that one Validate over REST executes.
package callpath

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxFunctions is the number of functions that one Validate over REST executes. Lower it when the path gets shorter.
const maxFunctions = 206

// maxMedian bounds the median length of these functions in lines, so that joining functions does not count as progress.
const maxMedian = 11

const module = "github.com/crdeval/crdeval/"

// TestCallPath executes a Validate over REST in a build with coverage, and bounds the functions of packages below server.
func TestCallPath(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the server with coverage")
	}
	binary := filepath.Join(t.TempDir(), "server")
	run(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"server/...", "-o", binary, "./server")
	// Timers run, too. A function of the path is in each of several requests.
	arguments := []string{"../../../deploy/samples/crds/crontabs.yaml"}
	for range 5 {
		arguments = append(arguments, t.TempDir())
	}
	t.Setenv("GOCOVERDIR", t.TempDir())
	run(t, binary, arguments...)
	var all []function
	for i, directory := range arguments[1:] {
		executed := functions(t, directory)
		if all = slices.DeleteFunc(all, func(f function) bool { return !slices.Contains(executed, f) }); i == 0 {
			all = executed
		}
	}
	byPackage := map[string][]string{}
	var lengths []int
	for _, f := range all {
		name := path.Dir(f.file)
		byPackage[name] = append(byPackage[name], f.name)
		lengths = append(lengths, f.length(t))
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median > maxMedian {
		t.Errorf("the median length of the functions is %d lines, at most %d were expected", median, maxMedian)
	}
	for _, name := range slices.Sorted(maps.Keys(byPackage)) {
		t.Logf("%3d %s: %s", len(byPackage[name]), name, strings.Join(byPackage[name], ", "))
	}
	t.Logf("their median length is %d lines, at most %d are expected", lengths[len(lengths)/2], maxMedian)
	if t.Logf("%3d functions, at most %d are expected", len(all), maxFunctions); len(all) > maxFunctions {
		t.Errorf("one Validate over REST executes %d functions, at most %d were expected", len(all), maxFunctions)
	}
}

// function is a function of the module.
type function struct {
	file, name string
	line       int // on which its body begins
}

// length returns the length of a function in lines.
func (f function) length(t *testing.T) int {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join("../../..", f.file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if begin, end := set.Position(d.Pos()).Line, set.Position(d.End()).Line; begin <= f.line && f.line <= end {
			return end - begin + 1
		}
	}
	t.Fatalf("%s has no function on line %d", f.file, f.line)
	return 0
}

// functions returns the functions that a request has executed.
func functions(t *testing.T, directory string) (executed []function) {
	t.Helper()
	for line := range strings.Lines(run(t, "go", "tool", "covdata", "func", "-i="+directory)) {
		fields := strings.Fields(line) // FILE:LINE: NAME PERCENT
		if len(fields) != 3 || fields[2] == "0.0%" || fields[0] == "total" || strings.Contains(fields[0], "/loadtest/") {
			continue
		}
		file, line, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(fields[0], ":"), module), ":")
		number, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("%s: %v", fields[0], err)
		}
		executed = append(executed, function{file, fields[1], number})
	}
	return executed
}

// run returns the output of a command.
func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}
