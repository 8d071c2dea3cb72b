package plan

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// texts is the memory of what the walk says.
func (t *tour) texts() *value.Slab {
	if t.at.Texts == nil {
		t.at.Texts = new(value.Slab)
	}
	return t.at.Texts
}

// field is the place as apimachinery's validators take it.
func (t *tour) field() *field.Path {
	p := t.at.Field
	for k := range t.way {
		switch s := &t.way[k]; s.kind {
		case stepProperty:
			p = p.Child(s.name)
		case stepAdditional:
			p = p.Key(s.name)
		case stepItem:
			p = p.Index(s.index)
		}
	}
	return p
}

// bracketed is the text of field, or of its Child below unless that is "".
func (t *tour) bracketed(below string) string {
	return t.texts().Text(func(b []byte) []byte {
		top := t.at.Field == nil
		if !top {
			b = append(b, t.at.Field.String()...)
		}
		child := func(name string) {
			if !top && name != "" {
				b = append(b, '.')
			}
			if b = append(b, name...); name == "" {
				b = append(b, "[]"...) // that is how a Path tells a subscript
			}
			top = false
		}
		for k := range t.way {
			switch s := &t.way[k]; s.kind {
			case stepProperty:
				child(s.name)
			case stepAdditional:
				b = append(append(append(b, '['), s.name...), ']')
				top = false
			case stepItem:
				b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
				top = false
			}
		}
		if below != "" {
			child(below)
		}
		if top {
			b = append(b, "<nil>"...)
		}
		return b
	})
}

// dotted is the path in the dialect of kube-openapi: no brackets around map keys, and a dot before a declared property only if
// something precedes it.
func (e *explainer) dotted() string {
	return e.texts().Text(func(b []byte) []byte {
		start := len(b)
		for k := range e.way {
			switch s := &e.way[k]; s.kind {
			case stepProperty:
				if len(b) > start {
					b = append(b, '.')
				}
				b = append(b, s.name...)
			case stepAdditional, stepPattern, stepDependency:
				if !quirk.On(quirk.TwoPathDialects) {
					b = append(append(append(b, '['), s.name...), ']')
					continue
				}
				b = append(append(b, '.'), s.name...)
			case stepItem:
				b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
			}
		}
		return b
	})
}

// violation wraps an error about node i, where the walk stands. Its path goes on by below, and its schema pointer by keyword unless that is "".
func (t *tour) violation(found violation.Step, i uint32, err *field.Error, below value.Path, keyword string) violation.Violation {
	return violation.Violation{
		Error:  err,
		Path:   t.path(t.way, below),
		Node:   i,
		Schema: t.pointer(t.way, keyword),
		Step:   found,
	}
}

// path is the path that the steps lead to and below, with its own memory.
func (t *tour) path(way []step, below value.Path) value.Path {
	p := make(value.Path, 0, len(t.at.Path)+len(way)+len(below))
	p = append(p, t.at.Path...)
	for k := range way {
		switch s := &way[k]; s.kind {
		case stepProperty:
			p = append(p, value.Name(t.texts().Clone(s.name)))
		case stepAdditional, stepPattern:
			p = append(p, value.Entry(t.texts().Clone(s.name)))
		case stepItem:
			p = append(p, value.At(s.index))
		}
	}
	return append(p, below...)
}

// pointer is the RFC 6901 pointer to the schema node that the steps lead to, or to a keyword of it.
func (t *tour) pointer(way []step, keyword string) string {
	return t.texts().Text(func(b []byte) []byte {
		b = append(b, t.at.Schema...)
		for k := range way {
			b = way[k].appendPointer(b)
		}
		if keyword != "" {
			b = append(append(b, '/'), keyword...)
		}
		return b
	})
}

func (s *step) appendPointer(b []byte) []byte {
	switch s.kind {
	case stepProperty:
		return appendEscaped(append(b, "/properties/"...), s.name)
	case stepAdditional:
		return append(b, "/additionalProperties"...)
	case stepPattern:
		return appendEscaped(append(b, "/patternProperties/"...), s.via)
	case stepDependency:
		return appendEscaped(append(b, "/dependencies/"...), s.name)
	case stepItem:
		if s.via == "" {
			return append(b, "/items"...)
		}
		return append(append(b, '/'), s.via...)
	case stepBranch:
		b = append(append(b, '/'), s.name...)
		if s.index >= 0 {
			b = strconv.AppendInt(append(b, '/'), int64(s.index), 10)
		}
	}
	return b
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func appendEscaped(b []byte, name string) []byte {
	if strings.IndexByte(name, '~') < 0 && strings.IndexByte(name, '/') < 0 {
		return append(b, name...)
	}
	return append(b, pointerEscaper.Replace(name)...)
}
