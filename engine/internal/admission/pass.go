package admission

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// pass is one evaluation: the request, the document as it stands, what is known about it so far. Passes are pooled, with the
// request and the outcome in them, so that an evaluation allocates little but its answer.
type pass struct {
	request Request
	outcome Outcome

	ctx  context.Context
	def  *Definition
	r    *Request // &request
	out  *Outcome // &outcome
	stop *interrupt.Signal

	d      *value.Doc
	edits  *plan.Edits // stays with the pass, for its memory
	pairs  *plan.Pairs // so does this
	reader *pass       // and this, which reads the old object
	root   uint32
	warned map[string]struct{} // the texts in out.Warnings, nil until one is added to the version's own

	by        convert.Converter // answers for the CRD's webhook; nil if there is none
	storing   bool              // the write goes on to the storage
	completed []string          // the members of metadata that were filled in for the caller
	generated bool              // the object has the generated name of the request
	lent      bool              // the namespace of the old object is none that the request names

	old      oldObject // of an update
	patching *patching // nil if the body is no patch
	forgiven []violation.Violation

	text value.Source      // what the body is in d
	json []byte            // the body as JSON
	yaml *value.YAMLSource // where it stood in YAML

	source  source
	held    bool                    // the body is an object that a converter holds: nothing was coerced before
	of      schema.GroupVersionKind // what the object says it is
	unread  *Refusal                // why apiVersion and kind could not be read, or what is wrong with them
	matches bool                    // of the CRD's group and kind: only then is it shaped by a schema
	own     *Version                // the version that it says it is of, nil if the CRD has none such
}

var passes = sync.Pool{New: func() any { return &pass{edits: new(plan.Edits), pairs: new(plan.Pairs), reader: new(pass)} }}

// run evaluates one request. A panic below leaves the Doc and the pass to the garbage collector: they must not go back into
// their pools.
func (d *Definition) run(ctx context.Context, r *Request, do func(*pass) error) (Outcome, error) {
	if err := expired(ctx); err != nil {
		return Outcome{}, err
	}
	p := passes.Get().(*pass)
	p.request, p.ctx, p.def, p.d = *r, ctx, d, value.Acquire()
	p.r, p.out = &p.request, &p.outcome
	if done := ctx.Done(); done != nil {
		p.stop = interrupt.On(done)
		p.d.StopOn(done)
	}
	err := do(p)
	p.d.Release()
	if p.patching != nil {
		p.patching.release()
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
