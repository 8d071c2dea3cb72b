package value

import "unsafe"

// Slab allocates many small texts of one response in few pieces of memory. Texts are immutable and keep each other in
// memory. The zero Slab is empty.
type Slab struct{ text []byte }

// NewSlab returns a slab with capacity for the given number of bytes. It grows on demand.
func NewSlab(capacity int) Slab { return Slab{make([]byte, 0, capacity)} }

// Pointer returns Path.Pointer, allocated in the slab.
func (s *Slab) Pointer(p Path) string {
	from := len(s.text)
	s.text = p.AppendPointer(s.text)
	return s.since(from)
}

// Dotted returns Path.Dotted, allocated in the slab.
func (s *Slab) Dotted(p Path) string {
	from := len(s.text)
	s.text = p.AppendDotted(s.text)
	return s.since(from)
}

// JSON returns the output of AppendJSON. Appending to the result copies it.
func (s *Slab) JSON(d *Doc, i uint32) []byte {
	from := len(s.text)
	s.text = d.AppendJSON(s.text, i)
	return s.text[from:len(s.text):len(s.text)]
}

// A slab with less than leftOfSlab bytes left continues in a new piece of pieceOfSlab bytes.
const (
	pieceOfSlab = 1 << 10
	leftOfSlab  = 1 << 7
)

// Text returns the text that write appends to its argument.
func (s *Slab) Text(write func(dst []byte) []byte) string { return s.since(s.write(write)) }

// Bytes is like Text but returns bytes. Appending to the result copies it.
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

// Clone returns a copy of a text.
func (s *Slab) Clone(text string) string {
	if text == "" {
		return ""
	}
	return s.Text(func(dst []byte) []byte { return append(dst, text...) })
}

// since returns the text written after from. Growing the slab leaves earlier texts untouched.
func (s *Slab) since(from int) string {
	text := s.text[from:]
	return unsafe.String(unsafe.SliceData(text), len(text))
}
