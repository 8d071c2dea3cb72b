package value

// Own makes the nodes from one index up to another independent of the Defaults source: the text that they refer to
// there is copied into the Arena. It is for trees that outlive their program's defaults: another program's text comes
// in their place.
func (d *Doc) Own(from, to uint32) {
	var begin, end, moved uint32 // the text that was copied last, and where it is now
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
		if n.Off < begin || n.End > end { // not within a container whose text was copied: they come before what they contain
			begin, end, moved = n.Off, n.End, uint32(len(d.Src[Arena]))
			d.Src[Arena] = append(d.Src[Arena], d.Src[Defaults][begin:end]...)
		}
		n.Off, n.End, n.Src = n.Off+moved-begin, n.End+moved-begin, Arena
	}
}
