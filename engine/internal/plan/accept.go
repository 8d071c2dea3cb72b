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
	return p.accept(d, root, m, acceptor{
		resets: (m.Create || m.Update) && p.StatusSubresource, kept: m.Kept,
		statusOnly: m.StatusOnly, shaping: m.StatusOnly, dropping: m.StatusOnly, decoded: m.Decoded,
	})
}

// accept runs a walk, to whose options it adds those of the mode.
func (p *Plan) accept(d *value.Doc, root uint32, m Mode, w acceptor) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	w.d, w.p, w.stop, w.edits, w.budget = d, p, m.Stop, m.Edits, newBudget(m.Limits.WithDefaults().MaxDefaultBytes)
	if !w.undefaulted {
		d.SetSource(value.Defaults, p.defaults)
	}
	if m.Edits != nil {
		m.Edits.reset(d)
	}
	return w.node(p.Root, root) && !w.doubt && (m.Edits == nil || !m.Edits.tooMany())
}

// acceptor is the state of one walk over a tree.
type acceptor struct {
	d      *value.Doc
	p      *Plan
	stop   *interrupt.Signal
	edits  *Edits
	work   uint32 // values since the last look at stop
	budget budget

	doubt       bool   // only upstream's steps know the answer
	resets      bool   // status of the root is dropped
	kept        uint32 // what replaces it, or 0
	statusOnly  bool   // the rest of the root is dropped
	stored      bool   // the object comes from storage
	undefaulted bool   // no defaults are filled in
	shaping     bool   // change only, do not validate
	dropping    bool   // within something that is dropped afterwards
	decoded     bool   // nothing may be pruned or dropped
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
	stopped := w.stop.Stopped()
	w.doubt = w.doubt || stopped
	return stopped
}

// node shapes and validates the value at i. It returns false for a violation and for a doubt.
func (w *acceptor) node(n *Node, i uint32) bool {
	k := w.d.Nodes[i].Kind
	if !n.kinds.has(k) && !w.shaping || w.tick(1) {
		return false
	}
	switch k {
	case value.Object:
		if !w.object(n, i) {
			return false
		}
	case value.Array:
		if !w.array(n, i) {
			return false
		}
	}
	if n.Valid == nil || w.shaping {
		return true
	}
	return w.values(n.Valid, i)
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
				dirty = w.empty(c) || dirty
				w.edits.leave()
			}
			continue
		case d.Nodes[c].Kind == value.Null && n.Items.Default != nil && n.Items.Flags&Nullable == 0 && !w.undefaulted:
			w.replace(n.Items, i, c)
			dirty = true
		}
		w.edits.enter(i)
		ok := w.node(n.Items, c)
		w.edits.leave()
		if !ok {
			return false
		}
		dirty = dirty || d.Nodes[c].Flags&value.Dirty != 0
	}
	if dirty {
		d.Nodes[i].Flags |= value.Dirty
	}
	if n.Flags&(ListSet|ListMap) == 0 || w.shaping {
		return true
	}
	return w.unique(n, i)
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
		if w.edits != nil {
			for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
				w.edits.add(Pruned, i, c)
			}
		}
		d.Nodes[i].First, d.Nodes[i].Live = 0, 0
		w.doubt = w.doubt || w.decoded
		dirty = true
	case value.Array:
		w.edits.enter(i)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			dirty = w.empty(c) || dirty
		}
		w.edits.leave()
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
	if w.edits != nil && !w.dropping {
		w.edits.add(Defaulted, parent, c)
	}
}

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
