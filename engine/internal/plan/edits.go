package plan

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/internal/value"
)

// EditKind is what a walk did to a member.
type EditKind uint8

// The kinds of edits that somebody may ask for. Nulls that are dropped are not among them, as upstream reports them
// nowhere.
const (
	Pruned EditKind = iota
	Defaulted
)

// Edit is one member that accept removed as unknown or filled in by default. A pruned member stands for all below it; a
// default for all that came with it.
type Edit struct {
	Kind EditKind
	Node uint32 // the member, removed or filled in; it still has its key

	from, to uint32 // its ancestors, in Edits.ancestors
}

// Edits is what one accept walk changed, in document order of the parents. It is reused from walk to walk.
type Edits struct {
	List []Edit

	d         *value.Doc
	ancestors []uint32
	stack     []uint32 // the containers from the root down to where the walk is
	deep      int      // bytes of their keys
	bytes     int      // of the keys in all paths
}

func (e *Edits) reset(d *value.Doc) {
	*e = Edits{List: e.List[:0], d: d, ancestors: e.ancestors[:0], stack: e.stack[:0]}
}

// tooMany reports that the edits are more than are told: the walk doubts, and the exact steps say so.
func (e *Edits) tooMany() bool {
	told := lengths{len(e.ancestors), e.bytes}
	return told.exceed()
}

// enter and leave follow the walk into a container and out of it.
func (e *Edits) enter(container uint32) {
	e.stack = append(e.stack, container)
	e.deep += int(e.d.Nodes[container].KeyLen)
}

func (e *Edits) leave() {
	last := len(e.stack) - 1
	e.deep -= int(e.d.Nodes[e.stack[last]].KeyLen)
	e.stack = e.stack[:last]
}

// add notes an edit of a member of parent, which is the top of the stack or about to be its next entry.
func (e *Edits) add(k EditKind, parent, node uint32) {
	if e.tooMany() {
		return
	}
	from := uint32(len(e.ancestors))
	e.ancestors = append(e.ancestors, e.stack...)
	e.bytes += e.deep + int(e.d.Nodes[node].KeyLen)
	if n := len(e.stack); n == 0 || e.stack[n-1] != parent {
		e.ancestors = append(e.ancestors, parent)
		e.bytes += int(e.d.Nodes[parent].KeyLen)
	}
	e.List = append(e.List, Edit{Kind: k, Node: node, from: from, to: uint32(len(e.ancestors))})
}

// Ancestors are the containers around an edit, from the root down; the root itself comes first. Elements of arrays carry
// their index and members their key in the Doc's node.
func (e *Edits) Ancestors(x Edit) []uint32 { return e.ancestors[x.from:x.to] }

// Any reports whether the walk made an edit of the kind.
func (e *Edits) Any(k EditKind) bool {
	for i := range e.List {
		if e.List[i].Kind == k {
			return true
		}
	}
	return false
}

// Changes tells what an accept walk of the plan changed, as Prune and Default tell it with track: pruned fields by their
// text, defaults in document order. d is the Doc of that walk, as the walk left it.
func (p *Plan) Changes(d *value.Doc, e *Edits) (pruned, defaulted []Change) {
	segments, first := 0, 0 // first: of the defaults, which stand behind what was pruned
	for _, x := range e.List {
		segments += int(x.to - x.from)
		if x.Kind == Pruned {
			first++
		}
	}
	all, texts := make(value.Path, 0, segments), value.NewSlab(segments*roomPerSegment)
	list := make([]Change, len(e.List))
	pruned, defaulted = list[:0:first], list[first:first]
	for _, x := range e.List {
		from := len(all)
		all = p.appendPath(all, d, e, x)
		path := all[from:len(all):len(all)]
		c := Change{Path: path, Text: texts.Dotted(path), Node: x.Node}
		if x.Kind == Pruned {
			pruned = append(pruned, c)
		} else {
			defaulted = append(defaulted, c)
		}
	}
	slices.SortStableFunc(pruned, func(a, b Change) int { return strings.Compare(a.Text, b.Text) })
	return pruned, defaulted
}

// roomPerSegment is what most segments of a path take as text.
const roomPerSegment = 12

// appendPath goes down the containers of an edit, and down the schema beside them: only the schema knows which keys are
// keys of maps, and the plan's names outlive the Doc.
func (p *Plan) appendPath(path value.Path, d *value.Doc, e *Edits, x Edit) value.Path {
	n := p.Root
	way := e.Ancestors(x)
	for k, container := range way {
		child := x.Node
		if k+1 < len(way) {
			child = way[k+1]
		}
		if d.Nodes[container].Kind == value.Array {
			path = append(path, value.At(int(d.Nodes[child].Key)))
			n = n.items()
			continue
		}
		key := d.Key(child)
		if n == nil {
			path = append(path, value.Entry(strings.Clone(key)))
			continue
		}
		if slot, declared := n.find(key); declared {
			path = append(path, value.Name(n.Names[slot]))
			n = n.Props[slot]
			continue
		}
		if n.Additional != nil || n.Flags&(AdditionalTrue|AdditionalFalse) != 0 {
			path = append(path, value.Entry(strings.Clone(key)))
		} else {
			path = append(path, value.Name(strings.Clone(key)))
		}
		n = n.Additional
	}
	return path
}
