package hint

import (
	"bytes"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// scalar returns the text of a scalar as the document has it: the content of a string, and otherwise the characters of
// the source, which in YAML say more than the value: 1.10, on, 0o17.
func (f *Finder) scalar(node uint32, at value.Position) (string, bool) {
	d := f.doc
	switch d.Nodes[node].Kind {
	case value.String:
		return d.Str(node), true
	case value.Array, value.Object, value.Null:
		return "", false
	}
	if f.yaml {
		if word := f.plainScalar(at); word != "" {
			return word, true
		}
	}
	return string(d.AppendJSON(nil, node)), true
}

// longestWord is the length, in bytes, of the longest plain scalar that is read.
const longestWord = 64

// plainScalar returns the plain YAML scalar at a position, "" if it is quoted, tagged or an alias.
func (f *Finder) plainScalar(at value.Position) string {
	if at.Offset < 0 || at.Offset >= len(f.text) {
		return ""
	}
	rest := f.text[at.Offset:]
	line := rest[:min(len(rest), longestWord+1)]
	if end := bytes.IndexAny(line, "\r\n,]}"); end >= 0 {
		line = line[:end]
	}
	line, _, _ = bytes.Cut(line, []byte(" #"))
	word := strings.TrimSpace(string(line))
	if word == "" || len(word) > longestWord || strings.ContainsAny(word, " \t:\"'") || strings.ContainsAny(word[:1], "&*!|>{[%@`") {
		return ""
	}
	return word
}
