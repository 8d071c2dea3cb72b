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

var updatePages = flag.Bool("update-pages", false, "write what the commands print to the scripts in testdata/pages, to be looked at before it is committed")

// TestPages does what the Kubernetes pages on CustomResourceDefinitions tell a reader to do, heading by heading, with crdeval in the place of
// kubectl and a cluster: a script a heading, with the manifests in it and with what is printed.
func TestPages(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: filepath.Join("testdata", "pages", page), UpdateScripts: *updatePages, RequireExplicitExec: true, RequireUniqueNames: true,
				Cmds: restCommands(),
			})
		})
	}
}

// pages are the folders of scripts.
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

// TestPagesAreMapped holds the table of headings in docs/kubernetes-pages.md to the scripts: it names each, and none that is not there.
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
		t.Errorf("the table names %s, which is not there", name)
	}
	if strings.Count(string(text), "\n| ") < 40 {
		t.Error("the table has fewer lines than the pages have headings")
	}
}
