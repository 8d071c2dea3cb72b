// Package conversion calls the conversion webhooks of CRDs as an API server does. client.go sends the reviews,
// connect.go makes the connections, hosts.go decides which hosts may be called, and group.go combines the calls of a
// batch. Webhooks can be hostile: load.go bounds calls and memory, response.go bounds responses, and outcome.go decides
// when a webhook counts as failing.
package conversion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/conversion/review"
	"github.com/crdeval/crdeval/server/flow"
)

// Options configure a Client. The zero value calls no host.
type Options struct {
	// Hosts are the hosts that may be called.
	Hosts Hosts
	// Services are the addresses (host:port) of services, by NAMESPACE/NAME or NAMESPACE/NAME:PORT. Other services are
	// called at NAME.NAMESPACE.svc:PORT.
	Services map[string]string
	// Certificate and Key are PEM files with a client certificate, or "". They are read again for new connections.
	Certificate, Key string
	// Timeout bounds a call, from the connection to the last byte. Default: 30 s, as in an API server.
	Timeout time.Duration
	// MaxResponseBytes bounds a response. It also bounds the memory that the responses of a host need at a time, parsed
	// objects included. The responses of a single batch can need three times as much, and those of all hosts four times.
	// Only what exceeds twice the memory of the request and 64 KiB counts. Default: 64 MiB.
	MaxResponseBytes int64
	// MaxCalls bounds the calls that run at a time. Three quarters of them can be calls of one webhook. Further calls
	// fail at once. Both bounds are halved for webhooks that have not answered yet or whose last call was an outage,
	// so that they leave capacity for others. Default: 128.
	MaxCalls int
	// Transport wraps the transport of each host, for traces. It may be nil.
	Transport func(http.RoundTripper) http.RoundTripper
	// Observe is called before a call, and returns its context and a function that is called after it. It may be nil.
	Observe func(context.Context, Call) (context.Context, func(Outcome, error))
}

// Call describes a call of a webhook.
type Call struct {
	CRD        string
	Host       string // host:port; "" if it may not be called
	APIVersion string // of the converted objects
	Objects    int
}

// Defaults of Options.
const (
	DefaultTimeout          = 30 * time.Second
	DefaultMaxResponseBytes = 64 << 20
	DefaultMaxCalls         = 128
)

const (
	maxClients = 1000 // clients that are kept, with their open connections
	// After maxFailures failed calls in a row, a webhook is not called for the duration recovery. Then one call is
	// tried.
	maxFailures = 5
	recovery    = 10 * time.Second
)

// Client calls conversion webhooks. It implements conversionwebhook.Converter.
type Client struct {
	o       Options
	codecs  runtime.NegotiatedSerializer
	clients *lru.Cache[string, *client]
	load    load
}

// New returns a Client.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if o.MaxCalls == 0 {
		o.MaxCalls = DefaultMaxCalls
	}
	if o.Observe == nil {
		o.Observe = func(ctx context.Context, _ Call) (context.Context, func(Outcome, error)) {
			return ctx, func(Outcome, error) {}
		}
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), apiextensionsv1beta1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(apiextensionsv1.SchemeGroupVersion,
		apiextensionsv1beta1.SchemeGroupVersion)
	c := &Client{
		o: o, codecs: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: reviewCodec{codec}}),
		load: newLoad(int64(o.MaxCalls), o.MaxResponseBytes),
	}
	var err error
	c.clients, err = lru.NewWithEvict(maxClients, func(_ string, c *client) { c.idle() })
	return c, err
}

// Close closes idle connections. Calls that run may open new ones.
func (c *Client) Close() { c.clients.Purge() }

// Convert implements conversionwebhook.Converter. The conversions of a batch share calls: see Reserve.
func (c *Client) Convert(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	if pool := flow.PoolOf(ctx); pool != nil {
		of := pool.Share(func(ctx context.Context) (any, func()) {
			of := reserve(ctx)
			return of, of.release
		}).(*reservation) //nolint:forcetypeassert // only this package shares
		if len(r.Objects) == 1 {
			reply, err := of.convert(ctx, pool, c, r)
			return [][]byte{reply}, err
		}
		ctx = of.within(ctx)
	}
	var replies [][]byte
	var err error
	flow.Wait(ctx, func() { replies, err = c.send(ctx, r) })
	return replies, err
}

// send calls a webhook.
func (c *Client) send(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	call := Call{CRD: r.CRD, APIVersion: r.DesiredAPIVersion, Objects: len(r.Objects)}
	webhook, err := c.client(r.Webhook.ClientConfig)
	if err == nil {
		call.Host = webhook.host
	}
	ctx, ended := c.o.Observe(ctx, call)
	var replies [][]byte
	if err == nil {
		replies, err = c.post(ctx, webhook, r)
	}
	ended(outcomeOf(ctx, err), err)
	return replies, err
}

// post sends a ConversionReview and checks the response.
func (c *Client) post(ctx context.Context, webhook *client, r conversionwebhook.Request) ([][]byte, error) {
	id := uuid.NewUUID()
	request, response, err := review.New(r, id)
	if err != nil {
		return nil, err
	}
	if err := c.load.begin(webhook); err != nil {
		return nil, err
	}
	defer c.load.end(webhook)
	ctx, release := Reserve(ctx)
	defer release()
	weight := int64(0)
	for _, o := range r.Objects {
		weight += host.EvaluationMemory(o)
	}
	ctx = context.WithValue(ctx, batchKey{}, batchContext{reservationOf(ctx), weight})
	_, err = webhook.breaker.Execute(func() (any, error) {
		quiet := klog.NewContext(ctx, klog.Logger{}) // client-go logs past slog
		err := webhook.Post().Body(request).Do(quiet).Into(response)
		if f := (*failure)(nil); errors.As(err, &f) && (f.outcome == Busy || f.outcome == TooLarge) {
			return nil, f // without the text of client-go, which advises to retry
		}
		if err != nil {
			f := &failure{outcomeOf(ctx, err), err}
			if f.isOutage() {
				webhook.works.Store(false)
				webhook.last.Store(f)
			}
			return nil, f
		}
		webhook.works.Store(true)
		return nil, nil
	})
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, &failure{CircuitOpen, fmt.Errorf("its last %d calls failed, and it is called again within %v: %w", maxFailures,
			recovery, webhook.last.Load().error)}
	case err != nil:
		return nil, err
	}
	return review.Objects(response, id)
}
