package value

import (
	"bytes"
	"slices"
)

// add adds a node for the value at an offset of the YAML text. Its JSON text begins at the end of out. It returns nil if
// the work is over.
func (s *yamlScanner) add(kind Kind, at int) *Node {
	d := s.doc
	if len(d.Nodes) == cap(d.Nodes) || len(d.Nodes)%stopEvery == 0 {
		if !s.grow() {
			return nil
		}
	}
	me := uint32(len(d.Nodes))
	nodes := d.Nodes[:me+1]
	d.Nodes = nodes
	f := &s.frames[len(s.frames)-1]
	parent, p := &nodes[f.node], &nodes[me]
	p.Kind, p.Flags, p.Src, p.KeySrc = kind, 0, s.source, s.key.source
	p.KeyLen, p.Key = s.key.length, s.key.off
	if parent.Kind == Array {
		p.Key = parent.Live
	}
	p.Next, p.First = 0, 0
	p.Off, p.End = uint32(len(s.out)), 0
	p.Live, p.Val = 0, 0
	parent.Live++
	if f.last == 0 {
		parent.First = me
	} else {
		nodes[f.last].Next = me
	}
	f.last = me
	s.pending = false
	s.places = append(s.places, place{s.key.at, uint32(at)})
	return p
}

// grow makes the Doc larger if it is full. It returns false if the work is over.
func (s *yamlScanner) grow() bool {
	d := s.doc
	if len(d.Nodes) == cap(d.Nodes) {
		d.charge(2 * cap(d.Nodes))
	}
	if len(d.Nodes) >= stopEvery && d.stopped() {
		s.stopped = true
		return false
	}
	d.Nodes = append(d.Nodes, Node{})[:len(d.Nodes)]
	return true
}

// open adds a container that begins at i.
func (s *yamlScanner) open(kind Kind, column int) bool {
	if len(s.frames) > s.maxDepth || s.add(kind, s.i) == nil {
		return false
	}
	s.frames = append(s.frames, frame{uint32(len(s.doc.Nodes) - 1), 0, column, kind == Array})
	c := byte('{')
	if kind == Array {
		c = '['
	}
	s.out = append(s.out, c)
	return true
}

// close ends the innermost container.
func (s *yamlScanner) close() bool {
	if s.pending && !s.absent() {
		return false
	}
	f := &s.frames[len(s.frames)-1]
	c := byte('}')
	if f.sequence {
		c = ']'
	}
	s.out = append(s.out, c)
	n := &s.doc.Nodes[f.node]
	n.End = uint32(len(s.out))
	s.frames = s.frames[:len(s.frames)-1]
	if n.Flags&unsortedKeys == 0 {
		return true
	}
	inside := len(s.doc.Nodes) - int(f.node) - 1
	if s.moved += inside; s.moved > len(s.doc.Nodes)-s.first { // objects in objects: sort all together, at the end
		s.moved -= inside
		return true
	}
	return s.sort(f.node, int(f.node)+1)
}

// absent adds the null of a key or dash without a value.
func (s *yamlScanner) absent() bool { return s.literal(Null, "null", int(s.key.empty)) }

// literal adds null, true or false.
func (s *yamlScanner) literal(kind Kind, json string, at int) bool {
	p := s.add(kind, at)
	if p == nil {
		return false
	}
	s.out = append(s.out, json...)
	p.End = uint32(len(s.out))
	return true
}

// endString ends a String whose quote and content are in out from p.Off. special is set if the content may need escapes.
func (s *yamlScanner) endString(p *Node, special bool) {
	from := int(p.Off) + 1
	if !s.ascii && wide(s.out[from:]) {
		p.Flags |= Wide
	}
	if special {
		arena := s.doc.Src[Arena]
		start := len(arena)
		arena = append(arena, s.out[from:]...)
		s.doc.Src[Arena] = arena
		s.out = appendString(s.out[:p.Off], bytesAsString(arena[start:]), false)
		if len(s.out)-int(p.Off)-len(`""`) == len(arena)-start {
			s.doc.Src[Arena] = arena[:start]
		} else {
			p.Flags |= Escaped
			p.Val = uint64(start)<<32 | uint64(len(arena)-start)
		}
	} else {
		s.out = append(s.out, '"')
	}
	p.End = uint32(len(s.out))
}

// addString adds a String without escapes.
func (s *yamlScanner) addString(at int, text []byte) bool {
	p := s.add(String, at)
	if p == nil {
		return false
	}
	out := append(slices.Grow(s.out, len(text)+len(`""`)), '"')
	out = append(out, text...)
	out = append(out, '"')
	s.out = out
	p.End = uint32(len(s.out))
	if !s.ascii && wide(text) {
		p.Flags = Wide
	}
	return true
}

// scannedKey is a key in the YAML text.
type scannedKey struct {
	from, to int // of its content
	at       int // of its first byte
	colon    int
	special  bool // it may need escapes
}

// maxScannedKey is below the length at which the YAML library no longer reads a text as a key.
const maxScannedKey = 1000

// addKey writes name as a key of the innermost object.
func (s *yamlScanner) addKey() bool {
	k := &s.name
	if k.colon-k.at > maxScannedKey {
		return false
	}
	f := &s.frames[len(s.frames)-1]
	content, out := s.text[k.from:k.to], slices.Grow(s.out, k.to-k.from+len(`,"":`))
	if f.last != 0 {
		out = append(out, ',')
	}
	s.pending = true
	s.key.at = uint32(k.at)
	s.key.length = uint32(len(content))
	s.key.source = s.source
	s.key.off = uint32(len(out) + 1)
	if k.special {
		begin := len(out)
		out = appendString(out, bytesAsString(content), false)
		if len(out)-begin != len(content)+len(`""`) {
			s.key.source, s.key.off = Arena, uint32(len(s.doc.Src[Arena]))
			s.doc.Src[Arena] = append(s.doc.Src[Arena], content...)
		}
		out = append(out, ':')
	} else {
		out = append(out, '"')
		out = append(out, content...)
		out = append(out, '"', ':')
	}
	s.out = out
	if f.last != 0 && !s.ascending(&s.doc.Nodes[f.last], content) {
		object := &s.doc.Nodes[f.node]
		if object.Flags&unsortedKeys == 0 {
			s.unsorted++
		}
		object.Flags |= unsortedKeys
	}
	return true
}

// ascending reports whether the key of a node is below another key.
func (s *yamlScanner) ascending(n *Node, next []byte) bool {
	key := s.keyOf(n)
	if len(key) > 0 && len(next) > 0 && key[0] != next[0] {
		return key[0] < next[0]
	}
	return bytes.Compare(key, next) < 0
}

// keyOf returns the key of a node during the scan.
func (s *yamlScanner) keyOf(n *Node) []byte {
	if n.KeySrc == Arena {
		return s.doc.Src[Arena][n.Key : n.Key+n.KeyLen]
	}
	return s.out[n.Key : n.Key+n.KeyLen]
}
