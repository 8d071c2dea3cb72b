package conversion

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/flow"
)

// MaxObjects is the maximum number of objects in a call of a webhook.
const MaxObjects = 1000

// maxWaiting bounds the memory of the objects of a batch that wait for calls, in bytes. The last object can exceed it.
const maxWaiting = 160 << 20

// Run evaluates a batch: it calls the functions evaluate that newWorker returns for each index from 0 to items-1, on
// workers goroutines. newWorker is called once for each goroutine, and its function end at the end of the goroutine.
//
// The conversions of the batch share calls. A call is sent when all workers wait for calls, or when it has MaxObjects
// objects. While a goroutine waits for a call, another one evaluates further items. At most workers goroutines run at
// a time. Goroutines that wait hold a parsed object, so no further items are evaluated while objects of more than
// maxWaiting bytes wait. If one of the functions panics, no further items are evaluated, and Run returns an error.
func Run(ctx context.Context, workers, items int, newWorker NewWorker) error {
	g := &group{newWorker: newWorker, items: int64(items), workers: max(workers, 1)}
	g.running = g.workers
	g.ctx = context.WithValue(ctx, groupKey{}, g)
	defer g.memory.release()
	for range g.workers - 1 {
		g.others.Go(g.work)
	}
	g.work()
	g.others.Wait()
	return g.failed
}

// NewWorker returns the functions of a goroutine of a batch. ctx is the context of the batch.
type NewWorker func(ctx context.Context) (evaluate func(item int), end func())

type groupKey struct{}

// group is a batch.
type group struct {
	ctx       context.Context // has the group
	newWorker NewWorker
	items     int64
	next      atomic.Int64
	others    sync.WaitGroup
	memory    reservation

	mu      sync.Mutex
	workers int // that can run at a time
	running int
	failed  error // the first panic of a worker
	bytes   int64 // of the objects that wait for calls
	waiting map[target]*call
	resumed []*waiter // workers whose calls have ended, and that wait for their turn
}

// target is what all objects of a call have in common.
type target struct {
	converter  *Client
	webhook    *apiextensionsv1.WebhookConversion
	apiVersion string
}

// call is a call of a webhook. replies and err are set before a waiter has its turn.
type call struct {
	request engine.ConversionRequest
	waiters []*waiter
	left    int // waiters that still wait
	cancel  context.CancelFunc
	done    bool
	replies [][]byte
	err     error
}

// waiter is a worker that waits for a call.
type waiter struct {
	turn chan struct{} // closed when the worker may run
	size int64         // weigh of the object
	gone bool          // it does not wait for the call any more
}

// work evaluates items until none is left, and records a panic.
func (g *group) work() {
	defer g.leave()
	if err := g.evaluate(); err != nil {
		g.next.Store(g.items)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.failed = cmp.Or(g.failed, err)
	}
}

// evaluate evaluates items until none is left.
func (g *group) evaluate() (err error) {
	defer engine.Recover(&err)
	evaluate, end := g.newWorker(g.ctx)
	defer end()
	for i := g.next.Add(1) - 1; i < g.items; i = g.next.Add(1) - 1 {
		evaluate(int(i))
	}
	return nil
}

// leave gives up the turn of a worker that waits or ends.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.proceed()
}

// proceed gives free turns to workers whose calls have ended, or to new workers if items are left. If no worker runs,
// it starts all calls. Workers whose calls ended last are first, because they hold the most memory.
func (g *group) proceed() {
	for g.running < g.workers && g.bytes < maxWaiting {
		if last := len(g.resumed) - 1; last >= 0 {
			close(g.resumed[last].turn)
			g.resumed = g.resumed[:last]
		} else if g.next.Load() < g.items {
			g.others.Go(g.work)
		} else {
			break
		}
		g.running++
	}
	if g.running == 0 {
		for t := range g.waiting {
			g.start(t)
		}
	}
}

// resume adds a worker that waited for a call to those that wait for a turn.
func (g *group) resume(w *waiter) {
	g.bytes -= w.size
	g.resumed = append(g.resumed, w)
}

// start starts a call. When the call ends, its workers resume.
func (g *group) start(t target) {
	c := g.waiting[t]
	delete(g.waiting, t)
	if c.left == 0 {
		return
	}
	ctx, cancel := context.WithCancel(g.ctx)
	c.cancel = cancel
	go func() {
		defer cancel()
		replies, err := t.send(ctx, c.request)
		g.mu.Lock()
		defer g.mu.Unlock()
		c.done, c.replies, c.err = true, replies, err
		for _, w := range c.waiters {
			if !w.gone {
				g.resume(w)
			}
		}
		g.proceed()
	}()
}

// send calls the webhook.
func (t *target) send(ctx context.Context, r engine.ConversionRequest) (replies [][]byte, err error) {
	defer engine.Recover(&err)
	replies, err = t.converter.send(ctx, r)
	if n := len(r.Objects); err == nil && len(replies) != n {
		err = &engine.ConversionCountError{Got: len(replies), Want: n}
	}
	return replies, err
}

// convert adds an object to a call and waits for its end. A panic of the call is raised again.
func (g *group) convert(ctx context.Context, converter *Client, r engine.ConversionRequest) ([]byte, error) {
	t := target{converter, r.Webhook, r.DesiredAPIVersion}
	w := &waiter{turn: make(chan struct{}), size: weigh(r.Objects[0])}
	g.mu.Lock()
	c := g.waiting[t]
	if c == nil {
		c = &call{request: r}
		c.request.Objects = nil
		if g.waiting == nil {
			g.waiting = map[target]*call{}
		}
		g.waiting[t] = c
	}
	i := len(c.waiters)
	c.waiters, c.left, g.bytes = append(c.waiters, w), c.left+1, g.bytes+w.size
	c.request.Objects = append(c.request.Objects, r.Objects[0])
	if i+1 == MaxObjects {
		g.start(t)
	}
	g.mu.Unlock()
	var err error
	flow.Wait(ctx, func() {
		g.leave()
		select {
		case <-w.turn:
		case <-ctx.Done():
			g.abandon(c, w)
			<-w.turn
			err = ctx.Err()
		}
	})
	if err != nil {
		return nil, err
	}
	if p, is := errors.AsType[*engine.PanicError](c.err); is {
		panic(p)
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.replies[i], nil
}

// abandon ends the wait of a worker for a call. If no other worker waits for the call, it is cancelled.
func (g *group) abandon(c *call, w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.done {
		return
	}
	w.gone = true
	if c.left--; c.left == 0 && c.cancel != nil {
		c.cancel()
	}
	g.resume(w)
	g.proceed()
}
