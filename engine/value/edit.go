package value

// Remove unlinks a member or element from its container. prev is the sibling before it, 0 if it is the first. The
// removed node keeps its own Next, so a loop over the siblings can go on from it. All ancestors of parent must be
// marked: see MarkDirty.
func (d *Doc) Remove(parent, prev, child uint32) {
	if prev == 0 {
		d.Nodes[parent].First = d.Nodes[child].Next
	} else {
		d.Nodes[prev].Next = d.Nodes[child].Next
	}
	d.Nodes[parent].Live--
	d.Nodes[parent].Flags |= Dirty
}

// Append links a node as the last member of its container; the node's key is the one it has. It looks for the tail:
// where the last sibling is known, InsertAfter is faster. All ancestors of parent must be marked: see MarkDirty.
func (d *Doc) Append(parent, child uint32) {
	last := uint32(0)
	for c := d.Nodes[parent].First; c != 0; c = d.Nodes[c].Next {
		last = c
	}
	d.InsertAfter(parent, last, child)
}

// InsertAfter links a node behind the sibling prev, as the first member if prev is 0; the node's key is the one it has.
// All ancestors of parent must be marked: see MarkDirty.
func (d *Doc) InsertAfter(parent, prev, child uint32) {
	p := &d.Nodes[parent]
	if prev == 0 {
		d.Nodes[child].Next = p.First
		p.First = child
	} else {
		d.Nodes[child].Next = d.Nodes[prev].Next
		d.Nodes[prev].Next = child
	}
	p.Live++
	p.Flags |= Dirty
}

// Replace puts another value in the place of target, which keeps its key and its siblings; the node with is then no
// longer to be used. The ancestors of target must be marked: see MarkDirty.
func (d *Doc) Replace(target, with uint32) {
	t, w := &d.Nodes[target], &d.Nodes[with]
	t.Kind, t.Flags, t.Src = w.Kind, w.Flags, w.Src
	t.First, t.Off, t.End, t.Live, t.Val = w.First, w.Off, w.End, w.Live, w.Val
}

// MarkDirty marks containers below which something was changed, so that output does not copy their text. Code that
// changes something passes all its ancestors up to the root, in any order; 0 is ignored.
func (d *Doc) MarkDirty(ancestors ...uint32) {
	for _, a := range ancestors {
		if a != 0 {
			d.Nodes[a].Flags |= Dirty
		}
	}
}

// SetKey gives a node the key of a member, put into the Arena. It is for a node that Append or InsertAfter will link.
func (d *Doc) SetKey(i uint32, key string) {
	n := &d.Nodes[i]
	n.KeySrc, n.Key, n.KeyLen = Arena, uint32(len(d.Src[Arena])), uint32(len(key))
	d.Src[Arena] = append(d.Src[Arena], key...)
}
