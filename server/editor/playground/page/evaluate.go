package page

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/assist"
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
	document   *manifestText
	failed     *Error             // why a part of the text is not evaluated, or nil
	manifest   *workspace.CRD     // nil if it is not a CRD
	definition *engine.Definition // nil if the CRD is not accepted
	assistant  *assist.Assistant  // for the CRD's objects
	report     *engine.Report
	crd        *CRD
}

// minors are those of engine.KubernetesVersions.
var minors = func() (list []int) {
	for _, version := range engine.KubernetesVersions() {
		list = append(list, minorOf(version))
	}
	return list
}()

// minorOf returns 34 for "1.34", and 0 for "".
func minorOf(version string) int {
	minor, _ := strconv.Atoi(strings.TrimPrefix(version, "1."))
	return minor
}

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
	if c.failed != nil {
		r.Errors = append(r.Errors, *c.failed)
	}
	if c.definition == nil {
		return r
	}
	w := &write{compiled: c, input: &in, object: newDocument(DocumentObject, in.Object)}
	if !w.object.isEmpty() {
		w.admit(ctx, r)
	}
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
	if c.document.isEmpty() {
		err := invalid("there is no CRD: enter a CustomResourceDefinition")
		err.Document = DocumentCRD
		return nil, err
	}
	var evaluated bool
	if c.failed, evaluated = c.document.failure(); !evaluated {
		return nil, c.failed
	}
	kubernetes := ""
	if minor != 0 {
		kubernetes = fmt.Sprintf("1.%d", minor)
	}
	// A CRD of a cluster is judged, too. Unknown fields do not reject it, so that objects can be evaluated.
	judge := func(ctx context.Context, crd *workspace.CRD) *workspace.Compiled {
		out := new(workspace.Compiled)
		out.Definition, out.Report, out.Err = engine.Compile(ctx, c.document.Manifest.Document, engine.Options{
			Kubernetes: kubernetes, Limits: limits, FieldValidation: engine.FieldValidationWarn})
		out.Accepted = out.Definition != nil
		return out
	}
	all := &workspace.Workspace{Compiler: judge}
	c.assistant = &assist.Assistant{CRDs: all, ObjectsOnly: true}
	c.manifest = c.document.AsCRD()
	var done *workspace.Compiled
	if c.manifest != nil {
		all.Set(&workspace.File{Source: c.document.file.Source, CRDs: []*workspace.CRD{c.manifest}})
		done = all.Compile(ctx, c.manifest)
	} else {
		done = judge(ctx, nil)
	}
	if done.Err != nil {
		return nil, c.document.failed(done.Err, nil)
	}
	c.definition, c.report = done.Definition, done.Report
	c.describe()
	e.mu.Lock()
	e.last = c
	e.mu.Unlock()
	return c, nil
}

func panicked(p any) Error {
	return *failure(fmt.Errorf("internal error: panic: %v", p))
}
