package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestColored(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this system has no /dev/ptmx")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	for _, tc := range []struct {
		w         io.Writer
		variables map[string]string
		want      bool
	}{
		{terminal, nil, true},
		{terminal, map[string]string{"TERM": "dumb"}, false},
		{terminal, map[string]string{"NO_COLOR": "1"}, false},
		{io.Discard, nil, false},
		{io.Discard, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{io.Discard, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{io.Discard, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
		{io.Discard, map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true},
	} {
		if got := colored(tc.w, func(name string) string { return tc.variables[name] }); got != tc.want {
			t.Errorf("%T %v: %t", tc.w, tc.variables, got)
		}
	}
}

// TestGoldenColors compares text with colours with testdata/golden/colors.txt, in which \e is the escape character.
func TestGoldenColors(t *testing.T) {
	golden, err := filepath.Abs("testdata/golden/colors.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata")
	t.Setenv("CLICOLOR_FORCE", "1")
	var got bytes.Buffer
	for _, args := range []string{
		"admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml --field-validation warn",
		"check --skip-other-kinds -v old.yaml rejected.yaml objects.yaml", "diff old.yaml new.yaml",
		"test suites/kites.yaml suites/invalid.yaml -v", "admit admit-new.yaml -o github",
	} {
		_, stdout, _ := invoke(t, "", strings.Fields(args)...)
		fmt.Fprintf(&got, "$ crdeval %s\n%s", args, stdout)
	}
	var plain bytes.Buffer
	colors := colorWriter{w: &plain}
	_, _ = colors.Write([]byte("no newline: rejected"))
	if colors.flush(); plain.String() != "no newline: rejected" {
		t.Errorf("%q", plain.String())
	}
	text := strings.ReplaceAll(got.String(), "\x1b", `\e`)
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != text {
		t.Errorf("%v got\n%s", err, text)
	}
}

// TestProgress checks that the line of progress is removed before other output, and that there are lines elsewhere.
func TestProgress(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "\r1 of 3 objects, 0 rejected, 0 errors\x1b[K\r\x1b[Ka\nb\n\r2 of 3 objects, 1 rejected, 0 errors\x1b[K\r\x1b[K",
		false: "1 of 3 objects, 0 rejected, 0 errors\na\nb\n2 of 3 objects, 1 rejected, 0 errors\n",
	} {
		var out bytes.Buffer
		m := &meter{w: &out, all: 3, terminal: terminal}
		stdout := m.above(&out)
		m.step(0, 0)
		fmt.Fprintln(stdout, "a")
		fmt.Fprintln(stdout, "b")
		m.next = time.Time{}
		m.step(1, 0)
		m.step(1, 0) // too early
		m.end()
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	}
	t.Setenv("TERM", "dumb")
	if m := newMeter("auto", os.Stderr, 1); m.w != nil || m.terminal {
		t.Errorf("%+v", m)
	}
}
