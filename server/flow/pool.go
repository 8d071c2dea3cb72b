package flow

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine/host"
)

// maxParked bounds the memory of the items of a batch that are parked, in bytes. The last item can exceed it.
const maxParked = 160 << 20

// Pool evaluates the items of a batch on goroutines. A bounded number of workers runs at a time. An item that waits for
// something that several items share, such as a call of a webhook, is parked: another worker evaluates further items.
type Pool struct {
	s         *Scheduler
	ctx       context.Context //nolint:containedctx // of the batch; workers start later, too
	newWorker NewWorker
	items     int64
	next      atomic.Int64
	others    sync.WaitGroup

	mu      sync.Mutex
	workers int // that can run at a time
	running int
	failed  error // the first panic of a worker
	parked  int64 // bytes of the parked items
	resumed []*Parked
	onIdle  []func()
	shared  any
	end     func() // of shared; nil: none
}

// NewWorker returns the function with which a goroutine evaluates items. w is the work of the goroutine.
type NewWorker func(ctx context.Context, w *Work) func(item int)

// Parked is an item that waits, or waits for its turn to go on.
type Parked struct {
	turn  chan struct{} // closed when the item may go on
	bytes int64
}

// RunItems calls the functions that newWorker returns for each index from 0 to items-1, on at most workers goroutines at
// a time, and not more than there are seats. newWorker is called once for each goroutine. Parked items hold memory, so no further items are evaluated while
// items of more than 160 MiB are parked. If a function panics, no further items are evaluated, and RunItems returns an
// error.
func (s *Scheduler) RunItems(ctx context.Context, workers, items int, newWorker NewWorker) error {
	p := &Pool{s: s, ctx: ctx, newWorker: newWorker, items: int64(items), workers: min(max(workers, 1), s.seats)}
	p.running = p.workers
	defer func() {
		if p.end != nil {
			p.end()
		}
	}()
	for range p.workers - 1 {
		p.others.Go(p.work)
	}
	p.work()
	p.others.Wait()
	return p.failed
}

// PoolOf returns the pool that evaluates an item with a context, or nil.
func PoolOf(ctx context.Context) *Pool {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		return w.pool
	}
	return nil
}

// work evaluates items until none is left, and records a panic.
func (p *Pool) work() {
	defer p.leave()
	if err := p.evaluate(); err != nil {
		p.next.Store(p.items)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed = cmp.Or(p.failed, err)
	}
}

// evaluate evaluates items until none is left.
func (p *Pool) evaluate() (err error) {
	defer host.Recover(&err)
	w := p.s.newWork(p.ctx, p.s.maxItemTime, p)
	defer w.Close()
	evaluate := p.newWorker(p.ctx, w)
	for i := p.next.Add(1) - 1; i < p.items; i = p.next.Add(1) - 1 {
		evaluate(int(i))
	}
	return nil
}

// Share returns the value that the items of the batch share, such as the calls of a webhook. It is created when the first
// item needs it, with the context of the batch, and ended with the batch.
func (p *Pool) Share(create func(ctx context.Context) (shared any, end func())) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		p.shared, p.end = create(p.ctx)
	}
	return p.shared
}

// OnIdle adds a function that is called when all workers have ended or are parked.
func (p *Pool) OnIdle(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onIdle = append(p.onIdle, f)
}

// Park announces that the item of the calling worker will wait, and holds memory. The caller then calls Await.
func (p *Pool) Park(bytes int64) *Parked {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parked += bytes
	return &Parked{make(chan struct{}), bytes}
}

// Await waits until the item is resumed and has its turn. ctx is that of the item: when it ends, Await calls abandon,
// which must resume the item unless somebody else does, and returns the error of ctx.
func (p *Pool) Await(ctx context.Context, item *Parked, abandon func()) (err error) {
	Wait(ctx, func() {
		p.leave()
		select {
		case <-item.turn:
		case <-ctx.Done():
			abandon()
			<-item.turn
			err = ctx.Err()
		}
	})
	return err
}

// Resume gives parked items a turn, as soon as fewer workers run than may. Each item must be resumed once.
func (p *Pool) Resume(items ...*Parked) {
	p.mu.Lock()
	for _, item := range items {
		p.parked -= item.bytes
	}
	p.resumed = append(p.resumed, items...)
	p.proceed()
}

// leave gives up the turn of a worker that waits or ends.
func (p *Pool) leave() {
	p.mu.Lock()
	p.running--
	p.proceed()
}

// proceed gives free turns to resumed items, or to new workers if items are left. Items that were resumed last are first,
// because they hold the most memory. If no worker runs, it calls the functions of OnIdle. p.mu is locked before, and
// unlocked after it.
func (p *Pool) proceed() {
	for p.running < p.workers && p.parked < maxParked {
		if last := len(p.resumed) - 1; last >= 0 {
			close(p.resumed[last].turn)
			p.resumed = p.resumed[:last]
		} else if p.next.Load() < p.items {
			p.others.Go(p.work)
		} else {
			break
		}
		p.running++
	}
	var idle []func()
	if p.running == 0 {
		idle = p.onIdle
	}
	p.mu.Unlock()
	for _, f := range idle {
		f()
	}
}
