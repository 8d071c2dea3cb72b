package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
)

// colored reports whether text is printed in colours. On a terminal, it is unless NO_COLOR is set or TERM is dumb. With
// CLICOLOR_FORCE, it is everywhere, such as in the log of a CI system, unless NO_COLOR is set.
func colored(w io.Writer, variable func(string) string) bool {
	force := variable("CLICOLOR_FORCE")
	switch {
	case variable("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return isTerminal(w) && variable("TERM") != "dumb"
}

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	switch w := w.(type) {
	case *countingWriter:
		return isTerminal(w.Writer)
	case *colorWriter:
		return isTerminal(w.w)
	case *os.File:
		info, err := w.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return false
}

// Codes of colours.
const (
	red, green, yellow, cyan = "31", "32", "33", "36"
)

// colors lists the parts of lines that have a colour. The first group of an expression is the part.
var colors = []struct {
	part  *regexp.Regexp
	color string
}{
	{regexp.MustCompile(`^\S.*?: (rejected|failed|not converted|breaking)\b`), red},
	{regexp.MustCompile(`^\S.*?: (error): `), red},
	{regexp.MustCompile(`^\S.*?: (allowed|accepted|passed|compatible|identical)\b`), green},
	{regexp.MustCompile(`^\S.*?: (care|skipped)\b`), yellow},
	{regexp.MustCompile(`^  (warning): `), yellow},
	{regexp.MustCompile(`^    (hint): `), cyan},
	{regexp.MustCompile(`^  (\S+?:\d+(?::\d+)?): `), cyan},
}

// countLine matches the line of counts at the end of a run.
var countLine = regexp.MustCompile(`^\d+ [A-Za-z]+s?: `)

// colorWriter adds colours to lines of text.
type colorWriter struct {
	w       io.Writer
	partial []byte // of a line
}

// Write implements io.Writer.
func (c *colorWriter) Write(text []byte) (int, error) {
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

// flush writes the last line if it does not end with a newline.
func (c *colorWriter) flush() {
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
