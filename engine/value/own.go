package value

// Own copies the Defaults text of the nodes in [from, to) into the Arena. Trees that outlive their plan's defaults need
// this, because the Defaults source is then replaced.
func (d *Doc) Own(from, to uint32) {
	var begin, end, moved uint32 // range copied last, and its new offset
	for i := from; i < to; i++ {
		n := &d.Nodes[i]
		if n.KeyLen > 0 && n.KeySrc == Defaults {
			if n.Key >= begin && n.Key+n.KeyLen <= end {
				n.Key += moved - begin
			} else {
				key := uint32(len(d.Src[Arena]))
				d.Src[Arena] = append(d.Src[Arena], d.Src[Defaults][n.Key:n.Key+n.KeyLen]...)
				n.Key = key
			}
			n.KeySrc = Arena
		}
		if n.Src != Defaults {
			continue
		}
		// A container precedes its children, so their text is usually already copied.
		if n.Off < begin || n.End > end {
			begin, end, moved = n.Off, n.End, uint32(len(d.Src[Arena]))
			d.Src[Arena] = append(d.Src[Arena], d.Src[Defaults][begin:end]...)
		}
		n.Off, n.End, n.Src = n.Off+moved-begin, n.End+moved-begin, Arena
	}
}
