package plan

// Holders yields the slots of the properties that are objects with properties, or arrays of such.
func (n *Node) Holders(yield func(slot int) bool) {
	for slot, p := range n.Props {
		if p != nil && (p.declares() || p.Items.declares()) && !yield(slot) {
			return
		}
	}
}

func (n *Node) declares() bool {
	return n != nil && (len(n.Names) > 0 || n.Flags&(Root|Embedded) != 0)
}
