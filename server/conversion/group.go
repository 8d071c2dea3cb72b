package conversion

import (
	"context"
	"errors"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/flow"
)

// MaxObjects is the maximum number of objects in a call of a webhook.
const MaxObjects = 1000

// group makes the conversions of a batch share calls. A call is sent when all workers of the pool wait, or when it has
// MaxObjects objects.
type group struct {
	mu      sync.Mutex
	pool    *flow.Pool // of the batch
	waiting map[target]*call
}

// target is what all objects of a call have in common.
type target struct {
	converter  *Client
	webhook    *apiextensionsv1.WebhookConversion
	apiVersion string
}

// call is a call of a webhook. replies and err are set before its items are resumed.
type call struct {
	ctx     context.Context //nolint:containedctx // of the batch
	request conversionwebhook.Request
	items   []*flow.Parked // nil elements do not wait any more
	left    int            // items that still wait
	cancel  context.CancelFunc
	done    bool
	replies [][]byte
	err     error
}

// convert adds an object to a call and waits for its end. A panic of the call is raised again.
func (r *reservation) convert(ctx context.Context, pool *flow.Pool, c *Client, q conversionwebhook.Request) ([]byte, error) {
	g := &r.group
	item := pool.Park(host.EvaluationMemory(q.Objects[0]))
	g.mu.Lock()
	if g.pool == nil {
		g.pool, g.waiting = pool, map[target]*call{}
		pool.OnIdle(g.startAll)
	}
	t := target{c, q.Webhook, q.DesiredAPIVersion}
	shared := g.waiting[t]
	if shared == nil {
		shared = &call{ctx: r.ctx, request: q}
		shared.request.Objects = nil
		g.waiting[t] = shared
	}
	i := len(shared.items)
	shared.items, shared.left = append(shared.items, item), shared.left+1
	shared.request.Objects = append(shared.request.Objects, q.Objects[0])
	if i+1 == MaxObjects {
		g.start(t)
	}
	g.mu.Unlock()
	if err := pool.Await(ctx, item, func() { g.abandon(shared, i) }); err != nil {
		return nil, err
	}
	if p, is := errors.AsType[*host.PanicError](shared.err); is {
		panic(p)
	}
	if shared.err != nil {
		return nil, shared.err
	}
	return shared.replies[i], nil
}

// startAll starts all calls.
func (g *group) startAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t := range g.waiting {
		g.start(t)
	}
}

// start starts a call. When the call ends, its items resume. g.mu is locked.
func (g *group) start(t target) {
	c := g.waiting[t]
	delete(g.waiting, t)
	if c.left == 0 {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.cancel = cancel
	go func() {
		defer cancel()
		replies, err := t.send(ctx, c.request)
		g.pool.Resume(g.end(c, replies, err)...)
	}()
}

// end ends a call, and returns the items that wait for it.
func (g *group) end(c *call, replies [][]byte, err error) (waiting []*flow.Parked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.done, c.replies, c.err = true, replies, err
	for _, item := range c.items {
		if item != nil {
			waiting = append(waiting, item)
		}
	}
	return waiting
}

// send calls the webhook.
func (t *target) send(ctx context.Context, r conversionwebhook.Request) (replies [][]byte, err error) {
	defer host.Recover(&err)
	replies, err = t.converter.send(ctx, r)
	if n := len(r.Objects); err == nil && len(replies) != n {
		err = &conversionwebhook.CountError{Got: len(replies), Want: n}
	}
	return replies, err
}

// abandon ends the wait of item i for a call. If no other item waits for the call, it is cancelled.
func (g *group) abandon(c *call, i int) {
	if item := g.remove(c, i); item != nil {
		g.pool.Resume(item)
	}
}

// remove removes item i from a call. It returns nil if the call has ended, which resumes the item.
func (g *group) remove(c *call, i int) *flow.Parked {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.done {
		return nil
	}
	item := c.items[i]
	c.items[i] = nil
	if c.left--; c.left == 0 && c.cancel != nil {
		c.cancel()
	}
	return item
}
