// Package patch applies the two patch languages that API servers accept for custom resources: JSON merge patches (RFC
// 7386) and JSON patches (RFC 6902). It behaves like the library that API servers use. It does not know Kubernetes
// objects. It returns HTTP status codes, but uses nothing else of HTTP.
//
// That library parses texts lazily, along the paths of operations, and this is visible: the operation "test" compares
// unparsed texts, and parsing changes how texts are printed. So a Tree has closed, opened and copied nodes over the two
// documents, without copies of their texts. Read apply.go first, then node.go and operation.go.
//
// Cost and memory are bounded: a node is opened once, copies may take 3 MiB as upstream, and moves of list elements and
// the depth of nested copies are counted. A merge patch opens nothing: it is merged while the result is printed.
//
// Upstream: gopkg.in/evanphx/json-patch.v4 patch.go and merge.go; k8s.io/apiserver pkg/endpoints/handlers/patch.go,
// applyJSPatch.
package patch

import (
	"errors"
	"net/http"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Type is a patch language. The zero Type is invalid.
type Type uint8

// The types.
const (
	Merge Type = iota + 1 // RFC 7386
	JSON                  // RFC 6902
)

// Bounds on patches.
const (
	// MaxOperations is the maximum number of operations of a JSON patch.
	MaxOperations = 10_000
	// MaxCopied is how many bytes the copy operations of a JSON patch may add.
	MaxCopied = 3 << 20
	// MaxShifted is how many list elements the operations of a JSON patch may move to another index in total. API
	// servers have no such bound: 10,000 insertions at the head of a list of a million take them minutes.
	MaxShifted = 1 << 28
	// MaxNested is how deep the operations of a JSON patch may nest the containers that they read. API servers have no
	// such bound, but decode no object of more than 10,000 levels.
	MaxNested = 1 << 16
)

// Error is the error of a patch that an API server rejects.
type Error struct {
	// Code is the HTTP status code: 400 for a malformed patch, 413 for too many operations, 422 for a patch that does
	// not match the object, 500 for one that makes the handler panic.
	Code int
	// Text is the API server's message.
	Text string
	// Detail is the reason if Text does not have it, else empty.
	Detail string
	// Operation is the index of the operation of a JSON patch, -1 if the error is about none.
	Operation int
}

// Error returns the detail or the text.
func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return e.Text
}

// Crash is an API server's answer if its handler panics.
const Crash = "This request caused apiserver to panic. Look in the logs for details."

func badRequest(text string) error {
	return &Error{Code: http.StatusBadRequest, Text: text, Operation: -1}
}

// Document is a parsed patch.
type Document struct {
	Type Type
	// Doc holds the patch, Root is its root. The caller releases the Doc after the last use of a Tree made with it.
	Doc  *tree.Doc
	Root uint32
	// Text is the patch as JSON.
	Text []byte
}

// Object is the object to patch.
type Object struct {
	Doc  *tree.Doc
	Root uint32
	// Printed says that upstream printed the text. Otherwise upstream prints it with sorted keys.
	Printed bool
}

// Apply applies a patch to an object. It changes neither, and the Tree refers to both. The error is an *Error, a
// *tree.LimitError or tree.ErrStopped.
func Apply(o Object, p Document, s *interrupt.Signal) (*Tree, error) {
	t := &Tree{old: o.Doc, printed: o.Printed, patch: p.Doc, stop: s}
	var err error
	switch kind := p.Doc.Nodes[p.Root].Kind; {
	case p.Type == JSON:
		if err := p.undecodable(); err != nil {
			return nil, badRequest(err.Error())
		}
		t.root = node{kind: ofOld, at: o.Root}
		err = t.run(p)
	case kind == tree.Object:
		t.root = node{kind: merged, at: p.Root, into: o.Root}
	case kind == tree.Array:
		t.root = node{kind: merged, at: p.Root} // the list replaces the object, and the caller reports that
	default:
		err = badRequest("Invalid JSON Patch")
	}
	switch {
	case err != nil:
		return nil, err
	case s.Stopped():
		return nil, tree.ErrStopped
	case t.nested(t.root, MaxNested):
		return nil, tooNested()
	}
	return t, nil
}

// jsonPatchOp is the type that API servers decode operations into for field validation. Its name is part of their
// messages.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// upstreamNames replaces this package by upstream's in a message about a type.
var upstreamNames = strings.NewReplacer("patch.jsonPatchOp", "handlers.jsonPatchOp")

// Unknown is an unknown or duplicate field of a patch itself.
type Unknown struct {
	// Text is the error of strict decoding, Field the path in it.
	Text, Field string
	Duplicate   bool
}

// Mismatches returns why a patch is not one, with nodes of its Doc.
func (p Document) Mismatches() []violation.Violation {
	of := reflect.TypeFor[map[string]any]()
	if p.Type == JSON {
		of = reflect.TypeFor[[]jsonPatchOp]()
	}
	return violation.Mismatches(p.Doc, p.Root, nil, of)
}

// Decode decodes a patch as API servers do for field validation. It returns the errors of strict decoding about the
// patch itself: duplicate fields, and unknown fields of operations. There are at most 100, as upstream. The error is an
// *Error.
func (p Document) Decode() (unknown []Unknown, err error) {
	if p.Type == Merge && p.Doc.Nodes[p.Root].Kind == tree.Object && !p.Doc.HasDuplicates(tree.Request) {
		return nil, nil
	}
	found, err := p.unmarshal()
	if err != nil {
		return nil, badRequest("error decoding patch: " + upstreamNames.Replace(err.Error()))
	}
	for _, f := range found {
		u := Unknown{Text: f.Error(), Duplicate: strings.HasPrefix(f.Error(), "duplicate ")}
		if p.Type == JSON {
			u.Text = "json patch " + u.Text
		}
		if of := (kjson.FieldError)(nil); errors.As(f, &of) {
			u.Field = of.FieldPath()
		}
		unknown = append(unknown, u)
	}
	return unknown, nil
}

// OutOfRange returns an API server's message about a patch with a number outside of float64. err is the error of
// parsing it. With strict, API servers first decode the patch into its type; otherwise they only check that it is a
// patch. Document needs no Doc.
func (p Document) OutOfRange(err error, strict bool) string {
	if strict {
		if _, of := p.unmarshal(); of != nil {
			err = of
		}
	} else if of := p.undecodable(); of != nil {
		return of.Error()
	}
	return "error decoding patch: " + upstreamNames.Replace(err.Error())
}

// undecodable returns the library's message about a text that is not a patch.
func (p Document) undecodable() (err error) {
	if p.Type == JSON {
		_, err = jsonpatch.DecodePatch(p.Text)
	} else if _, err = jsonpatch.MergePatch([]byte("{}"), p.Text); !errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil
	}
	return err
}

func (p Document) unmarshal() ([]error, error) {
	if p.Type == Merge {
		into := map[string]any{}
		return kjson.UnmarshalStrict(p.Text, &into)
	}
	var into []jsonPatchOp
	return kjson.UnmarshalStrict(p.Text, &into)
}
