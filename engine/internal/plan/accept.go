package plan

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
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
	Limits value.Limits
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
func (p *Plan) Accept(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, resets: (m.Create || m.Update) && p.StatusSubresource,
		shaping: m.StatusOnly, dropping: m.StatusOnly})
}

// accept runs a walk.
func (p *Plan) accept(d *value.Doc, root uint32, w acceptor) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	w.d, w.budget = d, newBudget(w.Limits.WithDefaults().MaxDefaultBytes)
	if !w.undefaulted {
		d.SetSource(value.Defaults, p.defaults)
	}
	if w.Edits != nil {
		w.Edits.reset(d)
	}
	return w.node(p.Root, root) && !w.doubt && (w.Edits == nil || w.Edits.fit() == nil)
}

// acceptor is the state of one walk over a tree.
type acceptor struct {
	Mode
	d      *value.Doc
	work   uint32 // values since the last look at Stop
	budget budget

	doubt       bool   // only upstream's steps know the answer
	resets      bool   // status of the root is dropped, or replaced by Kept
	sent        bool   // the root had a status, which was dropped
	before      uint32 // the member before that status, 0 for none
	stored      bool   // the object comes from storage
	undefaulted bool   // no defaults are filled in
	shaping     bool   // change only, do not validate
	dropping    bool   // within something that is dropped afterwards
	keepNulls   bool   // keep nulls without a default: the walk over a default
}

const (
	// pollEvery is how many values a walk visits between two looks at Stop: some ten microseconds.
	pollEvery = 1024
	// textPerValue is how many bytes of text count as one value.
	textPerValue = 64
	// maxSlots bounds the memory for slots to 16 MiB. A document of empty objects under a schema with many properties
	// would otherwise take hundreds of times its size. Beyond it the walk doubts.
	maxSlots = 1 << 22
)

// tick counts work and reports whether the walk must end, with a doubt.
func (w *acceptor) tick(work int) bool {
	if w.work += uint32(work); w.work < pollEvery {
		return false
	}
	w.work = 0
	stopped := w.Stop.Stopped()
	w.doubt = w.doubt || stopped
	return stopped
}

// node shapes and validates the value at i. It returns false for a violation and for a doubt.
func (w *acceptor) node(n *Node, i uint32) bool {
	k := w.d.Nodes[i].Kind
	if !n.kinds.has(k) && !w.shaping || w.tick(1) {
		return false
	}
	if k == value.Object && !w.object(n, i) || k == value.Array && !w.array(n, i) {
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
				w.Edits.enter(i)
				dirty = w.empty(c) || dirty
				w.Edits.leave()
			}
			continue
		case d.Nodes[c].Kind == value.Null && n.Items.Default != nil && n.Items.Flags&Nullable == 0 && !w.undefaulted:
			if w.Defaulted {
				w.doubt = true
				return false
			}
			w.replace(n.Items, i, c)
			dirty = true
		}
		w.Edits.enter(i)
		ok := w.node(n.Items, c)
		w.Edits.leave()
		if !ok {
			return false
		}
		dirty = dirty || d.Nodes[c].Flags&value.Dirty != 0
	}
	if dirty {
		d.Nodes[i].Flags |= value.Dirty
	}
	return n.Flags&(ListSet|ListMap) == 0 || w.shaping || w.unique(n, i)
}

// empty removes every member of every object at or below i, as upstream does without a schema. It reports whether
// anything changed.
func (w *acceptor) empty(i uint32) (dirty bool) {
	d := w.d
	if w.tick(1) {
		return false
	}
	switch d.Nodes[i].Kind {
	case value.Object:
		if d.Nodes[i].First == 0 {
			return false
		}
		if w.Edits != nil {
			for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
				w.Edits.add(Pruned, i, c)
			}
		}
		d.Nodes[i].First, d.Nodes[i].Live = 0, 0
		w.doubt = w.doubt || w.Decoded
		dirty = true
	case value.Array:
		w.Edits.enter(i)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			dirty = w.empty(c) || dirty
		}
		w.Edits.leave()
	}
	if dirty {
		d.Nodes[i].Flags |= value.Dirty
	}
	return dirty
}

// replace replaces the null at c, a member or element of parent, by the default of n.
func (w *acceptor) replace(n *Node, parent, c uint32) {
	d := w.d
	w.doubt = w.doubt || n.Default.Nulls && !w.keepNulls || !w.budget.take("", n.Default.Fragment)
	if w.doubt {
		return
	}
	d.Replace(c, d.Graft(n.Default.Fragment))
	d.Nodes[parent].Flags |= value.Dirty
	w.filled(parent, c)
}

// filled records a default, unless it is dropped again.
func (w *acceptor) filled(parent, c uint32) {
	if w.Edits != nil && !w.dropping {
		w.Edits.add(Defaulted, parent, c)
	}
}

const statusName = "status"

// AcceptStored shapes the object at root in one pass. The object comes from storage at the plan's version. It is pruned
// and defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptStored(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, shaping: true, stored: true})
}

// AcceptDecoded shapes the object at root in one pass as API servers decode it from a request. It is pruned and
// defaulted, nulls are dropped and embedded metadata is normalized. Nothing is validated. False means doubt.
func (p *Plan) AcceptDecoded(d *value.Doc, root uint32, m Mode) bool {
	return p.accept(d, root, acceptor{Mode: m, shaping: true})
}

// AcceptConverted shapes the object at root in one pass after it was converted to the plan's version: like
// AcceptStored, but without defaults. No node may refer to the defaults of another plan, see Doc.Own.
func (p *Plan) AcceptConverted(d *value.Doc, root uint32, m Mode) bool {
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
	edits := w.Edits
	w.Edits, w.undefaulted = nil, true
	ok := w.node(n.Props[slot], made)
	w.Edits, w.undefaulted = edits, false
	return ok
}
