package upstreamtests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// Needs lists declarations of the test files that columns use.
	Needs []string
	// Last are Go statements at the end of the program.
	Last string
}

// Table is one table: a variable in a test function, or a test function that passes its rows to a stub.
type Table struct {
	Function string
	// Variable is the slice of structs, or empty if the function is run unchanged.
	Variable string
	// Setup are Go statements before the variable.
	Setup string
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
	rows, stop, err := Start(s)
	if err != nil {
		return nil, err
	}
	return rows, stop()
}

// Start runs the tables, and returns the rows before the program has ended: what Source.Last waits for its input. stop
// closes the input and waits for the end.
func Start(s Source) (rows []Row, stop func() error, err error) {
	dir, err := ModuleDir(s.Module)
	if err != nil {
		return nil, nil, err
	}
	program, err := s.program(filepath.Join(dir, strings.TrimPrefix(strings.TrimPrefix(s.Package, s.Module), "/")))
	if err != nil {
		return nil, nil, err
	}
	run, err := execute(program)
	if err != nil {
		return nil, nil, err
	}
	for d := json.NewDecoder(run.out); ; {
		var r Row
		err := d.Decode(&r)
		if err == nil && r.Table != "" {
			rows = append(rows, r)
			continue
		}
		if err != nil { // it ended without the last row
			return nil, nil, fmt.Errorf("tables of %s: %w", s.Package, errors.Join(err, run.stop()))
		}
		return rows, run.stop, nil
	}
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

// execution is a program that runs.
type execution struct {
	out  io.Reader
	stop func() error
}

// execute runs a program as a package of this module. The package exists only in an overlay.
func execute(program []byte) (e execution, err error) {
	dir, err := os.MkdirTemp("", "crdeval-tables-")
	if err != nil {
		return e, err
	}
	remove := func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		return e, err
	}
	here, err := os.Getwd()
	if err != nil {
		return e, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "extracted", "main.go"): file}})
	if err != nil {
		return e, err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return e, err
	}
	var stderr bytes.Buffer
	run := exec.CommandContext(context.Background(), "go", "run", "-overlay", overlayFile, "./extracted")
	run.Stderr = &stderr
	in, err := run.StdinPipe()
	if err != nil {
		return e, err
	}
	if e.out, err = run.StdoutPipe(); err != nil {
		return e, err
	}
	e.stop = func() error {
		defer remove()
		_ = in.Close()
		if err := run.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, clip(stderr.String(), 4000))
		}
		return nil
	}
	return e, run.Start()
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
