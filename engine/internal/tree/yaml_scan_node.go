package tree

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// add adds a node without a value to the container f, as an element. The place is that of the key, and of a value that
// is absent. add writes the comma before the node. It returns nil if the work is over.
func (s *yamlScanner) add(f *frame, at place) *Node {
	me := len(s.nodes)
	if (me == cap(s.nodes) || me%stopEvery == 0) && !s.grow() {
		return nil
	}
	nodes := s.nodes[:me+1]
	s.nodes = nodes
	parent, p := &nodes[f.node], &nodes[me]
	p.Kind, p.Flags, p.Src, p.KeySrc = Null, 0, s.source, Request
	p.KeyLen, p.Key = 0, parent.Live
	p.Next, p.First = 0, 0
	p.Off, p.End = 0, 0
	p.Live, p.Val = 0, 0
	parent.Live++
	if f.last == 0 {
		parent.First = uint32(me)
	} else {
		nodes[f.last].Next = uint32(me)
		s.out = append(s.out, ',')
	}
	f.last = uint32(me)
	s.pending = true
	s.places = append(s.places, at)
	return p
}

// set sets the kind of the last node, whose value is at an offset of the YAML text. Its JSON text begins at the end of
// out.
func (s *yamlScanner) set(kind Kind, at int) *Node {
	n := &s.nodes[len(s.nodes)-1]
	n.Kind, n.Off = kind, uint32(len(s.out))
	s.places[len(s.places)-1].value = uint32(at)
	s.pending = false
	return n
}

// grow makes the Doc larger if it is full. It returns false if the work is over.
func (s *yamlScanner) grow() bool {
	if len(s.nodes) == cap(s.nodes) {
		s.doc.charge(2 * cap(s.nodes))
	}
	if len(s.nodes) >= stopEvery && s.doc.stopped() {
		s.stopped = true
		return false
	}
	s.nodes = append(s.nodes, Node{})[:len(s.nodes)]
	return true
}

// open begins a container at i.
func (s *yamlScanner) open(kind Kind, column int) bool {
	if len(s.frames) > s.maxDepth {
		return false
	}
	s.set(kind, s.i)
	s.frames = append(s.frames, frame{uint32(len(s.nodes) - 1), 0, column, kind == Array})
	s.out = append(s.out, "[{"[kind-Array])
	return true
}

// close ends the innermost container.
func (s *yamlScanner) close() bool {
	if s.pending {
		s.absent()
	}
	f := s.frame()
	s.out = append(s.out, f.closing())
	n := &s.nodes[f.node]
	n.End = uint32(len(s.out))
	s.frames = s.frames[:len(s.frames)-1]
	if n.Flags&unsortedKeys == 0 {
		return true
	}
	inside := len(s.nodes) - int(f.node) - 1
	if s.moved += inside; s.moved > len(s.nodes)-s.first { // objects in objects: sort all together, at the end
		s.moved -= inside
		return true
	}
	return s.sort(f.node, int(f.node)+1)
}

// absent sets the value of a key or dash without a value to null.
func (s *yamlScanner) absent() { s.literal(Null, "null", int(s.places[len(s.places)-1].value)) }

// literal sets a value to null, true or false.
func (s *yamlScanner) literal(kind Kind, json string, at int) {
	n := s.set(kind, at)
	s.out = append(s.out, json...)
	n.End = uint32(len(s.out))
}

// endString ends a String whose quote and content are in out from p.Off. special is set if the content may need escapes.
func (s *yamlScanner) endString(p *Node, special bool) {
	content := s.out[p.Off+1:]
	if special {
		arena := s.doc.Src[Arena]
		start := len(arena)
		arena = append(arena, content...)
		s.out = appendString(s.out[:p.Off], bytesAsString(arena[start:]), false)
		s.escaped(p, arena, start)
		return
	}
	s.endWide(p)
	s.out = append(s.out, '"')
	p.End = uint32(len(s.out))
}

// escaped ends a String whose JSON text is in out from p.Off, and its content in the arena from start.
func (s *yamlScanner) escaped(p *Node, arena []byte, start int) {
	p.End = uint32(len(s.out))
	content := arena[start:]
	s.endWide(p)
	if int(p.End-p.Off) == len(content)+len(`""`) {
		arena = arena[:start]
	} else {
		p.Flags |= Escaped
		p.Val = uint64(start)<<32 | uint64(len(content))
	}
	s.doc.Src[Arena] = arena
}

// endWide sets Wide for a String that is read.
func (s *yamlScanner) endWide(n *Node) {
	if s.wide {
		n.Flags |= Wide
		s.wide = false
	}
}

// setString sets a value to a String without escapes. Its content is text[from:to].
func (s *yamlScanner) setString(at, from, to int) {
	n := s.set(String, at)
	s.out = appendQuoted(s.out, s.text, from, to)
	n.End = uint32(len(s.out))
	s.endWide(n)
}

// appendQuoted appends text[from:to] in quotes. It copies a short text without a call, and some bytes after it too.
func appendQuoted(out, text []byte, from, to int) []byte {
	const short = 32
	n, length := len(out), to-from
	if length > short || len(text)-from < short || cap(out)-n < short+len(`""`) {
		return appendLong(out, text[from:to])
	}
	out = out[:n+short+len(`""`)]
	out[n] = '"'
	a, b := (*[short]byte)(out[n+1:]), (*[short]byte)(text[from:]) // an assignment of arrays would call memmove
	binary.LittleEndian.PutUint64(a[:], binary.LittleEndian.Uint64(b[:]))
	binary.LittleEndian.PutUint64(a[8:], binary.LittleEndian.Uint64(b[8:]))
	binary.LittleEndian.PutUint64(a[16:], binary.LittleEndian.Uint64(b[16:]))
	binary.LittleEndian.PutUint64(a[24:], binary.LittleEndian.Uint64(b[24:]))
	out[n+1+length] = '"'
	return out[:n+length+len(`""`)]
}

// appendLong is appendQuoted for other texts. It is separate so that appendQuoted stays short.
//
//go:noinline
func appendLong(out, text []byte) []byte {
	out = append(slices.Grow(out, len(text)+len(`""`)), '"')
	return append(append(out, text...), '"')
}

// maxScannedKey is below the length at which the YAML library no longer reads a text as a key.
const maxScannedKey = 1000

// addKey adds the node of the next member of the innermost object. The content of its key is text[from:to]. special is
// set if the key may need escapes.
func (s *yamlScanner) addKey(from, to, colon int, special bool) bool {
	at := from - (colon - to) // one byte before the content of a quoted key
	if colon-at > maxScannedKey {
		return false
	}
	s.wide = false
	f, content := s.frame(), s.text[from:to]
	last := f.last
	p := s.add(f, place{uint32(at), uint32(colon + 1)})
	if p == nil {
		return false
	}
	if last != 0 && !s.ascending(&s.nodes[last], content) {
		object := &s.nodes[f.node]
		if object.Flags&unsortedKeys == 0 {
			s.unsorted++
		}
		object.Flags |= unsortedKeys
	}
	out := s.out
	p.KeySrc, p.KeyLen, p.Key = s.source, uint32(to-from), uint32(len(out)+1)
	if special {
		begin := len(out)
		out = appendString(out, bytesAsString(content), false)
		if len(out)-begin != len(content)+len(`""`) {
			p.KeySrc, p.Key = Arena, uint32(len(s.doc.Src[Arena]))
			s.doc.Src[Arena] = append(s.doc.Src[Arena], content...)
		}
	} else {
		out = appendQuoted(out, s.text, from, to)
	}
	out = append(out, ':')
	s.out = out
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
