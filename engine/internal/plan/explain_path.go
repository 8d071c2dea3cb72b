package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// texts returns the memory for texts.
func (t *walker) texts() *tree.Slab {
	if t.at.Texts == nil {
		t.at.Texts = new(tree.Slab)
	}
	return t.at.Texts
}

// field returns the current path for apimachinery's validators.
func (t *walker) field() *field.Path {
	p := t.at.Field
	for k := range t.steps {
		switch s := &t.steps[k]; s.kind {
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

// bracketed returns the text of field, or of its Child below unless that is "".
func (t *walker) bracketed(below string) string {
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
				b = append(b, "[]"...) // a Path prints an empty name like this
			}
			top = false
		}
		for k := range t.steps {
			switch s := &t.steps[k]; s.kind {
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

// dotted returns the path as kube-openapi prints it: without brackets around map keys, and with a dot before a declared
// property only if something precedes it.
func (e *explainer) dotted() string {
	return e.texts().Text(func(b []byte) []byte {
		start := len(b)
		for k := range e.steps {
			switch s := &e.steps[k]; s.kind {
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

// violation returns a Violation for an error about node i at the current path. below extends the path, and keyword the
// schema pointer.
func (t *walker) violation(found violation.Step, i uint32, err *field.Error, below tree.Path,
	keyword string) violation.Violation {
	return violation.Violation{
		Error:  err,
		Path:   t.path(below),
		Node:   i,
		Schema: t.pointer(keyword),
		Step:   found,
	}
}

// path returns the current path, extended by below. It has its own memory.
func (t *walker) path(below tree.Path) tree.Path {
	p := append(t.texts().Path(len(t.at.Path)+len(t.steps)+len(below)), t.at.Path...)
	for k := range t.steps {
		switch s := &t.steps[k]; s.kind {
		case stepProperty:
			p = append(p, tree.Name(t.texts().Clone(s.name)))
		case stepAdditional, stepPattern:
			p = append(p, tree.Entry(t.texts().Clone(s.name)))
		case stepItem:
			p = append(p, tree.At(s.index))
		}
	}
	return append(p, below...)
}

// pointer returns the RFC 6901 pointer to the current schema node, or to a keyword of it.
func (t *walker) pointer(keyword string) string {
	return t.texts().Text(func(b []byte) []byte {
		b = append(b, t.at.Schema...)
		for k := range t.steps {
			b = t.steps[k].appendPointer(b)
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
		return tree.Path{tree.Name(s.name)}.AppendPointer(append(b, "/properties"...))
	case stepAdditional:
		return append(b, "/additionalProperties"...)
	case stepPattern:
		return tree.Path{tree.Name(s.via)}.AppendPointer(append(b, "/patternProperties"...))
	case stepDependency:
		return tree.Path{tree.Name(s.name)}.AppendPointer(append(b, "/dependencies"...))
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
