// Package callpath counts the functions of the server that one Validate over REST executes.
package callpath

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxFunctions is the number of functions that one Validate over REST executes. Lower it when the path gets shorter.
const maxFunctions = 207

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
	var all []string
	for i, directory := range arguments[1:] {
		executed := functions(t, directory)
		if all = slices.DeleteFunc(all, func(f string) bool { return !slices.Contains(executed, f) }); i == 0 {
			all = executed
		}
	}
	byPackage := map[string][]string{}
	for _, f := range all {
		name, function, _ := strings.Cut(f, ": ")
		byPackage[name] = append(byPackage[name], function)
	}
	for _, name := range slices.Sorted(maps.Keys(byPackage)) {
		t.Logf("%3d %s: %s", len(byPackage[name]), name, strings.Join(byPackage[name], ", "))
	}
	if t.Logf("%3d functions, at most %d are expected", len(all), maxFunctions); len(all) > maxFunctions {
		t.Errorf("one Validate over REST executes %d functions, at most %d were expected", len(all), maxFunctions)
	}
}

// functions returns the functions that a request has executed, as PACKAGE: NAME.
func functions(t *testing.T, directory string) (executed []string) {
	t.Helper()
	for line := range strings.Lines(run(t, "go", "tool", "covdata", "func", "-i="+directory)) {
		fields := strings.Fields(line) // FILE:LINE: NAME PERCENT
		if len(fields) != 3 || fields[2] == "0.0%" || fields[0] == "total" || strings.Contains(fields[0], "/loadtest/") {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(fields[0], module), ":")
		executed = append(executed, fmt.Sprintf("%s: %s", path.Dir(file), fields[1]))
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
