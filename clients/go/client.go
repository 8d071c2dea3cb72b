// Package crdeval is the Go client of the crdeval service. It is a thin layer over the generated stubs of
// github.com/crdeval/crdeval/proto/crdeval/v1. It takes manifests and objects as bytes, keeps the consistency token of
// its own writes, splits large requests into several calls, retries calls that an overloaded server rejects, and returns
// rejections as errors. ReasonOf returns the reason of other errors. WithMultiplexing makes concurrent single calls cheaper.
//
// The methods Client.Registry, Client.Evaluation, Client.Presentation and Client.Server return the stubs. To evaluate
// in your own process without a service, use github.com/crdeval/crdeval/engine.
package crdeval

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// maxMessageBytes is the default limit of a server for a message: 64 MiB. The default of grpc is 4 MiB.
const maxMessageBytes = 64 << 20

// keepAlive detects a lost server on an idle connection, such as that of a watch. Servers accept a ping every ten
// seconds.
var keepAlive = keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}

// Client calls a crdeval service for one catalog. It is safe for concurrent use.
type Client struct {
	*link
	overlay []*crdevalv1.Document // inline CRDs, see With
}

// link is the state that a client shares with the clients that With returns.
type link struct {
	conn    grpc.ClientConnInterface
	close   func() error
	catalog string
	token   atomic.Pointer[string] // token of the latest write
	limits  atomic.Pointer[crdevalv1.ServerLimits]
}

// With returns a client that sends inline CRDs, JSON or YAML, with each evaluation. Objects are evaluated against them
// in addition to the CRDs of the catalog. An inline CRD replaces the catalog's CRD with the same name, and is never
// registered. At most 16. If an API server would reject one, the call fails with CRD_REJECTED. The client shares the
// connection and the token of c. The inline CRDs of c come first.
func (c *Client) With(manifests ...[]byte) *Client {
	overlay := slices.Clip(c.overlay)
	for _, m := range manifests {
		overlay = append(overlay, Document(m))
	}
	return &Client{link: c.link, overlay: overlay}
}

// Option changes how Dial sets up a Client.
type Option func(*settings)

type settings struct {
	catalog string
	tls     *tls.Config // nil: plain text
	token   string
	dial    []grpc.DialOption
	retries RetryOptions

	multiplex *MultiplexOptions // nil: none
}

// WithCatalog sets the catalog that the client uses. Default: "default".
func WithCatalog(name string) Option { return func(s *settings) { s.catalog = name } }

// WithTLS connects with TLS. Default: plain text, which is only safe for localhost and unix sockets.
func WithTLS(c *tls.Config) Option { return func(s *settings) { s.tls = c } }

// WithToken sends a bearer token with every call, for a server with --auth-token-file. Dial returns an error if the
// token would be sent to another host in plain text, or has characters other than printable ASCII.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithDialOptions adds options of grpc after the defaults of the client.
func WithDialOptions(o ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, o...) }
}

// Dial returns a client for the service at target: "localhost:9090" or "unix:///run/crdeval/grpc.sock". It does not
// wait for the connection. If the service is down, the first call fails. The client repeats calls that the server rejects
// with OVERLOADED, see WithRetries. A message can have at most 64 MiB; WithDialOptions can change this.
func Dial(target string, options ...Option) (*Client, error) {
	s := settings{catalog: "default"}
	for _, o := range options {
		o(&s)
	}
	if !isTarget(target) {
		return nil, fmt.Errorf("crdeval: the address %q is not HOST:PORT or unix:PATH: use the gRPC address of the server", target)
	}
	if r := s.retries; r.MaxAttempts < 0 || r.FirstPause < 0 || r.MaxPause < 0 {
		return nil, fmt.Errorf("crdeval: the options of retries are negative: %+v", r)
	}
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	dial := []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepAlive), grpc.WithTransportCredentials(transport),
	}
	if s.token != "" {
		if strings.ContainsFunc(s.token, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, errors.New("crdeval: the token has a character that is not printable ASCII, such as a line feed")
		}
		if s.tls == nil && !onThisHost(target) {
			return nil, fmt.Errorf("crdeval: %s: a token would cross the network in plain text: use WithTLS", target)
		}
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(s.token)))
	}
	conn, err := grpc.NewClient(target, append(dial, s.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("crdeval: %w", err)
	}
	l := &link{close: conn.Close, catalog: s.catalog}
	retrying := retryingConn{conn, s.retries.withDefaults()}
	if s.multiplex != nil {
		m := newMultiplexer(conn, *s.multiplex)
		retrying.ClientConnInterface = m
		l.close = func() error {
			err := conn.Close()
			m.close()
			return err
		}
	}
	l.conn = retrying
	return &Client{link: l}, nil
}

// New returns a client for a catalog over a connection of the caller. Close does not close the connection. The client
// does not retry calls.
func New(conn grpc.ClientConnInterface, catalog string) *Client {
	return &Client{link: &link{conn: conn, close: func() error { return nil }, catalog: catalog}}
}

// Close closes the connection, also for the clients that With returned. Calls in progress fail.
func (c *Client) Close() error { return c.close() }

// Registry returns the generated stub of the RegistryService.
func (c *Client) Registry() crdevalv1.RegistryServiceClient {
	return crdevalv1.NewRegistryServiceClient(c.conn)
}

// Evaluation returns the generated stub of the EvaluationService.
func (c *Client) Evaluation() crdevalv1.EvaluationServiceClient {
	return crdevalv1.NewEvaluationServiceClient(c.conn)
}

// Presentation returns the generated stub of the PresentationService.
func (c *Client) Presentation() crdevalv1.PresentationServiceClient {
	return crdevalv1.NewPresentationServiceClient(c.conn)
}

// APIServer returns the generated stub of the ApiServerService, for authors of API servers.
func (c *Client) APIServer() crdevalv1.ApiServerServiceClient {
	return crdevalv1.NewApiServerServiceClient(c.conn)
}

// Server returns the generated stub of the ServerService.
func (c *Client) Server() crdevalv1.ServerServiceClient {
	return crdevalv1.NewServerServiceClient(c.conn)
}

// AtLeast makes later calls see at least the state of this token, for example the token of another client's write. It
// replaces the token of this client's latest write. If writes run at the same time, the token of the response that
// arrives last is used: to see another one at each replica, pass its token.
func (c *Client) AtLeast(token string) { c.token.Store(&token) }

// Token returns the token of this client's latest write, or that of AtLeast. It is empty before both.
func (c *Client) Token() string {
	if token := c.token.Load(); token != nil {
		return *token
	}
	return ""
}

// Catalog returns the name of the catalog.
func (c *Client) Catalog() string { return c.catalog }

// bearer is a token that implements credentials.PerRPCCredentials.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns false because Dial has already checked
// the transport.
func (bearer) RequireTransportSecurity() bool { return false }

var (
	hostPort = regexp.MustCompile(`^([^:/\[\]]+|\[.+\]):\d+$`)
	scheme   = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:.`)
)

// isTarget reports whether a target has a port, or a scheme other than http and https.
func isTarget(target string) bool {
	rest := strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
	return hostPort.MatchString(target) || scheme.MatchString(target) && !rest
}

// onThisHost reports whether traffic to target stays on this host.
func onThisHost(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	target = strings.TrimPrefix(strings.TrimPrefix(target, "passthrough:///"), "dns:///")
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
