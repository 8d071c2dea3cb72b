// Package playground serves the playground: a page on which users type a CRD and an object, and see the verdict live.
// Package report evaluates. The page is in web, and is built by npm into web/dist before the Go build embeds it. A
// binary that was built without it has no playground, see ErrNotBuilt. The static site in deploy/playground needs no
// server: there, report runs as WebAssembly.
package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/crdeval/crdeval/server/editor/playground/page"
)

// Playground has the files of the page, and evaluates documents. It is safe for concurrent use.
type Playground struct {
	files     map[string]*file
	evaluator page.Evaluator
}

// ErrNotBuilt is the error of New if the page was not built before the binary.
var ErrNotBuilt = errors.New("this binary was built without the playground page: run make playground in the repository, which builds both")

// New returns the playground, or ErrNotBuilt.
func New() (*Playground, error) { return From(dist) }

// From returns a playground with the page in the folder web/dist of a file system, or ErrNotBuilt.
func From(from fs.FS) (*Playground, error) {
	files, err := readFiles(from)
	if err != nil {
		return nil, err
	}
	return &Playground{files: files}, nil
}

// A RequestError is the error of a request body that cannot be decoded.
type RequestError struct{ Err error }

// Error returns the message.
func (e *RequestError) Error() string {
	return "the request body is invalid: " + e.Err.Error()
}

// Evaluate takes a page.Input and returns a page.Report, both as JSON. The error is a *RequestError.
func (p *Playground) Evaluate(ctx context.Context, body []byte) ([]byte, error) {
	var in page.Input
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return encode(p.evaluator.Evaluate(ctx, in))
}

// Explain takes a page.ExplainInput and returns a page.Explanation, both as JSON. The error is a *RequestError.
func (p *Playground) Explain(ctx context.Context, body []byte) ([]byte, error) {
	var in page.ExplainInput
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return encode(p.evaluator.Explain(ctx, in))
}

// Complete takes a page.CursorInput and returns page.Completions, both as JSON. The error is a *RequestError.
func (p *Playground) Complete(ctx context.Context, body []byte) ([]byte, error) {
	var in page.CursorInput
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return encode(p.evaluator.Complete(ctx, in))
}

// Hover takes a page.CursorInput and returns a page.Hover, both as JSON. The error is a *RequestError.
func (p *Playground) Hover(ctx context.Context, body []byte) ([]byte, error) {
	var in page.CursorInput
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return encode(p.evaluator.Hover(ctx, in))
}

func decode(body []byte, into any) error {
	if len(body) > page.MaxRequestBytes {
		return &RequestError{fmt.Errorf("%d bytes exceed the limit of %d bytes", len(body), page.MaxRequestBytes)}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is text after the JSON value")
		}
	}
	if err != nil {
		return &RequestError{err}
	}
	return nil
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}
