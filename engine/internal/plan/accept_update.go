package plan

import (
	"github.com/crdeval/crdeval/engine/value"
)

const statusName = "status"

// AcceptStored shapes the object at root in one pass. The object comes from storage at the plan's version. It is pruned
// and defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptStored(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, m, acceptor{shaping: true, stored: true})
}

// AcceptDecoded shapes the object at root in one pass as API servers decode it from a request. It is pruned and
// defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptDecoded(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, m, acceptor{shaping: true})
}

// AcceptConverted shapes the object at root in one pass after it was converted to the plan's version: like
// AcceptStored, but without defaults. No node may refer to the defaults of another plan, see Doc.Own.
func (p *Plan) AcceptConverted(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, m, acceptor{shaping: true, stored: true, undefaulted: true})
}

// keepStatus sets the status of the root at i to that of another object, and validates it. The status was pruned by the
// same plan. It is not defaulted again, since it was defaulted at the version it was stored at.
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
