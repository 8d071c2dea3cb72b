package main

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// escapeWriter escapes control characters and the commands of CI systems in everything that a command prints. Texts
// that must have one line pass through terminal.OneLine before. Its methods can be called concurrently.
type escapeWriter struct {
	io.Writer
	escape func(string) string

	mu      sync.Mutex
	begun   bool   // the line that is being written has characters
	partial []byte // of a character, or of the begin of a line that can become a command
}

// Unwrap returns the writer that the text goes to.
func (w *escapeWriter) Unwrap() io.Writer { return w.Writer }

// Write implements io.Writer.
func (w *escapeWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := text
	if len(w.partial) > 0 {
		all = slices.Concat(w.partial, text)
	}
	end := len(all)
	for back := 1; back <= min(utf8.UTFMax-1, len(all)); back++ {
		if first := all[len(all)-back]; utf8.RuneStart(first) {
			if !utf8.FullRune(all[len(all)-back:]) {
				end = len(all) - back
			}
			break
		}
	}
	line := bytes.LastIndexByte(all[:end], '\n') + 1
	if (line > 0 || !w.begun) && len(bytes.TrimLeft(all[line:end], " \t:")) == 0 {
		end = line
	}
	w.partial = bytes.Clone(all[end:])
	return len(text), w.write(string(all[:end]))
}

// write writes complete characters.
func (w *escapeWriter) write(text string) error {
	const mark = "x" // the text continues a line
	continues := w.begun
	if text != "" {
		w.begun = text[len(text)-1] != '\n'
	}
	if continues {
		text = w.escape(mark + text)[len(mark):]
	} else {
		text = w.escape(text)
	}
	_, err := io.WriteString(w.Writer, text)
	return err
}

// Flush writes what is left.
func (w *escapeWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.partial) > 0 {
		_ = w.write(string(w.partial))
	}
	w.partial = nil
}

// unescaped returns the writer below an escapeWriter, for the control characters of crdeval itself.
func unescaped(w io.Writer) io.Writer {
	if e, ok := w.(*escapeWriter); ok {
		return e.Writer
	}
	return w
}

// escapeOf returns how the output of a command is escaped. nil: the command prints no text of manifests.
func escapeOf(command, output string) func(string) string {
	switch {
	case command == "openapi", output == "json", output == "sarif", command == "migrate":
		return terminal.PrintableJSON
	case output == "github": // its lines are commands
		return terminal.Printable
	case command == "admit", command == "check", command == "convert", command == "crds", command == "diff",
		command == "discover", command == "explain", command == "generate", command == "test":
		return terminal.PrintableLines
	}
	return nil
}
