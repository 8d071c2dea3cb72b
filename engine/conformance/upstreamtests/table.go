package upstreamtests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source is a package of upstream whose test files contain tables.
type Source struct {
	// Module and Package are import paths.
	Module, Package string
	Tables          []Table
	// Stubs are Go declarations that replace those with the same names: functions that tests call to report.
	Stubs map[string]string
	// Imports are those of the stubs, by name.
	Imports map[string]string
}

// Table is one table: a variable in a test function, or a test function that passes its rows to a stub.
type Table struct {
	Function string
	// Variable is the slice of structs, or empty if the function is run unchanged.
	Variable string
	// Columns are Go expressions over row, an element of the variable, by the names of Row's fields. Fields without a
	// column are removed.
	Columns map[string]string
	// Keep lists fields that the columns need but do not name.
	Keep []string
}

// Row is a row of a table. Columns that the table lacks are empty.
type Row struct {
	Table, Name            string
	Schema, Obj, Old       json.RawMessage
	Rule                   string
	Rules                  []string
	Costs                  map[string]uint64 // by rule
	Errors                 map[string]string // part of the error, by rule
	Texts                  []string          // parts of errors
	Min, Max, Cost, Budget uint64
	Message, MessageText   string
	Root, Old2, Rejected   bool
	Variables              int
}

// Read runs the tables.
func Read(s Source) ([]Row, error) {
	dir, err := ModuleDir(s.Module)
	if err != nil {
		return nil, err
	}
	program, err := s.program(filepath.Join(dir, strings.TrimPrefix(strings.TrimPrefix(s.Package, s.Module), "/")))
	if err != nil {
		return nil, err
	}
	out, err := execute(program)
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", s.Package, err)
	}
	var rows []Row
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var r Row
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("tables of %s: %w", s.Package, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// ModuleDir returns the directory of a dependency in the module cache. It downloads the dependency if necessary.
func ModuleDir(module string) (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", module).Output()
	var info struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &info)
	}
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return info.Dir, nil
}

// execute runs a program as a package of this module. The package exists only in an overlay.
func execute(program []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "crdeval-tables-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "extracted", "main.go"): file}})
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	run := exec.CommandContext(context.Background(), "go", "run", "-overlay", overlayFile, "./extracted")
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, clip(stderr.String(), 4000))
	}
	return out, nil
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
