package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
)

var updatePages = flag.Bool("update-pages", false, "update the scripts in testdata; review the changes before the commit")

// TestPages follows the Kubernetes pages on CustomResourceDefinitions with crdeval instead of kubectl and a cluster. Each
// heading has a script with its manifests and the expected output.
func TestPages(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			runScripts(t, filepath.Join("pages", page), restCommands())
		})
	}
}

// TestProcess runs the command in processes of its own.
func TestProcess(t *testing.T) { runScripts(t, "process", nil) }

// runScripts runs the scripts of a folder in testdata, with the command crdeval and additional commands.
func runScripts(t *testing.T, dir string, commands scriptCommands) {
	t.Helper()
	scripts, err := filepath.Abs(filepath.Join("testdata", dir))
	if err != nil {
		t.Fatal(err)
	}
	all := scriptCommands{"crdeval": crdevalForScript}
	maps.Copy(all, commands)
	testscript.Run(t, testscript.Params{
		Dir: scripts, Cmds: all, UpdateScripts: *updatePages, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}

// scriptCommands are commands of scripts.
type scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string)

// workingDirectory is locked while a command of a script uses the working directory and the variables of this process.
var workingDirectory sync.Mutex

// scriptDownloads has a *download.Reader for each *testscript.TestScript with a server of files. Scripts run at the same
// time, so the variable downloads is set only while a command of the script runs.
var scriptDownloads sync.Map

// crdevalForScript runs a command in this process: with the race detector, hundreds of processes take minutes.
func crdevalForScript(ts *testscript.TestScript, neg bool, args []string) {
	code := runForScript(ts, args)
	if failed := code != 0; failed != neg {
		ts.Fatalf("exit code %d", code)
	}
}

// runForScript runs a command in this process and returns its exit code.
func runForScript(ts *testscript.TestScript, args []string) int {
	workingDirectory.Lock()
	defer workingDirectory.Unlock()
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(before)) }()
	if reader, ok := scriptDownloads.Load(ts); ok {
		defer func(r *download.Reader) { downloads = r }(downloads)
		downloads = reader.(*download.Reader)
	}
	env := environment{stdin: strings.NewReader(""), stdout: ts.Stdout(), stderr: ts.Stderr()}
	return run(context.Background(), args, env)
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

// TestPagesAreMapped: the table in kubernetes-pages.md of the conformance module names every script, and no other.
func TestPagesAreMapped(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "engine", "conformance", "kubernetes-pages.md"))
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
