package admission

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// maxPatchSearch bounds the search for positions in a JSON patch: violations times operations.
const maxPatchSearch = 1 << 20

// positionInPatch sets the positions of violations to those of the values in the patch. A violation about a value that
// is not in the patch has no position. If there are too many violations and operations, none has one.
func (p *pass) positionInPatch() {
	p.clearPositions()
	q, n := p.patching, len(p.out.Violations)+len(p.out.Ratcheted)+len(p.out.Pruned)
	if q.patch.Type == patch.JSON && n*q.doc.Len(q.patch.Root) > maxPatchSearch {
		return
	}
	places := q.places()
	for _, list := range [][]violation.Violation{p.out.Violations, p.out.Ratcheted} {
		for i := range list {
			if i%64 == 63 && p.stop.Stopped() {
				return // the caller checks for the deadline
			}
			if node, at := places.of(list[i].Path); node != 0 {
				list[i].Position = q.doc.PositionOf(node, at)
			}
		}
	}
	for i := range p.out.Pruned {
		if i%64 == 63 && p.stop.Stopped() {
			return
		}
		if node, at := places.of(p.out.Pruned[i].Path); node != 0 {
			p.out.Pruned[i].Position = q.keyPosition(node, at)
		}
	}
}

// keyPosition returns the position of a member's key in the patch.
func (q *patching) keyPosition(node uint32, at value.Path) value.Position {
	if q.yaml != nil {
		return q.yaml.KeyPosition(at)
	}
	return q.doc.KeyPosition(node)
}

// clearPositions removes positions from the violations about an object that is not in a document.
func (p *pass) clearPositions() {
	for _, list := range [][]violation.Violation{p.out.Violations, p.out.Ratcheted} {
		for i := range list {
			list[i].Position = value.Position{}
		}
	}
	for i := range p.out.Pruned {
		p.out.Pruned[i].Position = value.Position{}
	}
}

// patchPositions finds the values that a patch sets.
type patchPositions struct {
	doc    *value.Doc
	root   uint32
	finder *value.Finder
	puts   []put // of a JSON patch
	merge  bool
}

// put is an operation that sets the value at a path.
type put struct {
	path  string
	value uint32
	at    value.Path // of the value in the patch
}

func (q *patching) places() *patchPositions {
	d := q.doc
	s := &patchPositions{doc: d, root: q.patch.Root, finder: d.Finder(), merge: q.patch.Type == patch.Merge}
	if s.merge {
		return s
	}
	i := 0
	for op := d.Nodes[s.root].First; op != 0; op = d.Nodes[op].Next {
		name, path, given := d.Field(op, "op"), d.Field(op, "path"), d.Field(op, "value")
		if given != 0 && d.Nodes[name].Kind == value.String && d.Nodes[path].Kind == value.String &&
			d.Str(name) != "test" {
			s.puts = append(s.puts, put{path: d.Str(path), value: given,
				at: value.Path{value.At(i), value.Name("value")}})
		}
		i++
	}
	return s
}

// of returns the value that the patch sets at a path of the patched object, and its path in the patch, or 0. Of several
// operations the last one counts.
func (s *patchPositions) of(place value.Path) (node uint32, at value.Path) {
	if s.merge {
		return s.finder.Lookup(s.root, place), place
	}
	for i := len(s.puts) - 1; i >= 0; i-- {
		op := &s.puts[i]
		if rest, ok := below(place, op.path); ok {
			if node = s.finder.Lookup(op.value, rest); node != 0 {
				return node, op.at.With(rest...)
			}
		}
	}
	return 0, nil
}

var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// below returns the rest of a path that is at or below the path of an operation.
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
