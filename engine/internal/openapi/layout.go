package openapi

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// Parts is the list of parts of a document.
type Parts struct {
	Count int
	// Make returns part i, newly built or cached. It may be called twice and must return an equal part: large documents
	// build their parts once to measure them and once to write them.
	Make func(i int) (*Part, error)
}

// PartsOf returns Parts for existing parts.
func PartsOf(parts ...*Part) Parts {
	return Parts{Count: len(parts), Make: func(i int) (*Part, error) { return parts[i], nil }}
}

// Room bounds the memory of a document.
type Room struct {
	// MaxBytes is the maximum size of the document in bytes.
	MaxBytes int64
	// Take reserves memory before the document is allocated. Its error is returned unchanged. Nil reserves nothing.
	Take func(bytes int64) error
}

// heldBytes is the maximum size of parts that stay in memory between measuring and writing.
const heldBytes = 8 << 20

// ErrChanged reports that Make returned a different part on the second call.
var ErrChanged = errors.New("a CRD has changed while its OpenAPI document was written")

// section identifies one of a document's maps.
type section int

const (
	paths section = iota
	definitions
	parameters
	sections
)

// layout holds the lengths and positions of all texts of a document, but not the texts.
type layout struct {
	form     Form
	members  [sections]map[string]member
	own      int     // number of members that come from parts
	held     []*Part // the first parts
	bytes    int64   // size of the members, including keys and separators
	conflict string  // the first definition that occurs twice
	key      []byte  // scratch
}

// member is a member of a map: an entry of a part, or a definition shared by all resources.
type member struct {
	part, entry int // part is everyones for a shared definition
	length      int
	at          int // offset of the text in the document
}

const everyones = -1

// lay measures the document. The error is one of Make, or a *value.LimitError as soon as it exceeds maxBytes.
func lay(parts Parts, form Form, maxBytes int64) (*layout, error) {
	l := &layout{form: form}
	for s := range l.members {
		l.members[s] = map[string]member{}
	}
	held := int64(0)
	for i := range parts.Count {
		p, err := parts.Make(i)
		if err != nil {
			return nil, err
		}
		for _, name := range p.shared {
			if _, ok := l.members[definitions][name]; !ok {
				l.put(definitions, name, member{part: everyones, length: len(static().Definitions[name].text(form))})
			}
		}
		for s, entries := range p.sections() {
			for k, e := range entries {
				l.put(s, e.name, member{part: i, entry: k, length: len(e.text)})
			}
		}
		if l.bytes > maxBytes {
			return nil, TooLarge(l.bytes, maxBytes)
		}
		if held += p.Size(); held <= heldBytes {
			l.held = append(l.held, p)
		} else {
			held = math.MaxInt64 / 2 // keep only a prefix of the parts
		}
	}
	return l, nil
}

// put adds a member. The last member with a name counts.
func (l *layout) put(s section, name string, m member) {
	old, ok := l.members[s][name]
	if !ok {
		l.key = value.AppendCanonicalString(l.key[:0], name)
		l.bytes += int64(len(l.key) + len(":,"))
	}
	if ok && s == definitions && old.part != everyones && l.conflict == "" {
		l.conflict = name
	}
	if m.part != everyones && (!ok || old.part == everyones) {
		l.own++
	}
	l.bytes += int64(m.length - old.length)
	l.members[s][name] = m
}

// part returns a held part, or builds it again.
func (l *layout) part(parts Parts, i int) (*Part, error) {
	if i < len(l.held) {
		return l.held[i], nil
	}
	return parts.Make(i)
}

// around is an upper bound for the bytes outside the members of the maps.
const around = 256

// begin returns a writer with capacity for the document.
func (l *layout) begin(room Room) (*writer, error) {
	size := l.bytes + around
	if room.Take != nil {
		if err := room.Take(size); err != nil {
			return nil, err
		}
	}
	return &writer{form: l.form, out: make([]byte, 0, size)}, nil
}

// outline writes a map in key order and leaves gaps for the texts of the parts.
func (l *layout) outline(w *writer, s section) {
	w.open('{')
	for _, name := range slices.Sorted(maps.Keys(l.members[s])) {
		m := l.members[s][name]
		if w.key(name); m.part == everyones {
			w.raw(static().Definitions[name].text(l.form))
			continue
		}
		m.at = len(w.out)
		l.members[s][name] = m
		w.out = w.out[:m.at+m.length]
		w.out[len(w.out)-1] = '}' // comma checks the previous byte
	}
	w.close('}')
}

// fill copies the texts into the gaps left by outline and returns the document.
func (l *layout) fill(w *writer, parts Parts) ([]byte, error) {
	filled := 0
	for i := range parts.Count {
		p, err := l.part(parts, i)
		if err != nil {
			return nil, err
		}
		for s, entries := range p.sections() {
			for k, e := range entries {
				m, ok := l.members[s][e.name]
				switch {
				case !ok:
					return nil, ErrChanged
				case m.part != i || m.entry != k:
				case m.length != len(e.text):
					return nil, ErrChanged
				default:
					copy(w.out[m.at:], e.text)
					filled++
				}
			}
		}
	}
	if filled != l.own {
		return nil, ErrChanged
	}
	return w.out, nil
}
