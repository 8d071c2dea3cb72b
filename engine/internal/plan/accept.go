package plan

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/internal/value"
)

// Mode says what an accept walk is for.
type Mode struct {
	// Create: the object is about to be created. Where the version has a status subresource, status is shaped and then
	// dropped, unseen by validation.
	Create bool
	// Update: the object is about to take the place of another one. Where the version has a status subresource, status is
	// dropped as on create, and Kept takes its place: the status of the other object, shaped before, 0 for none.
	Update bool
	Kept   uint32
	// StatusOnly: the object brings a status. All of it is shaped, only the status is validated.
	StatusOnly bool
	// Decoded: the object was shaped before and possibly changed since. What would be pruned or dropped now stays: the walk doubts.
	Decoded bool
	// Limits bound what defaults may add; a walk that would exceed them doubts.
	Limits value.Limits
	// Stop ends a walk early, with a doubt. Nil never stops.
	Stop *interrupt.Signal
	// Edits takes note of what the walk prunes and fills in. Nil: nobody asks.
	Edits *Edits
}

// Accept shapes and validates the object at root in one pass: what is unknown is pruned, nulls of non-nullable fields are
// dropped, defaults are filled in, embedded metadata is settled, and every validation of the schema holds, list types
// included. True means that upstream's separate steps would find nothing, and that the tree is what they would make of it.
// False means doubt: the tree is then half done and must be parsed anew for shape and explain.
//
// The object is of the plan's group and kind; its own apiVersion, kind and metadata are looked at as far as the schema
// declares them: their coercion, which comes before Accept, and their own validation are the caller's. The Doc may hold
// other trees besides. A warm Doc allocates nothing.
func (p *Plan) Accept(d *value.Doc, root uint32, m Mode) bool {
	if p.ExplainOnly || !quirk.All() || d.Nodes[root].Kind != value.Object {
		return false
	}
	d.SetSource(value.Defaults, p.defaults)
	w := acceptor{
		d: d, p: p, stop: m.Stop, edits: m.Edits, room: newRoom(m.Limits.DefaultBytes()),
		resets: (m.Create || m.Update) && p.StatusSubresource, kept: m.Kept,
		statusOnly: m.StatusOnly, shaping: m.StatusOnly, dropping: m.StatusOnly, decoded: m.Decoded,
	}
	if m.Edits != nil {
		m.Edits.reset(d)
	}
	return w.node(p.Root, root) && !w.doubt && (m.Edits == nil || !m.Edits.tooMany())
}

// acceptor is the state of one walk over a tree.
type acceptor struct {
	d     *value.Doc
	p     *Plan
	stop  *interrupt.Signal
	edits *Edits
	work  uint32 // values seen since stop was last asked
	room  room

	doubt       bool   // something upstream alone knows: the answer is no
	resets      bool   // status of the root is dropped
	kept        uint32 // what takes its place, 0 for nothing
	statusOnly  bool   // the rest of the root is dropped
	stored      bool   // the walk over an object from storage
	undefaulted bool   // nothing is filled in
	shaping     bool   // change, do not validate
	dropping    bool   // in what is dropped afterwards
	decoded     bool   // nothing may be pruned or dropped
	keepNulls   bool   // nulls without a default stay: the walk over a default
}

const (
	// pollEvery is how many values a walk sees between two looks at its Stop: some ten microseconds.
	pollEvery = 1024
	// textPerValue is how many bytes of text count as much as one value.
	textPerValue = 64
	// maxSlots bounds the memory for slots: a document of nothing but empty objects under a schema of many properties
	// would take hundreds of times its own size. Beyond it (16 MiB) the walk doubts.
	maxSlots = 1 << 22
)

// tick counts work and asks now and then whether to stop; then the walk doubts.
func (w *acceptor) tick(work int) bool {
	if w.work += uint32(work); w.work < pollEvery {
		return false
	}
	w.work = 0
	stopped := w.stop.Stopped()
	w.doubt = w.doubt || stopped
	return stopped
}

// node shapes and validates the value at i. False: a finding, or a doubt.
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
				w.push(i)
				dirty = w.empty(c) || dirty
				w.pop()
			}
			continue
		case d.Nodes[c].Kind == value.Null && n.Items.Default != nil && n.Items.Flags&Nullable == 0 && !w.undefaulted:
			w.replace(n.Items, i, c)
			dirty = true
		}
		w.push(i)
		ok := w.node(n.Items, c)
		w.pop()
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

// empty removes every member of every object at or below i: what upstream does where it has no schema. Elements of
// arrays stay. It reports whether anything changed.
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
		w.push(i)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			dirty = w.empty(c) || dirty
		}
		w.pop()
	}
	if dirty {
		d.Nodes[i].Flags |= value.Dirty
	}
	return dirty
}

// replace puts the default of n in the place of the null at c, a member or element of parent.
func (w *acceptor) replace(n *Node, parent, c uint32) {
	d := w.d
	w.doubt = w.doubt || n.Default.Nulls && !w.keepNulls || !w.room.take("", n.Default.Fragment)
	if w.doubt {
		return
	}
	d.Replace(c, d.Graft(n.Default.Fragment))
	d.Nodes[parent].Flags |= value.Dirty
	w.filled(parent, c)
}

// filled notes a default, unless it is dropped again.
func (w *acceptor) filled(parent, c uint32) {
	if w.edits != nil && !w.dropping {
		w.edits.add(Defaulted, parent, c)
	}
}

func (w *acceptor) push(i uint32) {
	if w.edits != nil {
		w.edits.enter(i)
	}
}

func (w *acceptor) pop() {
	if w.edits != nil {
		w.edits.leave()
	}
}
