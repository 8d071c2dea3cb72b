package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/health" // checks the health of replicas
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

// balanced is the service config of the clients of rolling: a balancer in the client, health checks and retries.
const balanced = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": ""},
  "methodConfig": [{
    "name": [{"service": ""}],
    "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]}
  }]
}`

// fleet is three replicas on one etcd.
type fleet struct {
	*load
	how      []launch
	replicas []*server
	streamed atomic.Int64 // items of streams with a result
	resumed  atomic.Int64 // streams that continued at another replica
	retried  atomic.Int64 // requests over REST that were sent again
}

// rolling: three replicas restart one after the other with SIGTERM while clients call them. Clients balance and retry as
// users configure them. No call may fail.
func rolling(l *load) {
	f := &fleet{load: l}
	endpoint := etcdtest.Start(l).Endpoint
	for i := range 3 {
		dir, err := os.MkdirTemp("", fmt.Sprintf("crdeval-load-%d-", i)) // the path of a socket must be short
		if err != nil {
			l.Fatal(err)
		}
		l.Cleanup(func() { _ = os.RemoveAll(dir) })
		f.how = append(f.how, launch{binary: l.binary, dir: dir, flags: []string{
			"--store=etcd", "--etcd-endpoints=" + endpoint, "--etcd-prefix=/rolling/", "--drain-delay=500ms", "--drain-timeout=1m",
		}})
		f.replicas = append(f.replicas, f.how[i].start(l.T))
	}
	client := f.dial()
	l.neighbour(f.replicas[0], "default", 1)
	for _, r := range f.replicas { // each replica has the CRD
		for end := time.Now().Add(time.Minute); crdOf(l.Context(), r.Client) != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				l.Fatal("a replica does not have the CRD")
			}
		}
	}
	outcomes := f.run(client)
	for _, what := range []string{"gRPC evaluations", "REST evaluations", "registrations", "streams", "watches"} {
		o := outcomes[what]
		l.note("%s: %v", what, o)
		l.atMost("failed "+what, float64(o.failed()), bound{0, 0}, "")
		l.atLeast("successful "+what, float64(o.calls), bound{1, 1}, "")
	}
	l.note("%d items of streams, %d streams resumed, %d REST requests sent again", f.streamed.Load(), f.resumed.Load(), f.retried.Load())
}

func crdOf(ctx context.Context, c *crdeval.Client) error {
	_, err := c.Registry().GetCrd(ctx, &crdevalv1.GetCrdRequest{Catalog: "default", Crd: "crontabs.stable.example.com"})
	return err
}

// dial returns a client for all replicas.
func (f *fleet) dial() *crdeval.Client {
	f.Helper()
	r := manual.NewBuilderWithScheme("replicas")
	var all []resolver.Address
	for _, s := range f.replicas {
		all = append(all, resolver.Address{Addr: strings.TrimPrefix(s.grpc, "unix://")})
	}
	r.InitialState(resolver.State{Addresses: all})
	c, err := crdeval.Dial("replicas:///all", crdeval.WithDialOptions(grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(balanced),
		grpc.WithAuthority("localhost"), grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		})))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	return c
}

// run restarts the replicas under load, and returns the outcomes of all kinds of calls.
func (f *fleet) run(client *crdeval.Client) map[string]*outcome {
	n := f.crontabs(client, 10)
	ctx, cancel := context.WithCancel(f.Context())
	outcomes := map[string]*outcome{}
	var wg sync.WaitGroup
	for what, call := range map[string]func(context.Context) error{
		"gRPC evaluations": n.call,
		"REST evaluations": f.rest,
		"registrations":    f.registers(client),
		"streams":          f.stream(client, n.items[0]),
		"watches":          watchFor(client, 2*time.Second),
	} {
		o := &outcome{}
		outcomes[what] = o
		for range 2 {
			wg.Go(func() {
				for ctx.Err() == nil {
					begin := time.Now()
					err := call(f.Context()) // the last call ends, too
					o.record(time.Since(begin), err)
					time.Sleep(time.Duration(f.size(2, 10)) * time.Millisecond)
				}
			})
		}
	}
	begin := time.Now()
	for range f.size(2, 1) {
		for i, how := range f.how {
			time.Sleep(f.span(2*time.Second, 200*time.Millisecond))
			f.replicas[i].stop()
			time.Sleep(100 * time.Millisecond)
			f.replicas[i] = how.start(f.T)
		}
	}
	time.Sleep(f.span(2*time.Second, 200*time.Millisecond))
	cancel()
	wg.Wait()
	for _, o := range outcomes {
		o.elapsed = time.Since(begin)
	}
	return outcomes
}

// rest validates an object at one replica after the other until one serves it.
func (f *fleet) rest(ctx context.Context) error {
	const body = `{"items": [{"create": {"object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a",
"namespace": "b"}, "spec": {"cronSpec": "* * * * *", "image": "a", "replicas": 1}}}}]}`
	var last error
	for attempt := range 30 {
		if attempt > 0 {
			f.retried.Add(1)
			time.Sleep(time.Duration(attempt) * 10 * time.Millisecond)
		}
		again, err := post(ctx, f.how[attempt%len(f.how)].dir, body)
		if !again {
			return err
		}
		last = err
	}
	return last
}

// restClients has the client of each replica.
var restClients sync.Map

// post sends a request to the replica with its sockets in dir. again reports that another replica may serve it.
func post(ctx context.Context, dir, body string) (again bool, err error) {
	created := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "http.sock"))
	}}}
	client, _ := restClients.LoadOrStore(dir, created)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/catalogs/default:validate", strings.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.(*http.Client).Do(request)
	if err != nil {
		return true, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	switch {
	case err != nil:
		return true, err
	case response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusTooManyRequests:
		return true, errors.New(response.Status)
	case response.StatusCode != http.StatusOK || !strings.Contains(string(text), `"allowed":true`):
		return false, fmt.Errorf("%s: %s", response.Status, text)
	}
	return false, nil
}

// registers returns a function that registers a CRD with a default that no other call sets.
func (f *fleet) registers(client *crdeval.Client) func(context.Context) error {
	var next atomic.Int64
	return func(ctx context.Context) error {
		i := next.Add(1)
		_, err := client.RegisterCRD(ctx, schemaCRD(fmt.Sprintf("Rolled%d", i%20),
			fmt.Sprintf("{type: object, properties: {spec: {type: integer, default: %d}}}", i)))
		time.Sleep(50 * time.Millisecond)
		return err
	}
}

// stream returns a function that sends a stream of items. It continues a stream that ends early at the first item
// without a result, as docs/api.md describes.
func (f *fleet) stream(client *crdeval.Client, item *crdevalv1.WriteItem) func(context.Context) error {
	const length = 400
	return func(ctx context.Context) error {
		done := 0
		for attempt := 0; ; attempt++ {
			var ended error
			for r, err := range client.AdmitStream(ctx, paced(item, length-done), crdeval.AdmitOptions{}) {
				if err != nil {
					ended = err
					break
				}
				if !r.Allowed() {
					return r.Err
				}
				done++
				f.streamed.Add(1)
			}
			switch {
			case ended == nil && done == length:
				return nil
			case ended == nil:
				return fmt.Errorf("%d results for %d items", done, length)
			case status.Code(ended) != codes.Unavailable || attempt == 30:
				return ended
			}
			f.resumed.Add(1)
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// paced yields an item every few milliseconds.
func paced(item *crdevalv1.WriteItem, n int) iter.Seq[*crdevalv1.WriteItem] {
	return func(yield func(*crdevalv1.WriteItem) bool) {
		for range n {
			time.Sleep(3 * time.Millisecond)
			if !yield(item) {
				return
			}
		}
	}
}

// watchFor returns a function that watches the CRDs for a time, beginning with the first event.
func watchFor(client *crdeval.Client, d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		events := 0
		for _, err := range client.Watch(ctx, crdeval.WatchOptions{}) {
			if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded { // the server may be first
				break
			}
			if err != nil {
				return err
			}
			if events++; events == 1 {
				time.AfterFunc(d, cancel)
			}
		}
		if events == 0 {
			return errors.New("the watch had no event")
		}
		return nil
	}
}
