package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
		if got := Colored(tc.w, func(name string) string { return tc.variables[name] }); got != tc.want {
			t.Errorf("%T %v: %t", tc.w, tc.variables, got)
		}
	}
}

// TestUnfinishedLine checks that flush writes a last line without a newline.
func TestUnfinishedLine(t *testing.T) {
	var plain bytes.Buffer
	colors := ColorWriter{w: &plain}
	_, _ = colors.Write([]byte("no newline: rejected"))
	if colors.Flush(); plain.String() != "no newline: rejected" {
		t.Errorf("%q", plain.String())
	}
}

// TestProgress checks that the line of progress is removed before other output, and that there are lines elsewhere.
func TestProgress(t *testing.T) {
	for terminal, want := range map[bool]string{
		true: "\r1 of 3 objects, 0 rejected, 0 errors\x1b[K\r\x1b[Ka\nb\n" +
			"\r2 of 3 objects, 1 rejected, 0 errors\x1b[K\r\x1b[K",
		false: "1 of 3 objects, 0 rejected, 0 errors\na\nb\n2 of 3 objects, 1 rejected, 0 errors\n",
	} {
		var out bytes.Buffer
		m := &Meter{w: &out, all: 3, terminal: terminal}
		stdout := m.Above(&out)
		m.Step(0, 0)
		fmt.Fprintln(stdout, "a")
		fmt.Fprintln(stdout, "b")
		m.next = time.Time{}
		m.Step(1, 0)
		m.Step(1, 0) // too early
		m.End()
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	}
	t.Setenv("TERM", "dumb")
	if m := NewMeter("auto", os.Stderr, 1); m.w != nil || m.terminal {
		t.Errorf("%+v", m)
	}
}
