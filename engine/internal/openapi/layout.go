package openapi

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// Parts are what a document is put together of.
type Parts struct {
	Count int
	// Make makes one of them, or has it from before. It may be asked for one again, and has to answer an equal one: parts that would take much memory
	// together are made a first time to know how long they are and a second time to be written.
	Make func(i int) (*Part, error)
}

// PartsOf are parts that are there already.
func PartsOf(parts ...*Part) Parts {
	return Parts{Count: len(parts), Make: func(i int) (*Part, error) { return parts[i], nil }}
}

// Room is the room that a document has.
type Room struct {
	// MaxBytes bounds it.
	MaxBytes int64
	// Take is asked for the memory of a document, with the number of its bytes, before that is allocated. Its error is passed on. Nil: it is there.
	Take func(bytes int64) error
}

// heldBytes is how much of the parts stays in memory between the first time and the second.
const heldBytes = 8 << 20

// ErrChanged is the error of parts that are others when they are made again.
var ErrChanged = errors.New("a CRD has changed while its OpenAPI document was written")

// section is one of a document's maps.
type section int

const (
	paths section = iota
	definitions
	parameters
	sections
)

// layout is where everything stands in a document. It knows how long the texts are, and has none.
type layout struct {
	form     Form
	members  [sections]map[string]member
	own      int     // members that are the parts' own
	held     []*Part // the first parts
	bytes    int64   // of the members, with what is around them
	conflict string  // the first definition that is there twice
	key      []byte  // scratch
}

// member is a member of a map: its text is one of the part's, or a definition that all resources share.
type member struct {
	part, entry int // of the part's section; everyones for none
	length      int
	at          int // where the text stands in the document
}

const everyones = -1

// lay finds out what the document has. The error is one of making parts, or a *value.LimitError as soon as there is more than maxBytes.
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
			held = math.MaxInt64 / 2 // no later one either: they are the first ones
		}
	}
	return l, nil
}

// put enters a member; of several of one name the last counts.
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

// part has a part again.
func (l *layout) part(parts Parts, i int) (*Part, error) {
	if i < len(l.held) {
		return l.held[i], nil
	}
	return parts.Make(i)
}

// around is more than there is in a document beside the members of its maps.
const around = 256

// begin returns a writer with room for the document.
func (l *layout) begin(room Room) (*writer, error) {
	size := l.bytes + around
	if room.Take != nil {
		if err := room.Take(size); err != nil {
			return nil, err
		}
	}
	return &writer{form: l.form, out: make([]byte, 0, size)}, nil
}

// outline writes a map in the order of its keys, leaving room for the texts that are the parts'.
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
		w.out[len(w.out)-1] = '}' // what separates members looks at what came before
	}
	w.close('}')
}

// fill writes the texts into the room that outline has left, and returns the document.
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
