// Package conversion calls the conversion webhooks of CRDs as an API server calls them: client.go sends the reviews,
// hosts.go decides which hosts may be called, group.go combines the calls of a batch.
package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/engine"
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
	// MaxResponseBytes bounds a response. Default: 64 MiB.
	MaxResponseBytes int64
	// Transport wraps the transport of each host, for metrics and traces. It may be nil.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Defaults of Options.
const (
	DefaultTimeout          = 30 * time.Second
	DefaultMaxResponseBytes = 64 << 20
)

const (
	maxClients = 1000 // with open connections; others are opened again
	// After maxFailures failed calls in a row, a host is not called for recovery. Then one call is tried.
	maxFailures = 5
	recovery    = 10 * time.Second
)

// Client calls conversion webhooks. It implements engine.Converter.
type Client struct {
	o       Options
	codecs  runtime.NegotiatedSerializer
	clients *lru.Cache[string, *client]
}

// client calls one webhook.
type client struct {
	*rest.RESTClient
	idle    func() // closes idle connections
	breaker *gobreaker.CircuitBreaker[any]
}

// New returns a Client.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = DefaultMaxResponseBytes
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), apiextensionsv1beta1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(apiextensionsv1.SchemeGroupVersion,
		apiextensionsv1beta1.SchemeGroupVersion)
	c := &Client{o: o, codecs: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})}
	var err error
	c.clients, err = lru.NewWithEvict(maxClients, func(_ string, c *client) { c.idle() })
	return c, err
}

// Close closes idle connections. Calls that run may open new ones.
func (c *Client) Close() { c.clients.Purge() }

// Convert implements engine.Converter.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go.
func (c *Client) Convert(ctx context.Context, r engine.ConversionRequest) ([][]byte, error) {
	if g, found := ctx.Value(contextKey{}).(*Group); found && len(r.Objects) == 1 {
		reply, err := g.convert(ctx, c, r)
		return [][]byte{reply}, err
	}
	id := uuid.NewUUID()
	request, response := reviews(r, id)
	if request == nil {
		return nil, errors.New("no supported conversion review versions")
	}
	webhook, err := c.client(r.Webhook.ClientConfig)
	if err != nil {
		return nil, err
	}
	_, err = webhook.breaker.Execute(func() (any, error) {
		return nil, webhook.Post().Body(request).Do(ctx).Into(response)
	})
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, fmt.Errorf("its last %d calls failed: it is called again within %v", maxFailures, recovery)
	case err != nil:
		return nil, err
	}
	return converted(response, id)
}

// reviews returns a request and an empty response of the first version that the webhook and an API server have in
// common, or nil.
func reviews(r engine.ConversionRequest, id types.UID) (request, response runtime.Object) {
	objects := make([]runtime.RawExtension, len(r.Objects))
	for i, o := range r.Objects {
		objects[i].Raw = o
	}
	for _, version := range r.Webhook.ConversionReviewVersions {
		switch version {
		case apiextensionsv1.SchemeGroupVersion.Version:
			return &apiextensionsv1.ConversionReview{
				Request: &apiextensionsv1.ConversionRequest{
					UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects,
				},
				Response: &apiextensionsv1.ConversionResponse{},
			}, &apiextensionsv1.ConversionReview{}
		case apiextensionsv1beta1.SchemeGroupVersion.Version:
			return &apiextensionsv1beta1.ConversionReview{
				Request: &apiextensionsv1beta1.ConversionRequest{
					UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects,
				},
				Response: &apiextensionsv1beta1.ConversionResponse{},
			}, &apiextensionsv1beta1.ConversionReview{}
		}
	}
	return nil, nil
}

// converted returns the objects of a response. Like an API server, it checks kind and uid only for v1.
func converted(review runtime.Object, id types.UID) ([][]byte, error) {
	var result metav1.Status
	var objects []runtime.RawExtension
	missing := errors.New("no response provided")
	switch review := review.(type) {
	case *apiextensionsv1.ConversionReview:
		want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
		switch {
		case review.GroupVersionKind() != want:
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want.String(),
				review.GroupVersionKind().String())
		case review.Response == nil:
			return nil, missing
		case review.Response.UID != id:
			return nil, fmt.Errorf("expected response.uid=%q, got %q", id, review.Response.UID)
		}
		result, objects = review.Response.Result, review.Response.ConvertedObjects
	case *apiextensionsv1beta1.ConversionReview:
		if review.Response == nil {
			return nil, missing
		}
		result, objects = review.Response.Result, review.Response.ConvertedObjects
	}
	switch {
	case result.Status == metav1.StatusSuccess:
	case result.Message != "":
		return nil, errors.New(result.Message)
	default:
		return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
	}
	all := make([][]byte, len(objects))
	for i := range objects {
		all[i] = objects[i].Raw
	}
	return all, nil
}

// client returns the client of a webhook.
func (c *Client) client(w *apiextensionsv1.WebhookClientConfig) (*client, error) {
	key, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if known, ok := c.clients.Get(string(key)); ok {
		return known, nil
	}
	made, err := c.connect(w)
	if err != nil {
		return nil, err
	}
	if known, found, _ := c.clients.PeekOrAdd(string(key), made); found {
		return known, nil
	}
	return made, nil
}

// connect makes the client of a webhook. It opens no connection.
//
// Upstream: apiserver pkg/util/webhook/client.go, hookClientConfig.
func (c *Client) connect(w *apiextensionsv1.WebhookClientConfig) (*client, error) {
	config := &rest.Config{QPS: -1, Timeout: c.o.Timeout} // it is also a parameter of the URL, which errors contain
	config.CAData, config.CertFile, config.KeyFile = bytes.TrimSpace(w.CABundle), c.o.Certificate, c.o.Key
	config.NextProtos = []string{"http/1.1"}  // an API server does not use HTTP/2, which reuses one connection
	config.WarningHandler = rest.NoWarnings{} // client-go would log them past slog
	config.NegotiatedSerializer, config.ContentType = c.codecs, runtime.ContentTypeJSON
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // the address of a proxy would be checked
	dial := c.o.Hosts.dial
	switch {
	case w.Service != nil:
		port := 443
		if w.Service.Port != nil && *w.Service.Port != 0 {
			port = int(*w.Service.Port)
		}
		name := w.Service.Name + "." + w.Service.Namespace + ".svc"
		config.Host = "https://" + net.JoinHostPort(name, strconv.Itoa(port))
		config.ServerName = name
		if w.Service.Path != nil {
			config.APIPath = *w.Service.Path
		}
		key := w.Service.Namespace + "/" + w.Service.Name
		for _, key := range []string{key + ":" + strconv.Itoa(port), key} {
			if address, found := c.o.Services[key]; found {
				var d net.Dialer
				dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return d.DialContext(ctx, network, address)
				}
				break
			}
		}
	case w.URL != nil:
		u, err := url.Parse(*w.URL)
		if err != nil {
			return nil, fmt.Errorf("invalid URL: %w", err)
		}
		config.Host, config.APIPath = u.Scheme+"://"+u.Host, u.Path
	default:
		return nil, errors.New("the webhook has neither a service nor a URL")
	}
	config.Dial = dial
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{next, c.o.MaxResponseBytes} })
	if c.o.Transport != nil {
		config.Wrap(c.o.Transport)
	}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	r, err := rest.UnversionedRESTClientForConfigAndClient(config, h)
	if err != nil {
		return nil, err
	}
	return &client{RESTClient: r, idle: h.CloseIdleConnections, breaker: gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		Timeout:     recovery,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= maxFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
	})}, nil
}

// guard rejects redirects and long responses.
type guard struct {
	next     http.RoundTripper
	maxBytes int64
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if to := response.Header.Get("Location"); response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the webhook redirects to %q: redirects are not followed", to)
	}
	response.Body = &limited{response.Body, g.maxBytes, g.maxBytes}
	return response, nil
}

// limited is a response body of limited length.
type limited struct {
	io.ReadCloser
	left, max int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("the response is larger than %d bytes, the limit", l.max)
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, fmt.Errorf("the response is larger than %d bytes, the limit", l.max)
	}
	return n, err
}
