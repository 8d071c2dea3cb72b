package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// evaluation is an evaluation call: what all requests of that service have in common.
type evaluation interface {
	GetCatalog() string
	GetItems() []*crdevalv1.EvaluationItem
	GetOptions() *crdevalv1.EvaluationOptions
	GetCrds() []*crdevalv1.Document
	GetAtLeast() string
}

// batch is an evaluation call under way.
type batch struct {
	catalog string
	view    registry.View
	items   []*crdevalv1.EvaluationItem
	options engine.EvaluationOptions
	timeout time.Duration // for each item, 0 for none
	limits  engine.Limits
	faults  faults
	budget  budget
}

// open checks what concerns a call as a whole and takes the view that all its items see.
func (s *evaluationService) open(ctx context.Context, r evaluation) (*batch, error) {
	if len(r.GetItems()) > s.limits.MaxBatchItems { // first of all: the codec has cut off what follows
		return nil, tooMany("items", "max_batch_items", s.limits.MaxBatchItems)
	}
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, err
	}
	overlay, err := overlay(r.GetCrds())
	if err != nil {
		return nil, err
	}
	b := &batch{catalog: r.GetCatalog(), items: r.GetItems(), limits: s.limits.Documents, faults: s.faults}
	if err := b.takeOptions(r.GetOptions()); err != nil {
		return nil, err
	}
	if b.view, err = viewOf(ctx, s.registry, r.GetCatalog(), r.GetAtLeast(), overlay); err != nil {
		return nil, err
	}
	b.budget.reset(s.limits.MaxMessageBytes, len(b.items))
	return b, nil
}

// overlay are the CRDs that a call brings along.
func overlay(crds []*crdevalv1.Document) ([]engine.Document, error) {
	if len(crds) == 0 {
		return nil, nil
	}
	if len(crds) > maxInlineCrds {
		return nil, tooMany("crds", "max_inline_crds", maxInlineCrds)
	}
	all := make([]engine.Document, len(crds))
	for i, d := range crds {
		if all[i] = given(d); all[i].Absent() {
			return nil, invalid("crds", "crds[%d] is empty: give it the JSON or YAML of a CustomResourceDefinition", i)
		}
	}
	return all, nil
}

// takeOptions reads the options of a call.
func (b *batch) takeOptions(o *crdevalv1.EvaluationOptions) error {
	switch v := o.GetFieldValidation(); v {
	case crdevalv1.FieldValidation_FIELD_VALIDATION_UNSPECIFIED, crdevalv1.FieldValidation_FIELD_VALIDATION_WARN:
		b.options.FieldValidation = engine.FieldValidationWarn
	case crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE:
		b.options.FieldValidation = engine.FieldValidationIgnore
	case crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT:
		b.options.FieldValidation = engine.FieldValidationStrict
	default:
		return invalid("options.field_validation", "options.field_validation is %d, which is no FieldValidation", v)
	}
	switch v := o.GetView(); v {
	case crdevalv1.ObjectView_OBJECT_VIEW_UNSPECIFIED, crdevalv1.ObjectView_OBJECT_VIEW_FULL:
		b.options.View = engine.ViewFull
	case crdevalv1.ObjectView_OBJECT_VIEW_CHANGED:
		b.options.View = engine.ViewChanged
	case crdevalv1.ObjectView_OBJECT_VIEW_NONE:
		b.options.View = engine.ViewNone
	default:
		return invalid("options.view", "options.view is %d, which is no View", v)
	}
	if t := o.GetItemTimeout(); t != nil {
		if err := t.CheckValid(); err != nil || t.AsDuration() <= 0 {
			return invalid("options.item_timeout", "options.item_timeout is %s: give a duration of more than 0, or none", t.AsDuration())
		}
		b.timeout = t.AsDuration()
	}
	switch v := o.GetTrace(); v {
	case crdevalv1.TraceMode_TRACE_MODE_UNSPECIFIED, crdevalv1.TraceMode_TRACE_MODE_NONE:
		b.options.Trace = engine.TraceNone
	case crdevalv1.TraceMode_TRACE_MODE_FAILED:
		b.options.Trace = engine.TraceFailed
	case crdevalv1.TraceMode_TRACE_MODE_ALL:
		b.options.Trace = engine.TraceAll
	default:
		return invalid("options.trace", "options.trace is %d, which is no Trace", v)
	}
	b.options.CompleteMetadata, b.options.WithStatus = o.GetCompleteMetadata(), o.GetWithStatus()
	return nil
}

// The part of a call's remaining time that is kept for sending the answer: a tenth, within bounds.
const (
	sendShare   = 10
	maxSendTime = 500 * time.Millisecond
)

// run has evaluate called for the index of each item, on at most GOMAXPROCS goroutines, and returns when all are done. What is not
// begun when the time of the call runs out fails with ITEM_DEADLINE; fail gets that and what evaluate returns as an error or a panic.
func (b *batch) run(ctx context.Context, evaluate func(context.Context, *resolver, int) error, fail func(int, *statusv1.Status)) error {
	items := ctx
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		var cancel context.CancelFunc
		items, cancel = context.WithDeadline(ctx, deadline.Add(-min(left/sendShare, maxSendTime)))
		defer cancel()
	}
	n := len(b.items)
	workers := min(runtime.GOMAXPROCS(0), (n+minShare-1)/minShare)
	var next atomic.Int64
	work := func() {
		r := resolver{view: b.view, limits: b.limits}
		// One by one: whatever else stood in line behind an item that takes long would end with it at the call's deadline.
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			if err := b.one(items, &r, i, evaluate); err != nil {
				fail(i, b.boundedStatus(ctx, b.aboutVersion(&r, b.items[i], err)))
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return context.Cause(ctx)
}

// minShare is how many items are worth a goroutine of their own.
const minShare = 8

// one evaluates one item: within its time, and without letting a panic reach anybody else's.
func (b *batch) one(ctx context.Context, r *resolver, i int, evaluate func(context.Context, *resolver, int) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{value: p, stack: debug.Stack(), item: i}
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.budget.exhausted() {
		return b.budget.none()
	}
	if b.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.timeout)
		defer cancel()
	}
	return evaluate(ctx, r, i)
}

// boundedStatus is itemStatus, cut down to that of an answer without room if it is long and the answer has none.
func (b *batch) boundedStatus(ctx context.Context, err error) *statusv1.Status {
	st := b.itemStatus(ctx, err)
	b.faults.failedItem(st)
	if b.budget.takeError(st) {
		return st
	}
	return b.faults.status(ctx, b.budget.none())
}

// itemStatus is the error of one item. Time that ran out is the item's here, not the call's.
func (b *batch) itemStatus(ctx context.Context, err error) *statusv1.Status {
	var fromEngine *engine.Error
	var p *panicked
	switch {
	case errors.As(err, &p):
		b.faults.log.ErrorContext(ctx, "an item panicked", slog.Int("item", p.item), slog.Any("panic", p.value), slog.String("stack", string(p.stack)))
		err = &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_INTERNAL, message: "internal error while this item was evaluated: the server's log has more"}
	case errors.As(err, &fromEngine):
	case errors.Is(err, context.DeadlineExceeded):
		text := "the call's deadline came before the item was done: send fewer items in a call, or allow more time"
		if b.timeout > 0 {
			text = fmt.Sprintf("the item was not done within item_timeout, %s, or before the call's deadline", b.timeout)
		}
		err = &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_ITEM_DEADLINE, message: text}
	}
	return b.faults.status(ctx, err)
}

// panicked is the panic of one item.
type panicked struct {
	value any
	stack []byte
	item  int
}

// Error says that there was one.
func (p *panicked) Error() string { return fmt.Sprintf("item %d panicked: %v", p.item, p.value) }
