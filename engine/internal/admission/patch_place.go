package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/value"
)

// mostPlaced bounds the search for places: findings times operations.
const mostPlaced = 1 << 20

// placeInPatch makes the positions of findings those in the patch: of the value that the patch puts there. What the patch does not touch has none; of
// very many findings none has.
func (p *pass) placeInPatch() {
	p.unplaced()
	q, n := p.patching, len(p.out.Violations)+len(p.out.Forgiven)+len(p.out.Pruned)
	if q.patch.Type == patch.JSON && n*q.doc.Len(q.patch.Root) > mostPlaced {
		return
	}
	for _, list := range [][]Finding{p.out.Violations, p.out.Forgiven} {
		for i := range list {
			if n := q.node(list[i].Path); n != 0 {
				list[i].Position = q.doc.Position(n)
			}
		}
	}
	for i := range p.out.Pruned {
		if n := q.node(p.out.Pruned[i].Path); n != 0 {
			p.out.Pruned[i].Position = q.doc.KeyPosition(n)
		}
	}
}

// unplaced takes positions from what is told about an object that stands in no text: the old one, changed.
func (p *pass) unplaced() {
	for _, list := range [][]Finding{p.out.Violations, p.out.Forgiven} {
		for i := range list {
			list[i].Position = value.Position{}
		}
	}
	for i := range p.out.Pruned {
		p.out.Pruned[i].Position = value.Position{}
	}
}

// node is what the patch puts at a place of the patched object, 0 if it puts nothing there.
func (q *patching) node(at value.Path) (found uint32) {
	if q.patch.Type == patch.Merge {
		return q.doc.Lookup(q.patch.Root, at)
	}
	d := q.doc
	for op := d.Nodes[q.patch.Root].First; op != 0; op = d.Nodes[op].Next {
		name, path, given := d.Field(op, "op"), d.Field(op, "path"), d.Field(op, "value")
		if given == 0 || d.Nodes[name].Kind != value.String || d.Nodes[path].Kind != value.String || d.Str(name) == "test" {
			continue
		}
		if rest, ok := below(at, d.Str(path)); ok {
			if n := d.Lookup(given, rest); n != 0 {
				found = n // the last operation that puts something there
			}
		}
	}
	return found
}

var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// below reports that a place is at a path of an operation or below it, and what is left of it.
func below(at value.Path, path string) (rest value.Path, ok bool) {
	_, path, more := strings.Cut(path, "/")
	for more {
		var token string
		token, path, more = strings.Cut(path, "/")
		if len(at) == 0 {
			return nil, false
		}
		key := at[0].Key()
		if at[0].IsIndex() {
			key = strconv.Itoa(at[0].Index())
		}
		if key != unescaped.Replace(token) {
			return nil, false
		}
		at = at[1:]
	}
	return at, true
}
