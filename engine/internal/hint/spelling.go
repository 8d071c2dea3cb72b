package hint

import (
	"bytes"
	"strings"

	"github.com/crdeval/crdeval/internal/value"
)

// scalar is how the document writes a scalar at a position: of a string its content, of anything else the very letters, which in YAML may say more than
// the value: 1.10, on, 0o17.
func (f *Finder) scalar(node uint32, at value.Position) (string, bool) {
	d := f.doc
	switch d.Nodes[node].Kind {
	case value.String:
		return d.Str(node), true
	case value.Array, value.Object, value.Null:
		return "", false
	}
	if f.yaml {
		if word := f.word(at); word != "" {
			return word, true
		}
	}
	return string(d.AppendJSON(nil, node)), true
}

// longestWord is the length up to which a word of YAML is looked at.
const longestWord = 64

// word is the plain scalar of YAML at a position, "" if there is no such: it may be quoted, tagged or an alias.
func (f *Finder) word(at value.Position) string {
	if at.Offset < 0 || at.Offset >= len(f.text) {
		return ""
	}
	rest := f.text[at.Offset:]
	line := rest[:min(len(rest), longestWord+1)]
	if end := bytes.IndexAny(line, "\r\n,]}"); end >= 0 {
		line = line[:end]
	}
	if comment := bytes.Index(line, []byte(" #")); comment >= 0 {
		line = line[:comment]
	}
	word := strings.TrimSpace(string(line))
	if len(word) == 0 || len(word) > longestWord || strings.ContainsAny(word, " \t:\"'") || strings.ContainsAny(word[:1], "&*!|>{[%@`") {
		return ""
	}
	return word
}
