package lens

import (
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// each is the step to the items of a list or the values of a map. No property can have this name.
const each = "\x00"

// path leads from the root of an object to a field. Its elements are names of properties, or each.
type path []string

// parsePath parses a path such as spec.ports[*].name or spec['a.b']. A leading dot is allowed.
func parsePath(text string) (p path, err error) {
	rest := text
	for first := true; rest != "" || first; first = false {
		switch {
		case strings.HasPrefix(rest, "[*]") && !first:
			p, rest = append(p, each), rest[len("[*]"):]
		case strings.HasPrefix(rest, "['"):
			name, after, found := strings.Cut(rest[2:], "']")
			if !found {
				return nil, errors.New("a bracket is not closed: write ['name'] or [*]")
			}
			p, rest = append(p, name), after
		case strings.HasPrefix(rest, "["):
			return nil, errors.New("brackets contain either * or a name in single quotes: [*] or ['name']")
		default:
			if after, dotted := strings.CutPrefix(rest, "."); dotted {
				rest = after
			} else if !first {
				return nil, fmt.Errorf("a dot is missing before %q", rest)
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, errors.New("a name is empty: write names separated by dots, such as spec.host")
			}
			p, rest = append(p, rest[:end]), rest[end:]
		}
	}
	if len(p) > maxPath {
		return nil, fmt.Errorf("it has %d steps, the limit is %d", len(p), maxPath)
	}
	if p[:1].isHead() {
		return nil, errors.New("apiVersion, kind and metadata are kept and cannot be converted")
	}
	return p, nil
}

// isHead reports whether the path is that of a field that conversions keep.
func (p path) isHead() bool {
	return len(p) == 1 && (p[0] == "apiVersion" || p[0] == "kind" || p[0] == "metadata")
}

// maxPath is the largest number of steps of a path.
const maxPath = 64

// String returns the path as parsePath reads it.
func (p path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step == each:
			b.WriteString("[*]")
		case strings.ContainsAny(step, ".[]'"):
			b.WriteString("['" + step + "']")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// shownPath returns a path as text, also that of the root.
func shownPath(p path) string { return either(len(p) > 0, p.String(), "the object") }

// with returns the path with a step added.
func (p path) with(step string) path { return append(p[:len(p):len(p)], step) }

// item returns the part of the path up to the last each: the path of the item that contains the field. It is nil
// without each.
func (p path) item() path {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == each {
			return p[:i+1]
		}
	}
	return nil
}

// step returns the schema of a property, of the items of a list, or of the values of a map. It is nil if there is
// none.
func step(s *schema.Props, name string) *schema.Props {
	switch {
	case s == nil:
		return nil
	case name != each:
		if p, found := s.Properties[name]; found {
			return &p
		}
		return nil
	case s.Type == "array":
		return schema.Items(s)
	}
	return schema.ValueSchema(s)
}

// steps returns the names of the properties of a schema, or each for a list or a map, if it has schemas for them.
func steps(s *schema.Props) []string {
	if len(s.Properties) == 0 && step(s, each) != nil {
		return []string{each}
	}
	return schema.Names(s.Properties)
}

// resolve returns the schema at a path, or nil. known is the part of the path that exists.
func (p path) resolve(s *schema.Props) (found *schema.Props, known path) {
	for i, name := range p {
		below := step(s, name)
		if below == nil {
			return nil, p[:i]
		}
		s = below
	}
	return s, p
}
