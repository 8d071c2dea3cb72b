package api

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/publish"
	"github.com/crdeval/crdeval/engine/rules"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
)

const (
	// itemsPerWorker is the number of items for which another goroutine is worth its cost.
	itemsPerWorker = 8
	// A tenth of the remaining time of a call, but at most maxSendTime, is kept for sending the response.
	sendShare   = 10
	maxSendTime = 500 * time.Millisecond
)

// evaluation has the fields that all evaluation requests with items of type I have.
type evaluation[I item] interface {
	GetContext() *crdevalv1.EvaluationContext
	GetItems() []I
}

// item has the fields that all items have.
type item interface {
	GetCrd() string
	GetVersion() string
	GetRevision() string
}

// A batch is an evaluation call.
type batch struct {
	catalog    string
	view       registry.View
	inlineCrds []engine.Document
	options    options
	timeout    time.Duration // of each item; 0: none
	limits     engine.Limits
	faults     faults
	budget     budget
	paused     atomic.Bool                     // because of memory
	shortage   atomic.Pointer[statusv1.Status] // of items without memory, which share it: a call can have thousands
	plain      atomic.Pointer[plainResult]
}

// open checks the fields of a request and opens the view of the catalog that all items use.
func open[I item](ctx context.Context, s *evaluationService, r evaluation[I]) (*batch, error) {
	c := r.GetContext()
	b := &batch{catalog: c.GetCatalog(), limits: s.limits.Documents, faults: s.faults}
	var err error
	if b.inlineCrds, err = givenList(ctx, "context.crds", c.GetCrds()); err != nil {
		return nil, err
	}
	if b.options, b.timeout, err = evaluationOptions(c.GetOptions()); err != nil {
		return nil, err
	}
	if b.view, err = openView(ctx, s.registry, c, b.inlineCrds); err != nil {
		return nil, err
	}
	b.budget.reset(s.limits.MaxMessageBytes, len(r.GetItems())*reservedErrorBytes)
	b.budget.lease = call.Of(ctx).Lease
	return b, nil
}

// openView returns the current view of the catalog of a context with these inline CRDs.
func openView(ctx context.Context, r Registry, c *crdevalv1.EvaluationContext, inlineCrds []engine.Document) (registry.View, error) {
	if len(inlineCrds) == 0 {
		return r.View(ctx, c.GetCatalog(), c.GetAtLeast())
	}
	return r.ViewWith(ctx, c.GetCatalog(), c.GetAtLeast(), inlineCrds)
}

// The values of the engine, by the numbers of the enums of the API. The first is the default.
var (
	fieldValidations = []engine.FieldValidation{
		engine.FieldValidationWarn, engine.FieldValidationIgnore, engine.FieldValidationWarn, engine.FieldValidationStrict,
	}
	objectViews = []engine.View{engine.ViewFull, engine.ViewFull, engine.ViewChanged, engine.ViewNone}
	traceModes  = []rules.TraceMode{rules.TraceNone, rules.TraceNone, rules.TraceFailed, rules.TraceAll}
	stages      = []judgement{admit, admit, decode, finish}
	patchTypes  = []engine.PatchType{0, engine.MergePatch, engine.JSONPatch}
	rowObjects  = []publish.RowObject{publish.RowMetadata, publish.RowNone, publish.RowMetadata, publish.RowWhole}
)

// evaluationOptions returns the options of a context, and the time limit of an item, 0 for none. All calls with a context
// use it, so that they reject the same values, also of options without effect.
func evaluationOptions(o *crdevalv1.EvaluationOptions) (own options, timeout time.Duration, err error) {
	own.completeMetadata, own.withStatus = o.GetCompleteMetadata(), o.GetWithStatus()
	if own.fieldValidation, err = enumValue("context.options.field_validation", o.GetFieldValidation(), fieldValidations); err != nil {
		return own, 0, err
	}
	if own.view, err = enumValue("context.options.view", o.GetView(), objectViews); err != nil {
		return own, 0, err
	}
	if own.trace, err = enumValue("context.options.trace", o.GetTrace(), traceModes); err != nil {
		return own, 0, err
	}
	timeout, err = itemTimeout(o)
	return own, timeout, err
}

// itemTimeout returns the time limit of an item, 0 for none.
func itemTimeout(o *crdevalv1.EvaluationOptions) (time.Duration, error) {
	t := o.GetItemTimeout()
	if t == nil {
		return 0, nil
	}
	d := t.AsDuration()
	if t.CheckValid() != nil || d <= 0 {
		return 0, invalid("context.options.item_timeout", "context.options.item_timeout is %s: it must be more than 0", d)
	}
	return d, nil
}

// setAdmission sets the options of Admit only.
func (b *batch) setAdmission(stage crdevalv1.AdmissionStage, include *crdevalv1.PresentationOptions) (err error) {
	if b.options.admit, err = enumValue("stage", stage, stages); err != nil {
		return err
	}
	return b.setInclude(include)
}

// setInclude sets what to present of each object.
func (b *batch) setInclude(include *crdevalv1.PresentationOptions) (err error) {
	if include != nil {
		b.options.include = engine.PresentationOptions{
			SelectableFields: include.GetSelectableFields(), TableRow: include.GetTableRow(), Scale: include.GetScale(),
		}
		b.options.include.Now, err = ageReference("include.now", include.GetNow())
	}
	return err
}

// run calls evaluate for the index of each of n items. It calls fail for each item whose evaluation returns an error or
// panics, and for items that are not started before the end of ctx. It returns an error if something else panics.
func (b *batch) run(
	ctx context.Context, s *flow.Scheduler, n int,
	evaluate func(context.Context, *resolver, int) error, fail func(*resolver, int, error),
) error {
	// Items are taken one by one: items in a share behind a slow item would miss the deadline.
	workers := (n + itemsPerWorker - 1) / itemsPerWorker
	return s.RunItems(ctx, workers, n, func(ctx context.Context, work *flow.Work) func(int) {
		r := resolver{view: b.view, limits: b.limits, origins: call.Of(ctx).Origins}
		return func(i int) {
			if err := work.Item(func(ctx context.Context) error { return b.evaluate(ctx, &r, i, evaluate) }); err != nil {
				fail(&r, i, err)
			}
		}
	})
}

// evaluate evaluates one item within its timeout. It returns a panic as an error.
func (b *batch) evaluate(ctx context.Context, r *resolver, i int, f func(context.Context, *resolver, int) error) (err error) {
	defer func() {
		if err != nil && engine.ReasonOf(err) == engine.ReasonInternal {
			err = fmt.Errorf("item %d: %w", i, err)
		}
	}()
	defer host.Recover(&err)
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.budget.discarded.Load() > int64(b.budget.max) { // results of the size of a whole response
		return b.budget.exceeded()
	}
	if short := b.budget.short.Load(); short != nil {
		return *short
	}
	limited := ctx
	if b.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, b.timeout)
		defer cancel()
	}
	if err = f(limited, r, i); err != nil && lacksMemory(err) && b.paused.CompareAndSwap(false, true) {
		flow.Sleep(ctx, memoryPause)
	}
	return err
}

// boundedStatus returns the status of an item, or a short one if it does not fit in the response.
func (b *batch) boundedStatus(ctx context.Context, err error) *statusv1.Status {
	st := b.itemStatus(ctx, err)
	if b.budget.takeBeyond(st, reservedErrorBytes) {
		return st
	}
	return b.faults.status(ctx, b.budget.exceeded())
}

// itemStatus returns the status of an item, and counts it. An expired deadline is ITEM_DEADLINE here.
func (b *batch) itemStatus(ctx context.Context, err error) *statusv1.Status {
	var fromEngine *engine.Error
	switch {
	case lacksMemory(err):
		return b.memoryStatus(err)
	case errors.As(err, &fromEngine):
	case errors.Is(err, context.DeadlineExceeded):
		text := "the deadline of the call expired before the item was done: send fewer items, or allow more time"
		if b.timeout > 0 {
			text = fmt.Sprintf("item_timeout (%s) or the deadline of the call expired before the item was done", b.timeout)
		}
		err = &Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_ITEM_DEADLINE, Message: text}
	}
	return b.faults.item(ctx, err)
}

// memoryStatus returns the status of an item that lacks memory, and counts it.
func (b *batch) memoryStatus(err error) *statusv1.Status {
	p := memoryProblem(err)
	b.faults.itemFailed(p.reasonName())
	if st := b.shortage.Load(); st.GetMessage() == p.Message {
		return st
	}
	st := p.status()
	b.shortage.Store(st)
	return st
}

// reservedErrorBytes is the part of a response that is reserved for each result, so that it can at least be an error.
const reservedErrorBytes = 512

// A budget bounds the size of a response. The results of the items share it. A result that does not fit makes its item
// fail, not the call.
type budget struct {
	max       int
	left      atomic.Int64
	discarded atomic.Int64          // bytes of results that did not fit
	lease     *call.Lease           // of the call
	short     atomic.Pointer[error] // the first error of lease, which all further items get
}

// reset starts a response of at most max bytes, of which some are reserved. At most half can be reserved.
func (b *budget) reset(max, reserved int) {
	b.max = max
	b.left.Store(int64(max - min(reserved, max/2)))
	b.discarded.Store(0)
}

// encodedSize is the size of a result in a list.
func encodedSize(result proto.Message) int64 {
	return int64(protowire.SizeTag(1) + protowire.SizeBytes(proto.Size(result)))
}

// The memory of a violation and of a change as a message, without texts, in bytes.
const (
	violationMemory = 600
	changeMemory    = 400
)

// prepare charges the memory that the lists of a result take as messages, which is several times their encodedSize. It
// returns an error if they cannot fit in the response.
func (b *budget) prepare(violations int, pruned, defaulted []engine.FieldChange) error {
	texts, changes := 0, len(pruned)+len(defaulted)
	for _, fields := range [][]engine.FieldChange{pruned, defaulted} {
		for i := range fields {
			texts += len(fields[i].Path) + len(fields[i].Pointer) + len(fields[i].Value)
		}
	}
	if int64(texts) > b.left.Load() {
		b.discarded.Add(int64(texts))
		return b.exceeded()
	}
	return b.charge(int64(violations*violationMemory + changes*changeMemory))
}

// charge charges bytes to the lease of the call.
func (b *budget) charge(n int64) error {
	if err := b.lease.TryGrow(call.Response, n); err != nil {
		first := err // err itself would be allocated without an error, too
		b.short.CompareAndSwap(nil, &first)
		return err
	}
	return nil
}

// take takes the encodedSize of a result. The error is that of the item.
func (b *budget) take(need int64) error {
	if b.left.Add(-need) < 0 {
		b.left.Add(need)
		b.discarded.Add(need)
		return b.exceeded()
	}
	err := b.charge(need)
	if err != nil {
		b.left.Add(need)
	}
	return err
}

// takeBeyond takes what a result needs beyond its reserved bytes, and reports whether it fits.
func (b *budget) takeBeyond(result proto.Message, reserved int) bool {
	const fields = 16 // tags and lengths around the result
	more := int64(proto.Size(result) - reserved + fields)
	if more <= 0 || b.left.Add(-more) >= 0 {
		return true
	}
	b.left.Add(more)
	return false
}

// exceeded returns the error of an item whose result does not fit.
func (b *budget) exceeded() error {
	return LimitExceeded("max_message_bytes", b.max, "the result of this item does not fit in the response, whose limit max_message_bytes is %d: "+
		"send it in another call with fewer items, or set context.options.view to receive less of each", b.max)
}

// isBudgetError reports whether an error is that of budget.exceeded.
func isBudgetError(err error) bool {
	var p *Error
	return errors.As(err, &p) && p.Reason == crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED && p.Metadata["limit"] == "max_message_bytes"
}
