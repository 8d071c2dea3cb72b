package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/value"
)

// placeInPatch makes the positions of findings those in the patch: of the value that the patch puts there. What the patch does not touch has none.
func (p *pass) placeInPatch() {
	for _, list := range [][]Finding{p.out.Violations, p.out.Forgiven} {
		for i := range list {
			list[i].Position = p.patching.position(list[i].Path)
		}
	}
}

// position is where a place of the patched object is written in the patch; the zero Position if it is not.
func (q *patching) position(at value.Path) value.Position {
	if len(at) == 0 {
		return q.doc.Position(q.patch.Root)
	}
	if q.patch.Type == patch.Merge {
		if n := q.doc.Lookup(q.patch.Root, at); n != 0 {
			return q.doc.Position(n)
		}
		return value.Position{}
	}
	d, found := q.doc, uint32(0)
	for op := d.Nodes[q.patch.Root].First; op != 0; op = d.Nodes[op].Next {
		name, path, given := d.Field(op, "op"), d.Field(op, "path"), d.Field(op, "value")
		if name == 0 || path == 0 || given == 0 || d.Nodes[name].Kind != value.String || d.Nodes[path].Kind != value.String || d.Str(name) == "test" {
			continue
		}
		if rest, ok := below(at, d.Str(path)); ok {
			if n := d.Lookup(given, rest); n != 0 {
				found = n // the last operation that puts something there
			}
		}
	}
	if found == 0 {
		return value.Position{}
	}
	return d.Position(found)
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
