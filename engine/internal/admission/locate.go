package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// locator finds the nodes of upstream's path texts, in constant time per step.
type locator struct {
	d      *value.Doc
	root   uint32
	finder *value.Finder
	stop   *interrupt.Signal
	steps  int // how many members may still be searched for keys with dots and brackets
}

// maxSearched bounds the search for keys with dots and brackets, in members per answer.
const maxSearched = 1 << 20

// find returns the node of a path text and its path, or 0. Keys with dots or brackets make a text ambiguous: they are
// considered only if no path without such keys matches.
func (l *locator) find(text string) (value.Path, uint32) {
	path := violation.PathOf(text)
	if node := l.finder.Lookup(l.root, path); node != 0 {
		return path, node
	}
	return l.search(l.root, text, nil)
}

// search is find for keys with any characters: it tries the keys of the tree.
func (l *locator) search(node uint32, text string, at value.Path) (value.Path, uint32) {
	if text == "" {
		return at, node
	}
	d := l.d
	switch d.Nodes[node].Kind {
	case value.Object:
		text = strings.TrimPrefix(text, ".")
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			if l.steps--; l.steps < 0 || l.steps&1023 == 0 && l.stop.Stopped() {
				return nil, 0
			}
			rest, ok := strings.CutPrefix(text, d.Key(c))
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if path, found := l.search(c, rest, at.With(value.Name(d.Key(c)))); found != 0 {
				return path, found
			}
		}
	case value.Array:
		inner, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "]")
		if i, err := strconv.Atoi(inner); ok && err == nil && text[0] == '[' {
			if c := l.finder.Child(node, value.At(i)); c != 0 {
				return l.search(c, rest, at.With(value.At(i)))
			}
		}
	}
	return nil, 0
}
