package plan

import "github.com/crdeval/crdeval/engine/value"

// FillSlots fills the slots of every object, for rules on trees that Accept has not visited. The tree must not be
// edited after it. If the slots take too much memory, the remaining members are looked up by name.
func (p *Plan) FillSlots(d *value.Doc, root uint32) {
	if root != 0 && p.HasRules() {
		fillSlots(d, p.Root, root)
	}
}

func fillSlots(d *value.Doc, n *Node, i uint32) {
	switch d.Nodes[i].Kind {
	case value.Array:
		if n.Items == nil {
			return
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			fillSlots(d, n.Items, c)
		}
	case value.Object:
		base, slotted := len(d.Slots), false
		d.Nodes[i].Flags &^= value.Slotted
		if len(n.Names) > 0 && base+len(n.Names) <= maxSlots {
			d.Slots = grow(d.Slots, len(n.Names))
			d.Nodes[i].Val = uint64(base)
			d.Nodes[i].Flags |= value.Slotted
			slotted = true
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			child := n.Additional
			if slot, declared := n.find(d.Key(c)); declared {
				child = n.Props[slot]
				if slotted {
					d.Slots[base+slot] = c
				}
			}
			if child != nil {
				fillSlots(d, child, c)
			}
		}
	}
}
