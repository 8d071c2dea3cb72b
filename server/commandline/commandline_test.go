package commandline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/settings"
)

// paint is a command.
type paint struct {
	Walls  []string `arg:"" name:"wall" ext:"yaml" help:"Walls to paint."`
	Colour string   `short:"c" default:"white" enum:"white,blue" help:"The colour."`
	Fast   bool     `help:"Paint *fast*, as in walls/**."`
	From   string   `file:"-" placeholder:"FILE" help:"A file with settings." group:"File"`
}

func (p *paint) Load(set *settings.Set) error {
	if p.From != "" {
		return set.ReadFile(p.From)
	}
	return nil
}

func (p *paint) Validate() error {
	if p.Fast && p.Colour == "blue" {
		return errors.New("--fast cannot be used with --colour=blue")
	}
	return nil
}

var errPaint = errors.New("no paint")

// root declares a program with the command paint, which prints its settings, or fails without a colour.
func root(out *bytes.Buffer) *cobra.Command {
	root := NewRoot("house", "Works on houses.", "Works on houses.\n\n"+strings.Repeat("A long text. ", 10), "house 1")
	p := &paint{}
	root.AddCommand(Declare(&cobra.Command{Use: "paint", Short: "Paint walls.", Example: "  house paint a", Annotations: map[string]string{Instead: "x"}}, "HOUSE_", p,
		func(_ context.Context, set *settings.Set) error {
			if p.Walls[0] == "none" {
				return errPaint
			}
			_, err := fmt.Fprintln(out, p.Walls, p.Colour, p.Fast)
			return err
		}))
	return root
}

func TestExecute(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte("colour: blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOUSE_FROM", file)
	for _, tc := range []struct{ args, out, err string }{
		{"paint a b", "[a b] blue false\n", ""},
		{"paint -c white a --fast", "[a] white true\n", ""},
		{"paint a --fast", "", "--fast cannot be used with --colour=blue (FILE:1 sets colour)"},
		{"paint", "", "the argument WALL is missing: walls to paint"},
		{"paint a --colour=red --fst", "", "--colour: \"red\" is not white or blue\nunknown flag --fst, did you mean \"--fast\"?"},
		{"paint a -x", "", "unknown flag -x"},
		{"paint a -c", "", "--colour has no value: use white or blue"},
		{"paint a --from", "", "--from has no value"},
		{"pant", "", `unknown command pant, did you mean "paint"?`},
		{"help pant", "", `unknown command pant, did you mean "paint"?`},
		{"completion bahs", "", `unknown command bahs, did you mean "bash"?`},
		{"--version", "house 1\n", ""},
	} {
		var out bytes.Buffer
		c, err := Execute(t.Context(), root(&out), strings.Fields(tc.args), &out, &out)
		text := ""
		if err != nil {
			text = strings.ReplaceAll(err.Error(), file, "FILE")
			if hint := Hint(c, err); hint != fmt.Sprintf("Run \"%s --help\" for usage.\n", c.CommandPath()) {
				t.Errorf("%s: %q", tc.args, hint)
			}
		}
		if out.String() != tc.out || text != tc.err {
			t.Errorf("%s: %q, %q; want %q, %q", tc.args, out.String(), text, tc.out, tc.err)
		}
	}
	var out bytes.Buffer
	if c, err := Execute(t.Context(), root(&out), []string{"paint", "none"}, &out, &out); !errors.Is(err, errPaint) || Hint(c, err) != "" {
		t.Error(err)
	}
}

func TestHelp(t *testing.T) {
	const want = `Paint walls.

Usage:
  house paint WALL... [flags]

Arguments:
  WALL        Walls to paint.

Examples:
  house paint a

Flags:
  -c, --colour white|blue   The colour. (default white)
      --fast                Paint *fast*, as in walls/**.
  -h, --help                Print this help.

File flags:
      --from FILE   A file with settings.

Environment variables set flags: HOUSE_ and the name of the flag in capitals,
such as HOUSE_COLOUR.
`
	for _, args := range []string{"paint --help", "help paint", "paint a -h"} {
		var out bytes.Buffer
		if _, err := Execute(t.Context(), root(&out), strings.Fields(args), &out, &out); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s", args, err, out.String())
		}
	}
	var first, second bytes.Buffer
	_, err1 := Execute(t.Context(), root(&first), nil, &first, &first)
	_, err2 := Execute(t.Context(), root(&second), []string{"help"}, &second, &second)
	if err1 != nil || err2 != nil || first.String() != second.String() || !strings.Contains(first.String(), "\n  paint       Paint walls.\n") {
		t.Errorf("%v %v\n%s\n%s", err1, err2, first.String(), second.String())
	}
	for line := range strings.Lines(first.String()) {
		if len(line) > width+1 {
			t.Errorf("a long line: %s", line)
		}
	}
}

func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"paint -c ":     "white blue :4",
		"paint --from ": ":0",
		"paint ":        "yaml :8",
		"paint a ":      "yaml :8",
		"paint --f":     "--fast --from :4",
	} {
		var out, errs bytes.Buffer
		_, err := Execute(t.Context(), root(&out), append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(line, " ")...), &out, &errs)
		if got := strings.Join(strings.Fields(out.String()), " "); err != nil || got != want {
			t.Errorf("%q: %v %s, want %s", line, err, got, want)
		}
	}
}

// TestManPages tests that characters with a meaning in Markdown are in the pages.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := WriteManPages(filepath.Join(dir, "man1"), root(new(bytes.Buffer)), "house 1"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "man1", "house-paint.1"))
	for _, want := range []string{`"house 1" "User Commands"`, `Paint *fast*, as in walls/**\&.`, "WALL: Walls to paint.", `\fB--from\fP=FILE`, `\fB-c\fP, \fB--colour\fP=white`} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("no %s: %v\n%s", want, err, page)
		}
	}
}
