package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// result is the result of a run in a module.
type result struct {
	module
	exit    int
	time    time.Duration
	lines   []*line
	summary *summary // nil: the output has none

	compared    int // objects that both sides have
	differences map[string][]string
}

// line is a line of -o json.
type line struct {
	File, Kind, Name, Skipped, Error string
	Document, Item                   int
	Line                             int
	Verdict                          *struct {
		Allowed    bool
		Rejection  struct{ Message string }
		Violations []struct{ Type, Field, Message string }
	}
	Accepted *bool // of a CRD
	Report   struct{ Rejection struct{ Message string } }
	Summary  *summary
}

// summary is the last line of -o json.
type summary struct {
	Evaluated, Allowed, Rejected, Ambiguous int
	BuiltIn                                 int
	WithoutCRD                              map[string]int // by group
	Skipped                                 map[string]int // by kind
	Unreadable                              int
}

// admit runs crdeval in a repository and reads its output. Its exit code is not an error.
func (r *result) admit(ctx context.Context, binary, root string) error {
	cmd := exec.CommandContext(ctx, binary, "admit", "--repository", "-o", "json", ".")
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	r.time = time.Since(begin)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		r.exit, err = exit.ExitCode(), nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(root+".out.json", stdout.Bytes(), 0o600),
		os.WriteFile(root+".err.txt", stderr.Bytes(), 0o600)); err != nil {
		return err
	}
	in := bufio.NewScanner(&stdout)
	in.Buffer(nil, 256<<20)
	for in.Scan() {
		l := &line{}
		if err := json.Unmarshal(in.Bytes(), l); err != nil {
			return fmt.Errorf("output of crdeval: %w: %s", err, in.Text())
		}
		if l.Summary != nil {
			r.summary = l.Summary
			continue
		}
		r.lines = append(r.lines, l)
	}
	if len(r.lines) == 0 {
		r.differ("no output", "stderr: %s", bytes.TrimSpace(stderr.Bytes()))
	}
	return in.Err()
}

// skippedFiles returns the names of skipped files. A skipped document of a file is not one.
func (r *result) skippedFiles() map[string]bool {
	all := map[string]bool{}
	for _, l := range r.lines {
		if l.Skipped != "" && l.Document == 0 {
			all[l.File] = true
		}
	}
	return all
}

func (r *result) differ(kind, format string, args ...any) {
	r.differences[kind] = append(r.differences[kind], fmt.Sprintf(format, args...))
}
