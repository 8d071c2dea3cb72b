package value

import "fmt"

// Fragment is a member ready to be copied into a Doc: the nodes of a default, parsed once. It is immutable.
type Fragment struct {
	nodes   []Node // the member first; First and Next are relative to it, 0 means none; Off, End and Key refer to the Fragments' text
	strings []byte // what stands in the Arena of the Doc: contents of strings and keys that are written with escapes
}

// Len is the number of nodes that a Graft of the fragment adds.
func (f *Fragment) Len() int { return len(f.nodes) }

// Size is the length in bytes of the fragment's value as JSON text, as it was added.
func (f *Fragment) Size() int { return int(f.nodes[0].End - f.nodes[0].Off) }

// Fragments collects the fragments of one program. Their common Text is the Defaults source of each Doc into which they
// are grafted: SetSource(Defaults, text).
type Fragments struct {
	text []byte
}

// Text is what the nodes of the fragments refer to. It is complete when the last fragment was added.
func (s *Fragments) Text() []byte { return s.text }

// Add parses a value and makes it, under the key, a fragment of the set. The error is that of Parse.
func (s *Fragments) Add(key string, json []byte) (*Fragment, error) {
	d := Acquire()
	defer d.Release()
	limits := Limits{MaxBytes: maxSource}
	if _, err := d.Parse(json, Request, limits); err != nil {
		return nil, err
	}
	base := len(s.text)
	text := append(appendString(append(s.text, '{'), key, false), ':')
	text = append(append(text, json...), '}')
	if len(text) > maxSource {
		return nil, tooLarge(len(text), maxSource)
	}
	d.Reset()
	root, err := d.Parse(text[base:], Defaults, limits)
	if err != nil {
		return nil, fmt.Errorf("value under %q: %w", key, err) // one level too deep: it stood at the limit by itself
	}
	s.text = text
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

// Graft copies a fragment into the Doc and returns its node, which has its key and is linked nowhere: Append or Replace
// comes next. Src[Defaults] must be the text of the fragment's set.
func (d *Doc) Graft(f *Fragment) uint32 {
	base := uint32(len(d.Nodes))
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
