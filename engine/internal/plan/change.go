package plan

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// fate is what shaping does to a member or an element.
type fate uint8

const (
	kept      fate = iota // it stays as it is
	emptied               // it stays, and every member of every object at or below it is removed
	removed               // it is removed
	defaulted             // it is replaced by a default
)

// unknown returns the fate of a member for which the node has no schema.
func (n *Node) unknown(key string) fate {
	switch {
	case n.Flags&(Root|Embedded) != 0 && isMeta(key):
		return kept
	case n.Flags&(AdditionalTrue|AdditionalFalse) != 0:
		if n.Flags&KeepAll != 0 || !quirk.On(quirk.AdditionalPropertiesTruePrunesBelow) {
			return kept
		}
		return emptied
	case n.Flags&(KeepUnknown|KeepAll) != 0:
		return kept
	case len(n.Names) == 0 && n.Flags&(Root|Embedded) == 0 && !quirk.On(quirk.EmptyObjectSchemaPrunes):
		return kept
	}
	return removed
}

// null returns the fate of a null with the schema of the node. Elements are not removed.
func (n *Node) null() fate {
	switch {
	case n.Default != nil && (n.Flags&Nullable == 0 || !quirk.On(quirk.NullDroppedOrDefaulted)):
		return defaulted
	case n.Flags&Nullable != 0:
		return kept
	}
	return removed
}

// changer makes and records the changes of one walk, for accept and for the steps of shape.
type changer struct {
	d      *tree.Doc
	edits  *Edits // nil if changes are not recorded
	budget budget // for defaults
	stop   *interrupt.Signal
	work   uint32 // values since the last look at stop

	doubt    bool // the walk ended early, and the tree is in an undefined state
	dropping bool // within something that is dropped afterwards: its defaults are not recorded
}

const (
	// pollEvery is how many values a walk visits between two looks at stop: some ten microseconds.
	pollEvery = 1024
	// textPerValue is how many bytes of text count as one value.
	textPerValue = 64
)

// tick counts work and reports whether the walk must end, with a doubt.
func (w *changer) tick(work int) bool {
	if w.work += uint32(work); w.work < pollEvery {
		return false
	}
	w.work = 0
	stopped := w.stop.Stopped()
	w.doubt = w.doubt || stopped
	return stopped
}

// record adds an edit of a member of parent.
func (w *changer) record(k EditKind, parent, node uint32) {
	if w.edits != nil {
		w.edits.add(k, parent, node)
		w.doubt = w.doubt || w.edits.fit() != nil
	}
}

// empty removes every member of every object at or below i. It reports whether anything changed.
func (w *changer) empty(i uint32) (dirty bool) {
	d := w.d
	if w.tick(1) {
		return false
	}
	switch d.Nodes[i].Kind {
	case tree.Object:
		if d.Nodes[i].First == 0 {
			return false
		}
		if w.edits != nil {
			for c := d.Nodes[i].First; c != 0 && !w.doubt; c = d.Nodes[c].Next {
				w.record(Pruned, i, c)
			}
		}
		d.Nodes[i].First, d.Nodes[i].Live = 0, 0
		dirty = true
	case tree.Array:
		w.edits.enter(i)
		for c := d.Nodes[i].First; c != 0 && !w.doubt; c = d.Nodes[c].Next {
			dirty = w.empty(c) || dirty
		}
		w.edits.leave()
	}
	if dirty {
		d.Nodes[i].Flags |= tree.Dirty
	}
	return dirty
}

// replace replaces the null at c, a member or element of parent, by the default of n.
func (w *changer) replace(n *Node, parent, c uint32) {
	if !w.takes("", n.Default) {
		return
	}
	w.d.Replace(c, w.d.Graft(n.Default.Fragment))
	w.d.Nodes[parent].Flags |= tree.Dirty
	w.filled(parent, c)
}

// add inserts the default of a property into the object at i, after one of its members. It returns the new member, or 0
// if the budget is exceeded.
func (w *changer) add(n *Node, slot uint16, i, after uint32) (added uint32) {
	if !w.takes(n.Names[slot], n.Props[slot].Default) {
		return 0
	}
	added = n.graft(w.d, slot)
	w.d.InsertAfter(i, after, added)
	w.filled(i, added)
	return added
}

// takes reports whether the budget allows a default under a name.
func (w *changer) takes(name string, def *Default) bool {
	w.doubt = w.doubt || !w.budget.take(name, def.Fragment)
	return !w.doubt
}

// filled records a default, unless it is dropped again.
func (w *changer) filled(parent, c uint32) {
	if !w.dropping {
		w.record(Defaulted, parent, c)
	}
}
