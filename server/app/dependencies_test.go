package app

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained compares the table in CONTRIBUTING.md with the modules that our packages import.
func TestDependenciesAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### Dependencies\n")
	table, _, _ = strings.Cut(table, "\n\nThe oracle")
	explained := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			explained[m[1]] = true
		}
	}
	imported := modulesImported(t)
	for m := range imported {
		if !explained[m] {
			t.Errorf("the table in CONTRIBUTING.md does not say what %s is for", m)
		}
	}
	for m := range explained {
		if !imported[m] {
			t.Errorf("the table in CONTRIBUTING.md explains %s, which no package imports", m)
		}
	}
}

// modulesImported are the modules that packages of ours import themselves, tests included.
func modulesImported(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-json=ImportPath,Imports,Module", "github.com/crdeval/crdeval/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	type module struct {
		Path string
		Main bool
	}
	of, imports := map[string]module{}, map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Module     *module
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil {
			continue
		}
		of[p.ImportPath] = *p.Module
		if p.Module.Main {
			for _, i := range p.Imports {
				imports[i] = true
			}
		}
	}
	all := map[string]bool{}
	for i := range imports {
		if m, ok := of[i]; ok && !m.Main {
			all[m.Path] = true
		}
	}
	return all
}
