package definition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// lifted maps upstream's paths of parts that all versions share to their paths in a v1 manifest.
var lifted = []struct{ upstream, written string }{
	{"spec.validation.openAPIV3Schema", "spec.versions[0].schema.openAPIV3Schema"},
	{"spec.validation", "spec.versions[0].schema"},
	{"spec.subresources", "spec.versions[0].subresources"},
	{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
	{"spec.selectableFields", "spec.versions[0].selectableFields"},
	{"spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"},
	{"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"},
}

// locator finds positions in one manifest.
type locator struct {
	d      *tree.Doc
	root   uint32
	finder *tree.Finder
	folded map[uint32]*foldedKeys // members of objects by lowercase name

	path tree.Path // current path of walk
	// The result of walk: the longest path found, its node, and the rest of the text.
	best tree.Path
	node uint32
	rest string
}

func newLocator(d *tree.Doc, root uint32) *locator {
	return &locator{d: d, root: root, finder: d.Finder()}
}

// locate returns the path that a field error means, its deepest existing ancestor, and the node of that ancestor. Field
// errors use paths of upstream's internal form, which differ from those of v1 and v1beta1 manifests.
func (l *locator) locate(text string) (path, there tree.Path, node uint32) {
	l.follow(text)
	best, node, rest := l.best, l.node, l.rest
	for _, lift := range lifted {
		tail, ok := strings.CutPrefix(text, lift.upstream)
		if rest == "" || !ok || tail != "" && tail[0] != '.' && tail[0] != '[' {
			continue
		}
		if l.follow(lift.written + tail); l.rest == "" || len(l.best) > len(best) {
			best, node, rest = l.best, l.node, l.rest
		}
	}
	return append(best[:len(best):len(best)], violation.PathOf(rest)...), best, node
}

func (l *locator) follow(text string) {
	l.path, l.best, l.node, l.rest = l.path[:0], nil, l.root, text
	l.walk(l.root, text)
}

// walk follows the text through the tree as far as possible. Keys may contain dots and brackets; the tree shows where
// they end.
func (l *locator) walk(node uint32, text string) {
	switch n := &l.d.Nodes[node]; {
	case text == "":
	case n.Kind == tree.Object:
		l.members(node, text)
	case n.Kind == tree.Array && text[0] == '[':
		inner, tail, ok := strings.Cut(text[1:], "]")
		if i, err := strconv.Atoi(inner); ok && err == nil && i >= 0 {
			if c := l.finder.Child(node, tree.At(i)); c != 0 {
				l.try(c, tree.At(i), tail)
			}
		}
	}
	if len(text) < len(l.rest) {
		l.best, l.node, l.rest = l.path.Clone(), node, text
	}
}

// members looks up the keys that the text can begin with. It tries the lengths of the node's keys only, so that its
// work is bounded by their sum.
func (l *locator) members(node uint32, text string) {
	keys, plain := l.fold(node), strings.TrimPrefix(text, ".")
	for _, n := range keys.lengths {
		if text[0] == '[' && n+1 < len(text) && text[n+1] == ']' {
			if c := l.finder.Field(node, text[1:n+1]); c != 0 {
				l.try(c, tree.Entry(l.d.Key(c)), text[n+2:])
			}
		}
	}
	// Upstream names printer columns and selectable fields by Go field names, such as JSONPath.
	for _, n := range keys.lengths {
		if n > len(plain) || n < len(plain) && plain[n] != '.' && plain[n] != '[' {
			continue
		}
		for _, c := range keys.members[strings.ToLower(plain[:n])] {
			l.try(c, tree.Name(l.d.Key(c)), plain[n:])
		}
	}
}

// foldedKeys are the keys of an object.
type foldedKeys struct {
	members map[string][]uint32 // by key in lower case
	lengths []int               // of the keys in bytes, ascending, each once
}

func (l *locator) fold(node uint32) *foldedKeys {
	known := l.folded[node]
	if known == nil {
		known = &foldedKeys{members: make(map[string][]uint32, l.d.Len(node))}
		for c := l.d.Nodes[node].First; c != 0; c = l.d.Nodes[c].Next {
			key := l.d.Key(c)
			lower := strings.ToLower(key)
			known.members[lower] = append(known.members[lower], c)
			known.lengths = append(known.lengths, len(key))
		}
		slices.Sort(known.lengths)
		known.lengths = slices.Compact(known.lengths)
		if l.folded == nil {
			l.folded = map[uint32]*foldedKeys{}
		}
		l.folded[node] = known
	}
	return known
}

func (l *locator) try(c uint32, step tree.Segment, tail string) {
	if tail != "" && tail[0] != '.' && tail[0] != '[' {
		return
	}
	l.path = append(l.path, step)
	l.walk(c, tail)
	l.path = l.path[:len(l.path)-1]
}

// schemaPointer returns the part of a path below openAPIV3Schema as a JSON pointer, or "".
func schemaPointer(p tree.Path) string {
	for i := range p {
		if !p[i].IsIndex() && p[i].Key() == "openAPIV3Schema" {
			return p[i+1:].Pointer()
		}
	}
	return ""
}
