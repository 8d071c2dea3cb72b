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
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// pass is the state of one evaluation, in parts that are replaced as a whole. Passes are pooled, so that an evaluation
// allocates little more than its answer.
type pass struct {
	call
	document
	attempt
	*scratch
}

// call is the request of an evaluation.
type call struct {
	ctx  context.Context
	stop *interrupt.Signal
	def  *Definition
	r    Request

	storing           bool      // the write continues to the storage
	patching          *patching // nil if the body is not a patch
	borrowedNamespace bool      // the namespace of the old object was filled in without one in the request
}

// document is the body of a request, or the old object of an update.
type document struct {
	d        *tree.Doc
	root     uint32
	text     tree.Source      // the source of the body in d
	json     []byte           // the body as JSON
	yaml     *tree.YAMLSource // the positions of a YAML body
	original *locator         // of the body as it was sent, on first use

	source  source
	held    bool                    // the body comes from a converter, so nothing was coerced before
	of      schema.GroupVersionKind // the type that the object declares
	own     *Version                // the version that the object declares, or nil
	unread  *Rejection              // the rejection of an unreadable or invalid apiVersion or kind
	because []violation.Violation   // the reasons of unread
}

// attempt is what the steps of an evaluation found so far. A write that starts over has a new one.
type attempt struct {
	out       Outcome
	decided   *Outcome // the outcome of a write that strict decoding rejects, while the rest is evaluated
	ratcheted []violation.Violation

	warned    map[string]struct{} // the set of out.Warnings; nil until a warning is added to those of the version
	sentRunes int                 // of the warnings that were added, at least; further ones are not sent

	changeCount, changeBytes int // of all changes, including the omitted ones

	old       oldObject // of an update
	completed []string  // the fields of metadata that were filled in for the caller
	generated bool      // the object has the generated name of the request
	creating  bool      // the object is stored for the first time; set on its way to the storage
	unscaled  error     // why the object that was read back from the storage has no Scale
}

// scratch is memory that passes keep.
type scratch struct {
	edits  plan.Edits
	pairs  plan.Pairs
	reader pass // reads the old object
}

// forget releases what the memory refers to.
func (s *scratch) forget() {
	if s.reader.d != nil {
		s.reader = pass{}
	}
	s.pairs.Forget()
}

var passes = sync.Pool{New: func() any { return &pass{scratch: new(scratch)} }}

// acquire returns an empty Doc that stops with the context.
func (p *pass) acquire() *tree.Doc {
	d := tree.Acquire()
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
	p.call = call{ctx: ctx, stop: interrupt.Of(ctx), def: d, r: *r}
	p.r.Exact = p.r.Exact || d.Paths.Exact
	p.r.NoClosures = p.r.NoClosures || d.Paths.NoClosures
	p.d = p.acquire()
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
	out := p.out
	out.Warnings = Sent(out.Warnings)
	p.forget()
	*p = pass{scratch: p.scratch}
	passes.Put(p)
	if late := expired(ctx); late != nil {
		return out, late
	}
	return out, err
}
