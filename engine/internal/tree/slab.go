package tree

import "unsafe"

// Slab allocates many small texts and paths of one response in few pieces of memory. Texts are immutable and keep each
// other in memory. The zero Slab is empty.
type Slab struct {
	text     []byte
	segments Path // that are not in use
}

// A slab with less than leftOfSlab bytes left continues in a new piece of pieceOfSlab bytes, or pieceOfPaths segments.
const (
	pieceOfSlab  = 1 << 10
	pieceOfPaths = 1 << 5
	leftOfSlab   = 1 << 7
)

// NewSlab returns a slab whose first piece has capacity for the given number of bytes.
func NewSlab(capacity int) Slab { return Slab{text: make([]byte, 0, capacity+leftOfSlab)} }

// Text returns the text that write appends to its argument.
func (s *Slab) Text(write func(dst []byte) []byte) string {
	text := s.Bytes(write)
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// Bytes is like Text but returns bytes. Appending to the result copies it.
func (s *Slab) Bytes(write func(dst []byte) []byte) []byte {
	if cap(s.text)-len(s.text) < leftOfSlab {
		s.text = make([]byte, 0, min(max(pieceOfSlab, 2*cap(s.text)), 8*pieceOfSlab))
	}
	from := len(s.text)
	s.text = write(s.text)
	return s.text[from:len(s.text):len(s.text)]
}

// Path returns an empty path with a capacity.
func (s *Slab) Path(capacity int) Path {
	if len(s.segments) < capacity {
		s.segments = make(Path, max(capacity, pieceOfPaths))
	}
	p := s.segments[:0:capacity]
	s.segments = s.segments[capacity:]
	return p
}

// Clone returns a copy of a text.
func (s *Slab) Clone(text string) string {
	if text == "" {
		return ""
	}
	return s.Text(func(dst []byte) []byte { return append(dst, text...) })
}
