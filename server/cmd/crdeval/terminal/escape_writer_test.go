package terminal

import (
	"bytes"
	"testing"
)

// TestEscapeWriter writes texts in parts: characters and the begin of a line can be in several writes.
func TestEscapeWriter(t *testing.T) {
	const text = "a é\u202e\u009b\n::b ::c\n\n  ::d:\n:e\xff\xe2"
	const want = "a é\\u202e\\u009b\n\\x3a:b ::c\n\n  \\x3a:d:\n:e\\xff\\xe2"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &EscapeWriter{Writer: &out, Escape: PrintableLines}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			part := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if w.Flush(); out.String() != want {
			t.Errorf("size %d: %q, want %q", size, &out, want)
		}
	}
}
