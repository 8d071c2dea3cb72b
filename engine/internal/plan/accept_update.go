package plan

import (
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/internal/value"
)

const statusName = "status"

// AcceptStored shapes the object at root, which stands in storage at the plan's own version, in one pass: pruned, without nulls, defaulted,
// with settled metadata of embedded resources. It validates nothing. False means doubt: upstream's separate steps know.
func (p *Plan) AcceptStored(d *value.Doc, root uint32, m Mode) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	d.SetSource(value.Defaults, p.defaults)
	w := acceptor{d: d, p: p, stop: m.Stop, shaping: true, stored: true, room: newRoom(m.Limits.DefaultBytes())}
	return w.node(p.Root, root) && !w.doubt
}

// AcceptDecoded shapes the object at root as it is decoded from a request, in one pass: pruned, without nulls, defaulted, with settled metadata of
// embedded resources. It validates nothing. False means doubt.
func (p *Plan) AcceptDecoded(d *value.Doc, root uint32, m Mode) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	d.SetSource(value.Defaults, p.defaults)
	if m.Edits != nil {
		m.Edits.reset(d)
	}
	w := acceptor{d: d, p: p, stop: m.Stop, edits: m.Edits, shaping: true, room: newRoom(m.Limits.DefaultBytes())}
	return w.node(p.Root, root) && !w.doubt && (m.Edits == nil || !m.Edits.tooMany())
}

// AcceptConverted shapes the object at root, which was converted to the plan's version, in one pass: pruned, without nulls, with settled metadata
// of embedded resources, but not defaulted. It validates nothing. False means doubt. No node of the tree may refer to the text of another plan's
// defaults, see Doc.Own.
func (p *Plan) AcceptConverted(d *value.Doc, root uint32, m Mode) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	w := acceptor{d: d, p: p, stop: m.Stop, shaping: true, stored: true, undefaulted: true}
	return w.node(p.Root, root) && !w.doubt
}

// keepStatus puts the status of another object into the root at i, and validates it there. That it is pruned once more changes nothing: it was
// by the same plan. It is not defaulted: it was already, perhaps by the plan of another version, which it was converted from.
func (w *acceptor) keepStatus(n *Node, i uint32, base int) bool {
	d := w.d
	made := uint32(len(d.Nodes))
	d.Nodes = append(d.Nodes, d.Nodes[w.kept])
	d.Append(i, made)
	slot, declared := n.find(statusName)
	if !declared {
		return true
	}
	d.Slots[base+slot] = made
	edits := w.edits
	w.edits, w.undefaulted = nil, true
	ok := w.node(n.Props[slot], made)
	w.edits, w.undefaulted = edits, false
	return ok
}
