package terminal

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// EscapeWriter escapes control characters and the commands of CI systems in everything that a command prints. Texts that
// must have one line pass through OneLine before. Its methods can be called concurrently.
type EscapeWriter struct {
	io.Writer
	Escape func(string) string // Printable, PrintableJSON or PrintableLines

	mu      sync.Mutex
	begun   bool   // the line that is being written has characters
	partial []byte // of a character, or of the begin of a line that can become a command
}

// Unwrap returns the writer that the text goes to.
func (w *EscapeWriter) Unwrap() io.Writer { return w.Writer }

// Write implements io.Writer.
func (w *EscapeWriter) Write(text []byte) (int, error) {
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
func (w *EscapeWriter) write(text string) error {
	const mark = "x" // the text continues a line
	continues := w.begun
	if text != "" {
		w.begun = text[len(text)-1] != '\n'
	}
	if continues {
		text = w.Escape(mark + text)[len(mark):]
	} else {
		text = w.Escape(text)
	}
	_, err := io.WriteString(w.Writer, text)
	return err
}

// Flush writes what is left.
func (w *EscapeWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.partial) > 0 {
		_ = w.write(string(w.partial))
	}
	w.partial = nil
}

// Unescaped returns the writer below an EscapeWriter, for the control characters of crdeval itself.
func Unescaped(w io.Writer) io.Writer {
	if e, ok := w.(*EscapeWriter); ok {
		return e.Writer
	}
	return w
}
