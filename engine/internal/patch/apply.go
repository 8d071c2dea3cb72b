package patch

import (
	"net/http"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// Type is a patch language. The zero Type is none.
type Type uint8

// The types.
const (
	Merge Type = iota + 1 // RFC 7386
	JSON                  // RFC 6902
)

// Bounds on patches.
const (
	// MaxOperations is how many operations a JSON patch may have.
	MaxOperations = 10_000
	// MaxCopied is how many bytes the copy operations of a JSON patch may add.
	MaxCopied = 3 << 20
	// MaxShifted is how many elements of lists the operations of a JSON patch may move to another index, all together. API servers have no
	// such bound: 10,000 insertions at the head of a list of a million take them minutes.
	MaxShifted = 1 << 28
	// MaxNested is how deep the operations of a JSON patch may nest lists and objects that they look into. API servers have no such bound, but decode
	// no object of more than 10,000 levels.
	MaxNested = 1 << 16
)

// Error is a patch that an API server refuses.
type Error struct {
	// Code is the HTTP status code: 400 for a patch that makes no sense, 413 for one with too many operations, 422 for one that does not fit
	// the object, 500 for one that crashes the handler.
	Code int
	// Text is what the API server says.
	Text string
	// Detail says what is wrong where Text does not; else it is empty.
	Detail string
}

// Error is what is known about it.
func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return e.Text
}

// Crash is what an API server answers when its handler panics.
const Crash = "This request caused apiserver to panic. Look in the logs for details."

func badRequest(text string) error { return &Error{Code: http.StatusBadRequest, Text: text} }

// Document is a patch that was read.
type Document struct {
	Type Type
	// Doc has the patch, Root is its root. They are the caller's to release, after the last use of a Tree that was made with them.
	Doc  *value.Doc
	Root uint32
	// Text is the patch as JSON.
	Text []byte
}

// Object is what is patched.
type Object struct {
	Doc  *value.Doc
	Root uint32
	// Printed says that the text is one that upstream has printed. Otherwise it would print it anew, keys sorted.
	Printed bool
}

// Apply applies a patch to an object. Neither is changed, and the Tree refers to both. With strict, what API servers decode
// only for the sake of field validation is decoded, and its errors come first. The error is an *Error, a *value.LimitError or value.ErrStopped.
func Apply(o Object, p Document, strict bool, s *interrupt.Signal) (*Tree, error) {
	if strict {
		if err := p.decode(); err != nil {
			return nil, err
		}
	}
	if err := p.readable(); err != nil {
		return nil, err
	}
	t := &Tree{old: o.Doc, printed: o.Printed, patch: p.Doc, stop: s}
	t.root = node{kind: ofOld, at: o.Root}
	var err error
	if p.Type == Merge {
		err = t.mergeInto(p.Root)
	} else {
		err = t.run(p)
	}
	switch {
	case err != nil:
		return nil, err
	case s.Stopped():
		return nil, value.ErrStopped
	case t.nested(t.root, MaxNested):
		return nil, tooNested()
	}
	return t, nil
}
