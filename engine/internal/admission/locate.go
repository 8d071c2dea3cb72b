package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// locator finds the places of one tree that upstream's spellings of paths mean, in constant time a step however many there are.
type locator struct {
	d      *value.Doc
	root   uint32
	finder *value.Finder
	stop   *interrupt.Signal
	steps  int // that may still be taken in search of keys with dots and brackets
}

// mostSearched bounds what is searched for odd keys, in members looked at for one answer.
const mostSearched = 1 << 20

func newLocator(d *value.Doc, root uint32, s *interrupt.Signal) *locator {
	return &locator{d: d, root: root, finder: d.Finder(), stop: s, steps: mostSearched}
}

// find finds the node that a spelling means, and the path to it; 0 if it is not there, or not found in time. The spelling is ambiguous where keys
// hold dots or brackets: they are thought of where the tree has no place that is written so without them.
func (l *locator) find(text string) (value.Path, uint32) {
	path := violation.PathOf(text)
	if node := l.finder.Lookup(l.root, path); node != 0 {
		return path, node
	}
	return l.search(l.root, text, nil)
}

// search is find for keys of any kind: the tree tells where they end.
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
			if c := l.finder.Element(node, i); c != 0 {
				return l.search(c, rest, at.With(value.At(i)))
			}
		}
	}
	return nil, 0
}
