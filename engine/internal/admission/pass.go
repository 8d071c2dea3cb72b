// Package admission runs the steps of an API server in their order: from reading the bytes of a write to storing them
// (write.go, store.go), and reading them back from storage (transform.go). handler.go checks name and namespace,
// strict.go unknown fields; preconditions.go uid and resourceVersion. strategy.go prepares, rejection.go rejects.
//
// A write has two paths. The fast path parses once, normalizes metadata on the tree, and shapes and validates in one
// pass (package plan, Accept). It builds no paths or texts. If it is in doubt, the exact path parses the document again
// and follows upstream step by step: package metadata, then Shape and Explain of package plan. The exact path accepts
// all that the fast path accepts, with the same object.
//
// Upstream: k8s.io/apiserver pkg/endpoints/handlers/create.go, pkg/registry/rest/create.go;
// k8s.io/apiextensions-apiserver pkg/apiserver/customresource_handler.go,
// pkg/registry/customresource/{strategy,validator}.go.
package admission

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// pass is the state of one evaluation. Passes are pooled together with their request and outcome, so that an evaluation
// allocates little more than its answer.
type pass struct {
	request Request
	outcome Outcome

	ctx  context.Context
	def  *Definition
	r    *Request
	out  *Outcome
	stop *interrupt.Signal

	d      *value.Doc
	edits  *plan.Edits // kept with the pass for its memory
	pairs  *plan.Pairs // kept with the pass for its memory
	reader *pass       // kept with the pass; it reads the old object
	root   uint32
	warned map[string]struct{} // the set of out.Warnings; nil until a warning is added to those of the version

	sentRunes int  // of the warnings that were added, at least; further ones are not sent
	wantNulls bool // shape records dropped nulls

	changeCount, changeBytes int // of all changes, including the omitted ones

	storing           bool     // the write continues to the storage
	doubtful          bool     // whether an update changes anything depends on the stored bytes
	creating          bool     // the object is stored for the first time; set on its way to the storage
	completed         []string // the fields of metadata that were filled in for the caller
	unscaled          error    // why the object that was read back from the storage has no Scale
	borrowedNamespace bool     // the namespace of the old object was filled in without one in the request
	generated         bool     // the object has the generated name of the request

	decided  *Outcome              // the outcome of a write that strict decoding rejects, while the rest is evaluated
	original *locator              // of the body as it was sent, on first use
	invalid  []violation.Violation // why shape could not decode the object

	old       oldObject // of an update
	patching  *patching // nil if the body is not a patch
	ratcheted []violation.Violation

	text value.Source      // the source of the body in d
	json []byte            // the body as JSON
	yaml *value.YAMLSource // the positions of a YAML body

	source  source
	held    bool                    // the body comes from a converter, so nothing was coerced before
	of      schema.GroupVersionKind // the type that the object declares
	unread  *Rejection              // the rejection of an unreadable or invalid apiVersion or kind
	because []violation.Violation   // the reasons of unread
	matches bool                    // the object is of the CRD's group and kind; only then it is shaped by a schema
	own     *Version                // the version that the object declares, or nil
}

var passes = sync.Pool{New: func() any {
	return &pass{edits: new(plan.Edits), pairs: new(plan.Pairs), reader: new(pass)}
}}

// acquire returns an empty Doc that stops with the context.
func (p *pass) acquire() *value.Doc {
	d := value.Acquire()
	d.StopOn(p.stop)
	return d
}

// grow charges memory besides that of Docs until the end of the pass. It returns an error if the memory is not granted.
func (p *pass) grow(n int64) error {
	p.d.Grow(int(n))
	return p.stop.Err()
}

// run evaluates one request. After a panic, the Doc and the pass are left to the garbage collector and do not return to
// their pools.
func (d *Definition) run(ctx context.Context, r *Request, do func(*pass) error) (Outcome, error) {
	if err := expired(ctx); err != nil {
		return Outcome{}, err
	}
	p := passes.Get().(*pass)
	p.request, p.ctx, p.def = *r, ctx, d
	p.stop = interrupt.Of(ctx)
	p.r, p.out, p.d = &p.request, &p.outcome, p.acquire()
	err := do(p)
	p.d.Release()
	if e := p.stop.Err(); e != nil {
		err = e
	}
	if p.patching != nil {
		p.patching.release()
	}
	if p.original != nil {
		p.original.d.Release()
	}
	out := p.outcome
	out.Warnings = Sent(out.Warnings)
	if p.reader.d != nil {
		*p.reader = pass{}
	}
	p.pairs.Forget()
	*p = pass{edits: p.edits, pairs: p.pairs, reader: p.reader}
	passes.Put(p)
	if late := expired(ctx); late != nil {
		return out, late
	}
	return out, err
}
