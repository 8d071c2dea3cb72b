package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// locate finds the node that upstream's spelling of a path means, and the path itself. The spelling is ambiguous where keys
// hold dots or brackets; the tree decides.
func locate(d *value.Doc, node uint32, text string, at value.Path) (value.Path, uint32) {
	if text == "" {
		return at, node
	}
	switch d.Nodes[node].Kind {
	case value.Object:
		text = strings.TrimPrefix(text, ".")
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			rest, ok := strings.CutPrefix(text, d.Key(c))
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if path, found := locate(d, c, rest, at.With(value.Name(d.Key(c)))); found != 0 {
				return path, found
			}
		}
	case value.Array:
		inner, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "]")
		if i, err := strconv.Atoi(inner); ok && err == nil && text[0] == '[' {
			if c := d.Index(node, i); c != 0 {
				return locate(d, c, rest, at.With(value.At(i)))
			}
		}
	}
	return nil, 0
}
