package value

import "unsafe"

// Slab is memory for the many small texts of one answer, which would each take an allocation of their own. Texts stay
// as they are for good, and keep each other in memory: an answer's are dropped together. The zero Slab is empty.
type Slab struct{ text []byte }

// NewSlab makes a slab with room for so many bytes; it grows beyond.
func NewSlab(room int) Slab { return Slab{make([]byte, 0, room)} }

// Pointer is Path.Pointer.
func (s *Slab) Pointer(p Path) string {
	from := len(s.text)
	s.text = p.AppendPointer(s.text)
	return s.since(from)
}

// Dotted is Path.Dotted.
func (s *Slab) Dotted(p Path) string {
	from := len(s.text)
	s.text = p.AppendDotted(s.text)
	return s.since(from)
}

// JSON is what AppendJSON appends. The bytes are the receiver's: appending to them copies them.
func (s *Slab) JSON(d *Doc, i uint32) []byte {
	from := len(s.text)
	s.text = d.AppendJSON(s.text, i)
	return s.text[from:len(s.text):len(s.text)]
}

// A slab that is full goes on in a new piece of memory: what is left of the old one is not worth a copy of what is in
// it.
const (
	pieceOfSlab = 1 << 10
	leftOfSlab  = 1 << 7
)

// Text is what write appends to the bytes that it is given.
func (s *Slab) Text(write func(dst []byte) []byte) string { return s.since(s.write(write)) }

// Bytes is Text, as bytes that are the receiver's: appending to them copies them.
func (s *Slab) Bytes(write func(dst []byte) []byte) []byte {
	from := s.write(write)
	return s.text[from:len(s.text):len(s.text)]
}

func (s *Slab) write(write func(dst []byte) []byte) (from int) {
	if cap(s.text)-len(s.text) < leftOfSlab {
		s.text = make([]byte, 0, pieceOfSlab)
	}
	from = len(s.text)
	s.text = write(s.text)
	return from
}

// Clone is a copy of a text.
func (s *Slab) Clone(text string) string {
	if text == "" {
		return ""
	}
	return s.Text(func(dst []byte) []byte { return append(dst, text...) })
}

// since is what was written last. What is in the slab is never written again: growing copies it, and leaves the old
// copy to those who have it.
func (s *Slab) since(from int) string {
	text := s.text[from:]
	return unsafe.String(unsafe.SliceData(text), len(text))
}
