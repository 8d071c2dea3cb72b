package plan

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Mode is the purpose of an accept walk.
type Mode struct {
	// Create: the object is created. Status is shaped and dropped without validation if it is a subresource.
	Create bool
	// Update: the object replaces another one. If status is a subresource, it is dropped and replaced by Kept, the
	// shaped status of the other object, or 0.
	Update bool
	Kept   uint32
	// StatusOnly: the whole object is shaped, and only its status is validated.
	StatusOnly bool
	// Decoded: the object was shaped before and possibly mutated. The walk doubts what it would have to prune or drop.
	Decoded bool
	// Defaulted: the object has its defaults. The walk doubts what it would have to fill in.
	Defaulted bool
	// Limits bound what defaults may add. Beyond them the walk doubts.
	Limits tree.Limits
	// Stop aborts the walk with a doubt. It may be nil.
	Stop *interrupt.Signal
	// Edits collects what the walk prunes and fills in. It may be nil.
	Edits *Edits
}

// Accept shapes and validates the object at root in one pass: it prunes unknown fields, drops nulls of non-nullable
// fields, fills in defaults, normalizes embedded metadata, and checks every validation of the schema including list
// types. True means that upstream's separate steps find no error and leave this tree. False means doubt: the tree is in
// an undefined state, and must be parsed again for the exact path.
//
// The object is of the plan's group and kind. The caller coerces its metadata before, and validates its apiVersion,
// kind and metadata. The Doc may hold other trees. A warm Doc allocates nothing.
func (p *Plan) Accept(d *tree.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{
		Mode: m, changer: changer{dropping: m.StatusOnly}, resets: (m.Create || m.Update) && p.StatusSubresource,
		shaping: m.StatusOnly,
	})
}

// accept runs a walk.
func (p *Plan) accept(d *tree.Doc, root uint32, w acceptor) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != tree.Object {
		return false
	}
	w.d, w.edits, w.stop = d, w.Edits, w.Stop
	w.budget = newBudget(w.Limits.WithDefaults().MaxDefaultBytes)
	if !w.undefaulted {
		d.SetSource(tree.Defaults, p.defaults)
	}
	if w.edits != nil {
		w.edits.reset(d)
	}
	return w.node(p.Root, root) && !w.doubt
}

// acceptor is the state of one walk over a tree. Its doubt says that only upstream's steps know the answer.
type acceptor struct {
	Mode
	changer

	resets      bool   // status of the root is dropped, or replaced by Kept
	sent        bool   // the root had a status, which was dropped
	before      uint32 // the member before that status, 0 for none
	stored      bool   // the object comes from storage
	undefaulted bool   // no defaults are filled in
	shaping     bool   // change only, do not validate
	keepNulls   bool   // keep nulls without a default: the walk over a default
}

// maxSlots bounds the memory for slots to 16 MiB. A document of empty objects under a schema with many properties would
// otherwise take hundreds of times its size. Beyond it the walk doubts.
const maxSlots = 1 << 22

// node shapes and validates the value at i. It returns false for a violation and for a doubt.
func (w *acceptor) node(n *Node, i uint32) bool {
	k := w.d.Nodes[i].Kind
	if !n.kinds.has(k) && !w.shaping || w.tick(1) {
		return false
	}
	if k == tree.Object && !w.object(n, i) || k == tree.Array && !w.array(n, i) {
		return false
	}
	return n.Valid == nil || w.shaping || w.values(n.Valid, i)
}

// array shapes and validates the elements of i, and its list type.
func (w *acceptor) array(n *Node, i uint32) bool {
	d := w.d
	dirty := false
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case n.Items == nil:
			if n.Flags&(KeepUnknown|KeepAll) == 0 {
				w.edits.enter(i)
				dirty = w.emptied(c) || dirty
				w.edits.leave()
			}
			continue
		case d.Nodes[c].Kind == tree.Null && n.Items.null() == defaulted && !w.undefaulted:
			w.replaced(n.Items, i, c)
			dirty = true
		}
		w.edits.enter(i)
		ok := w.node(n.Items, c)
		w.edits.leave()
		if !ok {
			return false
		}
		dirty = dirty || d.Nodes[c].Flags&tree.Dirty != 0
	}
	if dirty {
		d.Nodes[i].Flags |= tree.Dirty
	}
	return n.Flags&(ListSet|ListMap) == 0 || w.shaping || w.unique(n, i)
}

// emptied empties the value at i. It reports whether anything changed.
func (w *acceptor) emptied(i uint32) bool {
	dirty := w.empty(i)
	w.doubt = w.doubt || dirty && w.Decoded
	return dirty
}

// replaced replaces a null by the default of n.
func (w *acceptor) replaced(n *Node, parent, c uint32) {
	w.doubt = w.doubt || w.Defaulted || n.Default.Nulls && !w.keepNulls
	if !w.doubt {
		w.replace(n, parent, c)
	}
}

const statusName = "status"

// AcceptStored shapes the object at root in one pass. The object comes from storage at the plan's version. It is pruned
// and defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptStored(d *tree.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, shaping: true, stored: true})
}

// AcceptDecoded shapes the object at root in one pass as API servers decode it from a request. It is pruned and
// defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptDecoded(d *tree.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, shaping: true})
}

// AcceptConverted shapes the object at root in one pass after it was converted to the plan's version: like
// AcceptStored, but without defaults. No node may refer to the defaults of another plan, see Doc.Own.
func (p *Plan) AcceptConverted(d *tree.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, shaping: true, stored: true, undefaulted: true})
}

// keepStatus sets the status of the root at i to that of another object, and validates it. The status was pruned by the
// same plan. It is not defaulted again, since it was defaulted at the version it was stored at.
func (w *acceptor) keepStatus(n *Node, i uint32, base int) bool {
	d := w.d
	made := uint32(len(d.Nodes))
	d.Nodes = append(d.Nodes, d.Nodes[w.Kept])
	if w.sent {
		d.InsertAfter(i, w.before, made)
	} else {
		d.Append(i, made)
	}
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
