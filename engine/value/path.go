package value

import (
	"strconv"
	"strings"
)

// Segment is one step of a Path: into a member of an object or an element of an array. Make it with Name, Entry or At.
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

// Name is the step to the member of an object that a schema declares as a property; in doubt, the step to any member.
func Name(key string) Segment { return Segment{key: key} }

// Entry is the step to the value under a key of a map (additionalProperties). It differs from Name in Bracketed only.
func Entry(key string) Segment { return Segment{key: key, kind: entry} }

// At is the step to an element of an array, counted from 0.
func At(i int) Segment { return Segment{at: int32(i), kind: index} }

// IsIndex reports whether the step leads to an element of an array.
func (s Segment) IsIndex() bool { return s.kind == index }

// Key is the key of a step to a member, "" for an element.
func (s Segment) Key() string { return s.key }

// Index is the index of a step to an element, 0 for a member.
func (s Segment) Index() int { return int(s.at) }

// Path leads from a root to a value. Walkers append segments to one Path and cut it again; who keeps one takes a Clone,
// for the keys may also refer to a Doc's memory: see Detach.
type Path []Segment

// Clone returns a copy with its own array of segments.
func (p Path) Clone() Path { return append(Path(nil), p...) }

// Detach returns a copy that also owns its keys and so outlives the Doc that they came from.
func (p Path) Detach() Path {
	c := p.Clone()
	for i := range c {
		c[i].key = strings.Clone(c[i].key)
	}
	return c
}

// With returns a new path with segments added; p stays as it is, whatever its capacity.
func (p Path) With(segments ...Segment) Path { return append(p[:len(p):len(p)], segments...) }

// Equal reports whether two paths lead to the same place. Name and Entry steps with one key are equal.
func (p Path) Equal(q Path) bool {
	if len(p) != len(q) {
		return false
	}
	for i, s := range p {
		if s.key != q[i].key || s.at != q[i].at || s.IsIndex() != q[i].IsIndex() {
			return false
		}
	}
	return true
}

// Pointer renders the path as RFC 6901: /spec/versions/0/a~1b; "" for the root.
func (p Path) Pointer() string { return string(p.AppendPointer(nil)) }

// AppendPointer appends what Pointer returns.
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

// Dotted renders the path as kube-openapi's validators and the decoders' "unknown field" and "duplicate field" do: keys
// as they are, joined with dots, indexes in brackets: spec.a.b/c[0].r. A key that contains a dot cannot be
// distinguished from two keys.
func (p Path) Dotted() string { return string(p.AppendDotted(nil)) }

// AppendDotted appends what Dotted returns.
func (p Path) AppendDotted(dst []byte) []byte {
	for i, s := range p {
		if s.kind == index {
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(s.at), 10)
			dst = append(dst, ']')
			continue
		}
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = append(dst, s.key...)
	}
	return dst
}

// Bracketed renders the path as apimachinery's field.Path does: properties with dots, map keys and indexes in brackets:
// spec[a.b/c][0].r. Which keys are a map's only the schema knows: they are Entry segments. "<nil>" is the root's name
// there.
func (p Path) Bracketed() string { return string(p.AppendBracketed(nil)) }

// AppendBracketed appends what Bracketed returns.
func (p Path) AppendBracketed(dst []byte) []byte {
	if len(p) == 0 {
		return append(dst, "<nil>"...)
	}
	for i, s := range p {
		switch {
		case s.kind == index:
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(s.at), 10)
			dst = append(dst, ']')
		case s.kind == entry || s.key == "": // field.Path takes an empty name for a subscript
			dst = append(dst, '[')
			dst = append(dst, s.key...)
			dst = append(dst, ']')
		default:
			if i > 0 {
				dst = append(dst, '.')
			}
			dst = append(dst, s.key...)
		}
	}
	return dst
}

// String is Pointer, for logs and tests.
func (p Path) String() string { return p.Pointer() }
