package plan

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// EditKind is the kind of a change by a walk.
type EditKind uint8

// The kinds of edits. Only DropNulls records dropped nulls, as Pruned.
const (
	Pruned EditKind = iota
	Defaulted
)

// Edit is one member that accept pruned or filled in, including everything below it.
type Edit struct {
	Kind EditKind
	Node uint32 // the member, with its key

	from, to uint32 // its ancestors, in Edits.ancestors
}

// Edits are the changes of one accept walk, in document order of the parents. It is reused.
type Edits struct {
	List []Edit

	d         *tree.Doc
	ancestors []uint32
	stack     []uint32 // the containers from the root to the current one
	bytes     int      // of the keys in all paths
}

func (e *Edits) reset(d *tree.Doc) {
	*e = Edits{List: e.List[:0], d: d, ancestors: e.ancestors[:0], stack: e.stack[:0]}
}

// fit returns an error if the paths are too long. A walk that accepts doubts then.
func (e *Edits) fit() error { return pathsFit(len(e.ancestors), e.bytes) }

// enter and leave follow the walk into a container and out of it. Edits may be nil.
func (e *Edits) enter(container uint32) {
	if e != nil {
		e.stack = append(e.stack, container)
	}
}

func (e *Edits) leave() {
	if e != nil {
		e.stack = e.stack[:len(e.stack)-1]
	}
}

// add records an edit of a member of parent, which is the top of the stack or its next entry.
func (e *Edits) add(k EditKind, parent, node uint32) {
	if e.fit() != nil {
		return
	}
	from := uint32(len(e.ancestors))
	e.ancestors = append(e.ancestors, e.stack...)
	if n := len(e.stack); n == 0 || e.stack[n-1] != parent {
		e.ancestors = append(e.ancestors, parent)
	}
	e.bytes += int(e.d.Nodes[node].KeyLen)
	for _, i := range e.ancestors[from:] {
		e.bytes += int(e.d.Nodes[i].KeyLen)
	}
	e.List = append(e.List, Edit{Kind: k, Node: node, from: from, to: uint32(len(e.ancestors))})
}

// Any reports whether there is an edit of the kind.
func (e *Edits) Any(k EditKind) bool {
	return slices.ContainsFunc(e.List, func(x Edit) bool { return x.Kind == k })
}

// Change is one field that a step removed or filled in, including everything below it.
type Change struct {
	// Path leads to the field. It owns its memory.
	Path tree.Path
	// Text is upstream's text of the path, as in the warning unknown field "spec.jobs[0].extra".
	Text string
	// Node is the value in the Doc, removed values included.
	Node uint32
}

// Changes returns the edits as Prune and Default return them with track: pruned fields sorted by text, defaults in
// document order. d is the Doc of the walk. If its work is over because memory is short, there are no changes.
func (p *Plan) Changes(d *tree.Doc, e *Edits) (pruned, defaulted []Change) {
	segments, first := 0, 0 // first: index of the first default
	for _, x := range e.List {
		segments += int(x.to - x.from)
		if x.Kind == Pruned {
			first++
		}
	}
	size := segments*int(unsafe.Sizeof(tree.Segment{})) + len(e.List)*int(unsafe.Sizeof(Change{})) + 2*e.bytes
	if !d.Grow(size) {
		return nil, nil
	}
	all, texts := make(tree.Path, 0, segments), tree.NewSlab(segments*12) // usual length of a name
	list := make([]Change, len(e.List))
	pruned, defaulted = list[:0:first], list[first:first]
	for _, x := range e.List {
		from := len(all)
		all = p.appendPath(all, d, e, x)
		path := all[from:len(all):len(all)]
		c := Change{Path: path, Text: texts.Text(path.AppendDotted), Node: x.Node}
		if x.Kind == Pruned {
			pruned = append(pruned, c)
		} else {
			defaulted = append(defaulted, c)
		}
	}
	if !quirk.On(quirk.TopmostUnknownFieldOnly) {
		return pruned, defaulted
	}
	slices.SortStableFunc(pruned, func(a, b Change) int { return strings.Compare(a.Text, b.Text) })
	return pruned, defaulted
}

// appendPath appends the path of an edit. It follows the schema, which distinguishes keys of maps from names. Names of
// the schema outlive the Doc.
func (p *Plan) appendPath(path tree.Path, d *tree.Doc, e *Edits, x Edit) tree.Path {
	n := p.Root
	steps := e.ancestors[x.from:x.to] // from the root
	for k, container := range steps {
		child := x.Node
		if k+1 < len(steps) {
			child = steps[k+1]
		}
		if d.Nodes[container].Kind == tree.Array {
			path = append(path, tree.At(int(d.Nodes[child].Key)))
			n = n.items()
			continue
		}
		key := d.Key(child)
		if n == nil {
			path = append(path, tree.Entry(strings.Clone(key)))
			continue
		}
		if slot, declared := n.find(key); declared {
			path = append(path, tree.Name(n.Names[slot]))
			n = n.Props[slot]
			continue
		}
		if n.Additional != nil || n.Flags&(AdditionalTrue|AdditionalFalse) != 0 {
			path = append(path, tree.Entry(strings.Clone(key)))
		} else {
			path = append(path, tree.Name(strings.Clone(key)))
		}
		n = n.Additional
	}
	return path
}
