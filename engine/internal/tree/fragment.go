package tree

import "fmt"

// Fragment is a parsed default that can be copied into a Doc as a member. It is immutable.
type Fragment struct {
	// nodes starts with the member. First and Next are relative to it. Off, End and Key refer to Fragments.Text.
	nodes []Node
	// strings holds the unescaped contents of strings and keys, which Graft copies into the Arena.
	strings []byte
}

// Len returns the number of nodes that Graft adds.
func (f *Fragment) Len() int { return len(f.nodes) }

// Size returns the length in bytes of the value as JSON text.
func (f *Fragment) Size() int { return int(f.nodes[0].End - f.nodes[0].Off) }

// Fragments collects the fragments of one compiled plan. Set its Text as the Defaults source of each Doc before
// grafting.
type Fragments struct {
	Text []byte // the text that the fragments refer to, complete after the last Add
}

// Add parses a value and adds it to the set under the key, without white space. It returns the errors of Parse.
func (s *Fragments) Add(key string, json []byte) (*Fragment, error) {
	d := Acquire()
	defer d.Release()
	limits := Limits{MaxBytes: maxSource}
	root, err := d.Parse(json, Request, limits)
	if err != nil {
		return nil, err
	}
	base := len(s.Text)
	text := append(appendString(append(s.Text, '{'), key, false), ':')
	text = append(d.AppendDecoded(text, root), '}')
	if len(text) > maxSource {
		return nil, tooLarge(len(text), maxSource)
	}
	d.Reset()
	if root, err = d.Parse(text[base:], Defaults, limits); err != nil {
		return nil, fmt.Errorf("value under %q: %w", key, err) // the key adds one level of nesting
	}
	s.Text = text
	member := d.Nodes[root].First
	f := &Fragment{nodes: append([]Node(nil), d.Nodes[member:]...), strings: append([]byte(nil), d.Src[Arena]...)}
	for i := range f.nodes {
		n := &f.nodes[i]
		n.Off += uint32(base)
		n.End += uint32(base)
		if n.KeyLen > 0 && n.KeySrc == Defaults {
			n.Key += uint32(base)
		}
		if n.First != 0 {
			n.First -= member
		}
		if n.Next != 0 {
			n.Next -= member
		}
	}
	return f, nil
}

// Graft copies a fragment into the Doc and returns its node, which has a key but is not linked yet. Link it with
// Append, InsertAfter or Replace. Src[Defaults] must be the text of the fragment's set.
func (d *Doc) Graft(f *Fragment) uint32 {
	base := uint32(len(d.Nodes))
	if cap(d.Nodes)-len(d.Nodes) < len(f.nodes) {
		d.charge(cap(d.Nodes) + max(len(f.nodes), cap(d.Nodes)/4))
	}
	d.Nodes = append(d.Nodes, f.nodes...)
	added := d.Nodes[base:]
	for i := range added {
		if n := &added[i]; n.First != 0 {
			n.First += base
		}
		if n := &added[i]; n.Next != 0 {
			n.Next += base
		}
	}
	if len(f.strings) == 0 {
		return base
	}
	moved := uint32(len(d.Src[Arena]))
	d.Src[Arena] = append(d.Src[Arena], f.strings...)
	for i := range added {
		n := &added[i]
		if n.KeySrc == Arena {
			n.Key += moved
		}
		if n.Flags&Escaped != 0 {
			n.Val += uint64(moved) << 32
		}
	}
	return base
}

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
