package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var updatePages = flag.Bool("update-pages", false, "update the scripts in testdata/pages; review the changes before the commit")

// TestPages follows the Kubernetes pages on CustomResourceDefinitions with crdeval instead of kubectl and a cluster. Each
// heading has a script with its manifests and the expected output.
func TestPages(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			runScripts(t, filepath.Join("pages", page), restCommands())
		})
	}
}

// runScripts runs the scripts of a folder in testdata, with additional commands.
func runScripts(t *testing.T, dir string, commands map[string]func(*testscript.TestScript, bool, []string)) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir), Cmds: commands, UpdateScripts: *updatePages,
		RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "GOGC=off", "GOMAXPROCS=1") // hundreds of short processes: a third less CPU time
			return nil
		},
	})
}

// pages returns the folders of scripts.
func pages(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "pages"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestPagesAreMapped: the table in docs/kubernetes-pages.md names every script, and no other.
func TestPagesAreMapped(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "kubernetes-pages.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`pages/([a-z0-9/-]+\.txtar)`).FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	for _, page := range pages(t) {
		scripts, err := filepath.Glob(filepath.Join("testdata", "pages", page, "*.txtar"))
		if err != nil || len(scripts) == 0 {
			t.Fatalf("%s: %d scripts, %v", page, len(scripts), err)
		}
		for _, script := range scripts {
			name := fmt.Sprintf("%s/%s", page, filepath.Base(script))
			if !named[name] {
				t.Errorf("the table has no line for %s", name)
			}
			delete(named, name)
		}
	}
	for name := range named {
		t.Errorf("the table names %s, which does not exist", name)
	}
	if strings.Count(string(text), "\n| ") < 40 {
		t.Error("the table has fewer lines than the pages have headings")
	}
}
