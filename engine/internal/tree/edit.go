package tree

// Remove unlinks a member or element from its container. prev is its previous sibling, or 0 if it is the first. The
// removed node keeps its Next, so a loop over the siblings can continue. The caller must mark all ancestors of parent:
// see MarkDirty.
func (d *Doc) Remove(parent, prev, child uint32) {
	if prev == 0 {
		d.Nodes[parent].First = d.Nodes[child].Next
	} else {
		d.Nodes[prev].Next = d.Nodes[child].Next
	}
	d.Nodes[parent].Live--
	d.Nodes[parent].Flags |= Dirty
}

// Append links a node as the last member of its container under the node's own key. It searches for the tail; use
// InsertAfter if the last sibling is known. The caller must mark all ancestors of parent: see MarkDirty.
func (d *Doc) Append(parent, child uint32) {
	last := uint32(0)
	for c := d.Nodes[parent].First; c != 0; c = d.Nodes[c].Next {
		last = c
	}
	d.InsertAfter(parent, last, child)
}

// InsertAfter links a node after the sibling prev under the node's own key, or as the first member if prev is 0. The
// caller must mark all ancestors of parent: see MarkDirty.
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

// Replace sets target to the value of another node and keeps the key and siblings of target. The node with must not be
// used afterwards. The caller must mark the ancestors of target: see MarkDirty.
func (d *Doc) Replace(target, with uint32) {
	t, w := &d.Nodes[target], &d.Nodes[with]
	t.Kind, t.Flags, t.Src = w.Kind, w.Flags, w.Src
	t.First, t.Off, t.End, t.Live, t.Val = w.First, w.Off, w.End, w.Live, w.Val
}

// MarkDirty marks containers with changes below them, so that output does not copy their source text. Code that changes
// a node passes all its ancestors up to the root, in any order. 0 is ignored.
func (d *Doc) MarkDirty(ancestors ...uint32) {
	for _, a := range ancestors {
		if a != 0 {
			d.Nodes[a].Flags |= Dirty
		}
	}
}

// SetKey sets the key of a node that Append or InsertAfter will link. The key is copied into the Arena.
func (d *Doc) SetKey(i uint32, key string) {
	n := &d.Nodes[i]
	n.KeySrc, n.Key, n.KeyLen = Arena, uint32(len(d.Src[Arena])), uint32(len(key))
	d.Src[Arena] = append(d.Src[Arena], key...)
}
