package load

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/protobuf/proto"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// overload: the server has one core, and gets four times the calls that it can serve. The load has another core.
func overload(l *load) {
	how := launch{flags: []string{"--store=memory"}}
	if runtime.NumCPU() > 1 {
		how.cpus = "0"
		defer l.pin("1")()
	}
	s := l.launch(how)
	tiny := l.neighbour(s, "default", 100).items
	l.register(s, "default", schemaCRD("Route", `{type: object, properties: {spec: `+routesSchema+`}}`))
	var routes []*crdevalv1.WriteItem
	for range 100 {
		routes = append(routes, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(object("Route", routesSpec(40)))}}})
	}
	large := []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(object("Route", routesSpec(400)))}}}}
	// A rejection costs 5 to 9 µs, the accepted call 0.05 ms (tiny), 0.15 ms (6 KiB), 1 ms (60 KiB) or more.
	for _, k := range []overloadKind{
		{"gRPC, one object of 60 KiB", large, dialWires, bound{90, 0}},
		{"gRPC, one object of 6 KiB", routes[:1], dialWires, bound{90, 0}},
		{"gRPC, one tiny object", tiny[:1], dialWires, bound{0, 0}},
		{"gRPC, 100 objects of 6 KiB", routes, dialWires, bound{90, 0}},
		{"REST, 100 tiny objects", tiny, dialREST, bound{85, 0}},
	} {
		l.Run(k.name, func(t *testing.T) {
			of := *l
			of.T = t
			of.overloadOf(s, k)
		})
	}
}

// overloadKind is one kind of calls.
type overloadKind struct {
	name    string
	items   []*crdevalv1.WriteItem
	dial    func(*server, proto.Message, func(time.Time, string, bool)) (overloadClient, error)
	goodput bound
}

// overloadClient makes calls that were due at some times. It does not wait for answers.
type overloadClient interface {
	send(due ...time.Time)
	Close() error
}

const routesSchema = `{type: object, properties: {routes: {type: array, maxItems: 500, items: {type: object,
  required: [name, host, port], x-kubernetes-validations: [{rule: "self.port > 1024 || self.host != ''"}],
  properties: {name: {type: string, pattern: '^[a-z0-9-]+$', maxLength: 63}, host: {type: string, maxLength: 253},
  port: {type: integer, minimum: 1, maximum: 65535}, weight: {type: integer, default: 1},
  labels: {type: object, additionalProperties: {type: string}}}}}}}`

func routesSpec(n int) string {
	route := `{"name": "route", "host": "service.namespace.svc.cluster.example.com", "port": 8443,
 "labels": {"app": "frontend", "team": "commerce"}}`
	return `{"routes": [` + repeated(route, n, ",") + `]}`
}

// overloadOf measures the best throughput, an overload, the time until the throughput is the best again, and the best
// throughput once more: the speed of many machines changes within minutes. The latency at full use is that with the
// most callers of which no call is rejected.
func (l *load) overloadOf(s *server, k overloadKind) {
	request := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: k.items}
	best, full := &answers{}, &answers{}
	for _, callers := range []int{4, 16, 64} {
		a := l.inClosedLoop(s, k, request, callers, l.span(5*time.Second, 500*time.Millisecond))
		if a.rate() > best.rate() {
			best = a
		}
		if a.rejected == 0 || full.callers == 0 {
			full = a
		}
	}
	before := s.rss(l.T)
	a := l.inOpenLoop(s, k, request, 4*best.rate(), l.span(cmp.Or(*duration, 5*time.Minute), 2*time.Second))
	ended, rss := time.Now(), s.rss(l.T)
	recovery := l.recovery(s, k, request, best, ended)
	after := l.inClosedLoop(s, k, request, best.callers, l.span(5*time.Second, 500*time.Millisecond))
	l.note("%s: best %v, %.0f/s afterwards; full use by %d callers %v; overload %v; resident %s, then %s", k.name, best, after.rate(),
		full.callers, full, a, mib(before), mib(rss))
	call := best.cpu.Seconds() / float64(best.accepted)
	l.note("%s: CPU time of the server: %.1f µs for a call, %.1f µs for a rejection", k.name, call*1e6,
		(a.cpu.Seconds()-call*float64(a.accepted))/float64(a.rejected)*1e6)
	l.atLeast(k.name+": goodput", a.rate()/((best.rate()+after.rate())/2)*100, k.goodput, "%")
	l.atMost(k.name+": p99, as a multiple", a.latency.quantile(0.99).Seconds()/full.latency.quantile(0.99).Seconds(),
		bound{5, 1e6}, "")
	l.atMost(k.name+": rejections without a retry hint", float64(a.noHint), bound{0, 0}, "")
	l.atMost(k.name+": calls with another error", float64(a.other), bound{0, 0}, "")
	l.atMost(k.name+": growth of memory", float64(rss-before)/(1<<20), bound{64, 512}, " MiB")
	l.atMost(k.name+": time until the throughput is the best", recovery.Seconds(), bound{5, 120}, " s")
}

// answers counts the answers to calls of a time.
type answers struct {
	callers int
	elapsed time.Duration
	cpu     time.Duration // of the server

	mu                      sync.Mutex
	accepted                int
	latency                 histogram
	rejected, noHint, other int
	notSent                 atomic.Int64
}

func (a *answers) rate() float64 { return float64(a.accepted) / max(a.elapsed.Seconds(), 1e-9) }

// anyAccepted reports whether a call was accepted.
func (a *answers) anyAccepted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accepted > 0
}

// String returns the figures on one line.
func (a *answers) String() string {
	return fmt.Sprintf("%.0f/s (p50 %v, p99 %v, %.0f/s rejected, %d not sent, %d other errors)", a.rate(), a.latency.quantile(0.5),
		a.latency.quantile(0.99), float64(a.rejected)/a.elapsed.Seconds(), a.notSent.Load(), a.other)
}

func (a *answers) add(due time.Time, status string, hint bool) {
	const unavailable = "14"
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case status == "0":
		a.accepted++
		a.latency.add(time.Since(due))
	case status != unavailable:
		a.other++
	case !hint:
		a.noHint++
		fallthrough
	default:
		a.rejected++
	}
}

// overloadConnections is the number of connections of gRPC.
const overloadConnections = 16

// inClosedLoop has callers that make one call after the other for a time, and until one of them is accepted.
func (l *load) inClosedLoop(s *server, k overloadKind, m proto.Message, callers int, d time.Duration) *answers {
	a := &answers{callers: callers}
	var stopped atomic.Bool
	var client overloadClient
	var ready sync.WaitGroup
	ready.Add(1)
	client, err := k.dial(s, m, func(due time.Time, status string, hint bool) {
		if stopped.Load() {
			return
		}
		a.add(due, status, hint)
		ready.Wait()
		if status == "0" {
			client.send(time.Now())
			return
		}
		time.AfterFunc(10*time.Millisecond, func() { client.send(time.Now()) })
	})
	if err != nil {
		l.Fatal(err)
	}
	ready.Done()
	begin, cpu := time.Now(), s.cpu(l.T)
	for range callers {
		client.send(time.Now())
	}
	for time.Sleep(d); !a.anyAccepted() && l.Context().Err() == nil; { // on a busy machine
		time.Sleep(10 * time.Millisecond)
	}
	stopped.Store(true)
	a.elapsed, a.cpu = time.Since(begin), s.cpu(l.T)-cpu
	_ = client.Close()
	return a
}

// inOpenLoop makes calls on a schedule for a time.
func (l *load) inOpenLoop(s *server, k overloadKind, m proto.Message, rate float64, d time.Duration) *answers {
	a := &answers{}
	var stopped atomic.Bool
	client, err := k.dial(s, m, func(due time.Time, status string, hint bool) {
		if !stopped.Load() {
			a.add(due, status, hint)
		}
	})
	if err != nil {
		l.Fatal(err)
	}
	if r, ok := client.(*overloadREST); ok {
		r.full = func() { a.notSent.Add(1) }
	}
	begin, cpu, sent := time.Now(), s.cpu(l.T), 0
	for t := time.Duration(0); t < d; t = time.Since(begin) {
		var due []time.Time
		for want := int(rate * t.Seconds()); sent < want; sent++ {
			due = append(due, begin.Add(time.Duration(float64(sent)/rate*float64(time.Second))))
		}
		client.send(due...)
		time.Sleep(time.Millisecond)
	}
	stopped.Store(true)
	a.elapsed, a.cpu = time.Since(begin), s.cpu(l.T)-cpu
	_ = client.Close()
	return a
}

// recovery returns the time from the end of an overload until the throughput is nearly the best.
func (l *load) recovery(s *server, k overloadKind, m proto.Message, best *answers, ended time.Time) time.Duration {
	for {
		a := l.inClosedLoop(s, k, m, best.callers, 500*time.Millisecond)
		if took := time.Since(ended); a.rate() > 0.9*best.rate() || took > l.span(30*time.Second, 5*time.Second) {
			return took
		}
	}
}

// wires are connections of gRPC. Each has a goroutine that sends, because a full connection blocks it.
type wires struct {
	all    []*wire
	queues []chan []time.Time
	next   int
	mu     sync.Mutex
}

func dialWires(s *server, m proto.Message, ended func(time.Time, string, bool)) (overloadClient, error) {
	c := &wires{}
	for range overloadConnections {
		w, err := dialWire(s.grpc, method("EvaluationService", "Validate"), m, ended)
		if err != nil {
			return nil, err
		}
		queue := make(chan []time.Time, 1<<16)
		c.all, c.queues = append(c.all, w), append(c.queues, queue)
		go func() {
			for due := range queue {
				w.send(due...)
			}
		}()
	}
	return c, nil
}

func (c *wires) send(due ...time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues == nil {
		return
	}
	parts := make([][]time.Time, len(c.queues))
	for _, at := range due {
		c.next = (c.next + 1) % len(parts)
		parts[c.next] = append(parts[c.next], at)
	}
	for i, part := range parts {
		if len(part) > 0 {
			c.queues[i] <- part
		}
	}
}

// Close implements io.Closer.
func (c *wires) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.all {
		close(c.queues[i])
		_ = w.conn.Close()
	}
	c.queues = nil
	return nil
}

// overloadRESTConnections is the number of connections of REST. A call for which none is free is not sent.
const overloadRESTConnections = 256

// overloadREST make calls of REST. Each connection has one call at a time.
type overloadREST struct {
	http  *http.Client
	url   string
	body  []byte
	slots chan struct{}
	ended func(time.Time, string, bool)
	full  func() // called for a call that is not sent
}

func dialREST(s *server, m proto.Message, ended func(time.Time, string, bool)) (overloadClient, error) {
	body, err := codec.Marshal(m)
	return &overloadREST{
		url: "http://" + s.http + "/v1/catalogs/default:validate", body: body, ended: ended, full: func() {},
		slots: make(chan struct{}, overloadRESTConnections),
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: overloadRESTConnections, DialContext: new(net.Dialer).DialContext}},
	}, err
}

func (c *overloadREST) send(due ...time.Time) {
	for _, at := range due {
		select {
		case c.slots <- struct{}{}:
			go func() {
				status, hint := c.call()
				<-c.slots
				c.ended(at, status, hint)
			}()
		default:
			c.full()
		}
	}
}

func (c *overloadREST) call() (status string, hint bool) {
	r, err := c.http.Post(c.url, "application/json", bytes.NewReader(c.body))
	if err != nil {
		return err.Error(), false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK:
		return "0", false
	case http.StatusServiceUnavailable:
		return "14", r.Header.Get("Retry-After") != ""
	}
	return r.Status, false
}

// Close implements io.Closer.
func (c *overloadREST) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
