package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// Evaluator evaluates Inputs. It keeps the last compiled CRD, because a user edits the object more often than the CRD.
// The zero Evaluator is ready, and is safe for concurrent use.
type Evaluator struct {
	// Time bounds an evaluation. 0 means DefaultTime.
	Time time.Duration

	mu   sync.Mutex
	last *compiled
}

// compiled is a compiled CRD with its report.
type compiled struct {
	text       string
	minor      int
	document   *document
	definition *engine.Definition // nil if the CRD is not accepted
	report     *engine.Report
	crd        *CRD
}

// minors are the Kubernetes minor versions from engine.OldestMinor to engine.LatestMinor.
var minors = func() (list []int) {
	for minor := engine.OldestMinor; minor <= engine.LatestMinor; minor++ {
		list = append(list, minor)
	}
	return list
}()

// Evaluate returns the Report of an Input. If a document cannot be evaluated, or the evaluation panics, Report.Errors
// has the reason.
func (e *Evaluator) Evaluate(ctx context.Context, in Input) (r *Report) {
	r = &Report{Traces: []Trace{}, Errors: []Error{}, Minors: minors}
	defer func() {
		if p := recover(); p != nil {
			r.Errors = append(r.Errors, panicked(p))
		}
	}()
	if err := in.check(); err != nil {
		r.Errors = append(r.Errors, *err)
		return r
	}
	ctx, cancel := e.bound(ctx)
	defer cancel()
	c, err := e.compile(ctx, in.CRD, in.Minor)
	if err != nil {
		r.Errors = append(r.Errors, *err)
		return r
	}
	r.CRD = c.crd
	if c.definition == nil || isBlank(in.Object) {
		return r
	}
	w := &write{compiled: c, input: &in, object: newDocument(DocumentObject, in.Object)}
	w.admit(ctx, r)
	return r
}

func (e *Evaluator) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := e.Time
	if limit == 0 {
		limit = DefaultTime
	}
	return context.WithTimeout(ctx, limit)
}

// compile compiles a CRD, unless it is the last one.
func (e *Evaluator) compile(ctx context.Context, text string, minor int) (*compiled, *Error) {
	e.mu.Lock()
	last := e.last
	e.mu.Unlock()
	if last != nil && last.text == text && last.minor == minor {
		return last, nil
	}
	c := &compiled{text: text, minor: minor, document: newDocument(DocumentCRD, text)}
	var err error
	c.definition, c.report, err = engine.Compile(ctx, c.document.source(),
		engine.Options{KubernetesMinor: minor, Limits: limits})
	if err != nil {
		return nil, failure(c.document, err)
	}
	c.describe()
	e.mu.Lock()
	e.last = c
	e.mu.Unlock()
	return c, nil
}

// failure returns the Error for an error of the engine. d is the document that the error's position refers to, or nil.
func failure(d *document, err error) *Error {
	out := &Error{Reason: string(engine.ReasonInternal), Message: err.Error()}
	var e *engine.Error
	if errors.As(err, &e) {
		out.Reason = string(e.Reason)
		if e.Reason == engine.ReasonItemDeadline {
			out.Message += " (the playground limits the time of an evaluation: for large documents, use the command crdeval)"
		}
	}
	if d != nil {
		out.Document = d.name
		if e != nil {
			out.Range = d.failureRange(e)
		}
	}
	return out
}

func panicked(p any) Error {
	return Error{Reason: string(engine.ReasonInternal), Message: fmt.Sprintf("internal error: panic: %v", p)}
}
