package conversion

import (
	"context"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

// MaxObjects is the maximum number of objects in a call of a webhook.
const MaxObjects = 1000

// Group combines the conversions of a batch of items that several workers evaluate. A conversion waits until no worker
// can go on without one, or until MaxObjects conversions of its kind wait. Each waiting worker is replaced by another
// one, so all items of the batch are reached.
type Group struct {
	ctx     context.Context
	replace func()
	mu      sync.Mutex
	running int
	waiting map[target]*call
}

// target identifies what objects of one call have in common.
type target struct {
	converter  *Client
	webhook    *apiextensionsv1.WebhookConversion
	apiVersion string
}

// call is a call of a webhook. done is closed after replies and err were set.
type call struct {
	request   engine.ConversionRequest
	abandoned int // workers that do not wait any more
	replies   [][]byte
	err       error
	done      chan struct{}
}

type contextKey struct{}

// NewGroup returns a group of running workers, and the context for their evaluations. ctx bounds the calls. replace
// starts another worker. Each worker must call Done when it ends.
func NewGroup(ctx context.Context, running int, replace func()) (*Group, context.Context) {
	g := &Group{ctx: ctx, replace: replace, running: running, waiting: map[target]*call{}}
	return g, context.WithValue(ctx, contextKey{}, g)
}

// Done ends a worker.
func (g *Group) Done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// end ends a running worker, and starts all waiting calls if it was the last one.
func (g *Group) end() {
	if g.running--; g.running > 0 {
		return
	}
	for t := range g.waiting {
		g.start(t)
	}
}

// start starts a waiting call. At its end the waiting workers run again.
func (g *Group) start(t target) {
	c := g.waiting[t]
	delete(g.waiting, t)
	go func() {
		replies, err := t.converter.Convert(g.ctx, c.request)
		n := len(c.request.Objects)
		if err == nil && len(replies) != n {
			err = &engine.ConversionCountError{Got: len(replies), Want: n}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		c.replies, c.err = replies, err
		g.running += n - c.abandoned
		close(c.done)
	}()
}

// convert adds an object to a call and waits for its end.
func (g *Group) convert(ctx context.Context, converter *Client, r engine.ConversionRequest) ([]byte, error) {
	t := target{converter, r.Webhook, r.DesiredAPIVersion}
	g.mu.Lock()
	c := g.waiting[t]
	if c == nil {
		c = &call{request: r, done: make(chan struct{})}
		c.request.Objects = nil
		g.waiting[t] = c
	}
	i := len(c.request.Objects)
	c.request.Objects = append(c.request.Objects, r.Objects[0])
	if i+1 == MaxObjects {
		g.start(t)
	}
	g.mu.Unlock()
	g.replace() // the other worker runs instead of this one
	select {
	case <-c.done:
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		select {
		case <-c.done:
		default:
			c.abandoned++
			g.running++
		}
		return nil, ctx.Err()
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.replies[i], nil
}
