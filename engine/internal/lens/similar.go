package lens

import (
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// question asks for a similar path if a version lacks the path p. known is the part of p that the version has. The
// result is "" without a similar path.
func (b *pairing) question(s int, p, known path) string {
	of, _ := known.resolve(b.sides[s].Schema)
	name, found := hint.Nearest(p[len(known)], schema.Names(of.Properties))
	if !found {
		return ""
	}
	similar := append(known.with(name), p[len(known)+1:]...)
	if exists, _ := similar.resolve(b.sides[s].Schema); exists == nil {
		similar = known.with(name)
	}
	return fmt.Sprintf("did you mean %s? ", similar)
}

// typedPath is a path and its schema.
type typedPath struct {
	path
	schema *schema.Props
}

// similar returns the field of the target that is most similar to a field that the target lacks. The source lacks it,
// and no rule names it. The result is nil without a similar field.
func (w *walker) similar(sp path, src *schema.Props) path {
	if !w.searched {
		w.searched = true
		w.search(nil, w.dst.Schema)
	}
	item, _ := w.counterpart(w.from, sp.item())
	var paths []path
	var names []string
	for _, t := range w.unpaired {
		if slices.Equal(t.item(), item) && compare(src, t.schema).mismatch == "" {
			paths, names = append(paths, t.path), append(names, t.path[len(t.path)-1])
		}
	}
	name, found := hint.Nearest(sp[len(sp)-1], names)
	if !found {
		return nil
	}
	return paths[slices.Index(names, name)]
}

// search collects the fields of the target that the source lacks and that no rule names.
func (w *walker) search(p path, s *schema.Props) {
	for _, name := range steps(s) {
		at, below := p.with(name), step(s, name)
		switch n := w.dst.named.find(at); {
		case at.isHead(), n.rule() != nil && n.mapped == nil:
			continue
		case n.rule() == nil && name != each && w.counterpartOf(1-w.from, at) == nil:
			w.unpaired = append(w.unpaired, typedPath{at, below})
		}
		w.search(at, below)
	}
}
