package plan

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// object shapes and validates the members of i and fills the object's slots.
func (w *acceptor) object(n *Node, i uint32) bool {
	d := w.d
	base := len(d.Slots)
	if len(n.Names) > 0 {
		if base+len(n.Names) > maxSlots {
			return false
		}
		d.Slots = grow(d.Slots, len(n.Names))
		d.Nodes[i].Val = uint64(base)
		d.Nodes[i].Flags |= tree.Slotted
	} else if n.Additional == nil && n.Flags&(KeepUnknown|KeepAll) != 0 &&
		n.Flags&(Root|Embedded|AdditionalTrue|AdditionalFalse) == 0 {
		return true // nothing is declared and nothing is pruned
	}
	w.edits.enter(i)
	dirty, after, last := false, uint16(0), uint32(0)
	for c := d.Nodes[i].First; c != 0; {
		next, kind := d.Nodes[c].Next, d.Nodes[c].Kind
		key := d.Key(c)
		if w.tick(1) {
			return false
		}
		status := n.Flags&Root != 0 && key == statusName
		if status && w.StatusOnly {
			w.shaping, w.dropping = false, false
		}
		child, slot := n.Additional, -1
		if s, declared := n.slotAfter(d, &after, key); declared {
			child, slot = n.Props[s], s
		}
		keep := true
		if n.Flags&(Root|Embedded) != 0 && isMeta(key) {
			if w.keepNulls {
				keep = w.coerceDefault(n, i, c, key)
			} else if !w.special(n, i, c, child, key) {
				return false
			}
		}
		switch {
		case !keep:
		case child == nil:
			keep = w.undeclared(n, i, c, key)
		case kind == tree.Null && child.Flags&Nullable == 0:
			keep = w.keepNulls
			if child.null() == defaulted && (!status || !w.resets) {
				keep = true
				if w.doubt = w.doubt || w.Defaulted; !w.undefaulted {
					w.replaced(child, i, c)
				}
			}
		}
		dropped := keep && status && w.resets
		if keep && child != nil && !w.member(child, c, dropped) {
			return false
		}
		keep = keep && !dropped
		if keep && slot >= 0 {
			d.Slots[base+slot] = c
		}
		if keep {
			dirty = dirty || d.Nodes[c].Flags&tree.Dirty != 0
			last = c
		} else {
			w.doubt = w.doubt || w.Decoded && !dropped
			d.Remove(i, last, c)
			if dropped {
				w.sent, w.before = true, last
			}
		}
		if status && w.StatusOnly {
			w.shaping, w.dropping = true, true
		}
		c = next
	}
	if len(n.defaulted) > 0 && !w.undefaulted {
		if !w.defaults(n, i, base, last) {
			return false
		}
	}
	if w.Kept != 0 && n.Flags&Root != 0 && !w.keepStatus(n, i, base) {
		return false
	}
	if dirty {
		d.Nodes[i].Flags |= tree.Dirty
	}
	w.edits.leave()
	return !w.doubt && (n.Flags&Embedded == 0 || w.embedded(i))
}

// member visits a declared member. A member that is dropped afterwards is not validated.
func (w *acceptor) member(n *Node, c uint32, dropped bool) bool {
	if !dropped {
		return w.node(n, c)
	}
	w.shaping, w.dropping = true, true
	ok := w.node(n, c)
	w.shaping, w.dropping = false, false
	return ok
}

// undeclared reports whether a member without a schema stays, and empties it if it does.
func (w *acceptor) undeclared(n *Node, i, c uint32, key string) (keep bool) {
	if n.Flags&AdditionalFalse != 0 {
		w.doubt = w.doubt || !w.shaping || n.Flags&(Root|Embedded) != 0 && isMeta(key)
	}
	switch n.unknown(key) {
	case emptied:
		w.emptied(c)
	case removed:
		w.record(Pruned, i, c)
		return false
	}
	return true
}

// defaults appends the missing members that have a default, in schema order, and visits them. That fills their slots
// and validates them, which registration does only in part.
func (w *acceptor) defaults(n *Node, i uint32, base int, last uint32) bool {
	d := w.d
	for _, slot := range n.defaulted {
		if d.Slots[base+int(slot)] != 0 {
			continue
		}
		child, name := n.Props[slot], n.Names[slot]
		status := n.Flags&Root != 0 && name == statusName
		if status && w.resets {
			continue
		}
		if w.Defaulted {
			w.doubt = true
			return false
		}
		if status && w.StatusOnly {
			w.shaping, w.dropping = false, false
		}
		if child.Default.Nulls && !w.keepNulls || (!w.shaping || w.stored) && n.Flags&Embedded != 0 && isMeta(name) {
			// upstream neither drops nulls in defaults nor coerces their metadata, but coerces what it reads from
			// storage
			return false
		}
		g := w.add(n, slot, i, last)
		if g == 0 {
			return false
		}
		last, d.Slots[base+int(slot)] = g, g
		if d.Nodes[g].First != 0 || !w.shaping {
			edits := w.edits
			w.edits = nil // changes within a default are not reported
			ok := w.node(child, g)
			w.edits = edits
			if !ok {
				return false
			}
		}
		if status && w.StatusOnly {
			w.shaping, w.dropping = true, true
		}
	}
	return true
}

// special checks apiVersion, kind and metadata of a root or an embedded resource before they are visited.
func (w *acceptor) special(n *Node, i, c uint32, child *Node, key string) bool {
	d := w.d
	switch {
	case child != nil && child == n.Additional, child != nil && child.Flags&DefaultsBelow != 0:
		return false // upstream accepts no such CRD today
	case n.Flags&Embedded == 0:
		return d.Nodes[c].Kind != tree.Null
	case key != "metadata":
		return d.Nodes[c].Kind == tree.String
	}
	normalized, changed := metadata.Normalize(d, c)
	if changed {
		d.MarkDirty(c, i)
	}
	return normalized && (!changed || !w.Decoded)
}

// embedded reports whether an embedded resource has a type and plainly valid metadata.
// (AE/apiserver/schema/objectmeta/validation.go)
func (w *acceptor) embedded(i uint32) bool {
	return w.shaping || metadata.PlainEmbedded(w.d, i)
}

// grow appends n zeros.
func grow(s []uint32, n int) []uint32 {
	t := slices.Grow(s, n)[:len(s)+n]
	clear(t[len(s):])
	return t
}
