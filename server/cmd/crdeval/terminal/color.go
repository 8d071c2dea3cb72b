// Package terminal prints to terminals: the colours of text (color.go), the progress of a long run (meter.go), and texts
// of manifests without control characters (escape.go, escape_writer.go).
package terminal

import (
	"bytes"
	"io"
	"os"
	"regexp"
)

// Colored reports whether text is printed in colours. NO_COLOR disables colours. CLICOLOR_FORCE enables them
// everywhere, such as in the log of a CI system. Otherwise, only terminals have colours, unless TERM is dumb.
func Colored(w io.Writer, variable func(string) string) bool {
	force := variable("CLICOLOR_FORCE")
	switch {
	case variable("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return IsTerminal(w) && variable("TERM") != "dumb"
}

// IsTerminal reports whether a writer, or the writer that its method Unwrap returns, is a terminal.
func IsTerminal(w io.Writer) bool {
	switch w := w.(type) {
	case interface{ Unwrap() io.Writer }:
		return IsTerminal(w.Unwrap())
	case *os.File:
		info, err := w.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return false
}

// Codes of colours in ANSI escape sequences.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// colors lists the parts of lines that have a colour. The first group of an expression is the part.
var colors = []struct {
	part  *regexp.Regexp
	color string
}{
	{regexp.MustCompile(`^\S.*?: (rejected|failed|not converted|breaking)\b`), Red},
	{regexp.MustCompile(`^\S.*?: (error): `), Red},
	{regexp.MustCompile(`^\S.*?: (allowed|accepted|passed|compatible|identical)\b`), Green},
	{regexp.MustCompile(`^\S.*?: (care|skipped)\b`), Yellow},
	{regexp.MustCompile(`^  (warning): `), Yellow},
	{regexp.MustCompile(`^    (hint): `), Cyan},
	{regexp.MustCompile(`^  (\S+?:\d+(?::\d+)?): `), Cyan},
}

// countLine matches the line of counts at the end of a run.
var countLine = regexp.MustCompile(`^\d+ [A-Za-z]+s?: `)

// ColorWriter adds colours to lines of text.
type ColorWriter struct {
	w       io.Writer
	partial []byte // of a line
}

// NewColorWriter returns a writer that writes to w with colours.
func NewColorWriter(w io.Writer) *ColorWriter { return &ColorWriter{w: w} }

// Unwrap returns the writer without colours.
func (c *ColorWriter) Unwrap() io.Writer { return c.w }

// Write implements io.Writer.
func (c *ColorWriter) Write(text []byte) (int, error) {
	c.partial = append(c.partial, text...)
	var out bytes.Buffer
	for {
		end := bytes.IndexByte(c.partial, '\n')
		if end < 0 {
			break
		}
		out.Write(colorLine(c.partial[:end]))
		out.WriteByte('\n')
		c.partial = c.partial[end+1:]
	}
	_, err := c.w.Write(out.Bytes())
	return len(text), err
}

// Flush writes the last line if it does not end with a newline.
func (c *ColorWriter) Flush() {
	_, _ = c.w.Write(c.partial)
	c.partial = nil
}

func colorLine(line []byte) []byte {
	if countLine.Match(line) {
		return line
	}
	for _, of := range colors {
		if m := of.part.FindSubmatchIndex(line); m != nil {
			var b bytes.Buffer
			b.Write(line[:m[2]])
			b.WriteString("\x1b[" + of.color + "m")
			b.Write(line[m[2]:m[3]])
			b.WriteString("\x1b[0m")
			b.Write(line[m[3]:])
			return b.Bytes()
		}
	}
	return line
}
