package tree

import (
	"strconv"
	"strings"
)

// Segment is one step of a Path: to a member of an object or an element of an array. Create it with Name, Entry or At.
type Segment struct {
	key  string
	at   int32
	kind segmentKind
}

type segmentKind uint8

const (
	named segmentKind = iota
	entry
	index
)

// Name returns the step to a member of an object that the schema declares as a property. It is also used if the schema
// is unknown.
func Name(key string) Segment { return Segment{key: key} }

// Entry returns the step to the value of a map key (additionalProperties). It differs from Name only in Bracketed.
func Entry(key string) Segment { return Segment{key: key, kind: entry} }

// At returns the step to an element of an array, counted from 0.
func At(i int) Segment { return Segment{at: int32(i), kind: index} }

// IsIndex reports whether the step leads to an element of an array.
func (s Segment) IsIndex() bool { return s.kind == index }

// Key returns the key of a step to a member, or "" for an element.
func (s Segment) Key() string { return s.key }

// Index returns the index of a step to an element, or 0 for a member.
func (s Segment) Index() int { return int(s.at) }

// Path is the list of steps from a root to a value. Walkers reuse one Path, so store a Clone. Keys may refer to a Doc's
// memory: see Detach.
type Path []Segment

// Clone returns a copy with its own array of segments.
func (p Path) Clone() Path { return append(Path(nil), p...) }

// Detach returns a copy that also owns its keys, so it outlives the Doc that they came from.
func (p Path) Detach() Path {
	c := p.Clone()
	for i := range c {
		c[i].key = strings.Clone(c[i].key)
	}
	return c
}

// With returns a new path with segments added. It never writes to the array of p.
func (p Path) With(segments ...Segment) Path { return append(p[:len(p):len(p)], segments...) }

// Pointer returns the path as a JSON pointer (RFC 6901): /spec/versions/0/a~1b, or "" for the root.
func (p Path) Pointer() string { return string(p.AppendPointer(nil)) }

// AppendPointer appends the result of Pointer.
func (p Path) AppendPointer(dst []byte) []byte {
	for _, s := range p {
		dst = append(dst, '/')
		if s.kind == index {
			dst = strconv.AppendInt(dst, int64(s.at), 10)
			continue
		}
		for i := 0; i < len(s.key); i++ {
			switch c := s.key[i]; c {
			case '~':
				dst = append(dst, "~0"...)
			case '/':
				dst = append(dst, "~1"...)
			default:
				dst = append(dst, c)
			}
		}
	}
	return dst
}

// Dotted returns the path as kube-openapi's validators and strict decoders write it: spec.a.b/c[0].r. A key with a dot
// looks like two keys.
func (p Path) Dotted() string { return string(p.AppendDotted(nil)) }

// AppendDotted appends the result of Dotted.
func (p Path) AppendDotted(dst []byte) []byte { return p.appendText(dst, false) }

// Bracketed returns the path as apimachinery's field.Path writes it, with map keys (Entry segments) and indexes in
// brackets: spec[a.b/c][0].r. The root is "<nil>".
func (p Path) Bracketed() string {
	if len(p) == 0 {
		return "<nil>"
	}
	return string(p.appendText(nil, true))
}

func (p Path) appendText(dst []byte, bracketed bool) []byte {
	for i, s := range p {
		switch {
		case s.kind == index:
			dst = append(strconv.AppendInt(append(dst, '['), int64(s.at), 10), ']')
		case bracketed && (s.kind == entry || s.key == ""): // field.Path treats an empty name as a subscript
			dst = append(append(append(dst, '['), s.key...), ']')
		default:
			if i > 0 {
				dst = append(dst, '.')
			}
			dst = append(dst, s.key...)
		}
	}
	return dst
}

// String returns Pointer.
func (p Path) String() string { return p.Pointer() }
