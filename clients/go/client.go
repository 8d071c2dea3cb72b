package crdeval

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// maxMessageBytes lets answers through that a server may send by default: 64 MiB. grpc's own default is 4 MiB.
const maxMessageBytes = 64 << 20

// keepAlive notices a server that is gone while nothing is sent: a watch waits for hours. Servers take a ping every ten seconds.
var keepAlive = keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}

// Client talks to one crdeval service about one catalog. It is safe for concurrent use.
type Client struct {
	*link
	overlay []*crdevalv1.Document // see With
}

// link is what clients share that come of each other.
type link struct {
	conn    *grpc.ClientConn
	catalog string
	token   atomic.Pointer[string] // of the newest write made here
	limits  atomic.Pointer[crdevalv1.ServerLimits]
}

// With returns a client that brings CRDs along, JSON or YAML, with each of its evaluations: objects are evaluated against them beside the
// catalog's or, where it has one of that name, instead of it. They are never registered. At most 16; one that an API server would refuse fails the
// call with CRD_REJECTED. Connection and token are those of c, and whatever c brings along goes first.
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
}

// WithCatalog names the catalog that the client registers in and evaluates against. Default: "default".
func WithCatalog(name string) Option { return func(s *settings) { s.catalog = name } }

// WithTLS connects by TLS. Default: plain text, which is right for localhost and unix sockets only.
func WithTLS(c *tls.Config) Option { return func(s *settings) { s.tls = c } }

// WithToken presents a bearer token with every call, for a server with --auth-token-file. Dial refuses to send it in plain text to another host.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithDialOptions adds options of grpc's own, after the client's defaults.
func WithDialOptions(o ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, o...) }
}

// Dial prepares a client for the service at target, "localhost:9090" or "unix:///run/crdeval/crdeval.sock". It does not
// wait for the connection: a service that is down is found out by the first call.
func Dial(target string, options ...Option) (*Client, error) {
	s := settings{catalog: "default"}
	for _, o := range options {
		o(&s)
	}
	dial := []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepAlive),
	}
	if s.tls != nil {
		dial = append(dial, grpc.WithTransportCredentials(credentials.NewTLS(s.tls)))
	} else {
		dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if s.token != "" {
		if s.tls == nil && !onThisHost(target) {
			return nil, fmt.Errorf("crdeval: %s: a token would cross the network in plain text: use WithTLS", target)
		}
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(s.token)))
	}
	conn, err := grpc.NewClient(target, append(dial, s.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("crdeval: %w", err)
	}
	return &Client{link: &link{conn: conn, catalog: s.catalog}}, nil
}

// Close ends the connection, also of the clients that With made; calls under way fail.
func (c *Client) Close() error { return c.conn.Close() }

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

// Server returns the generated stub of the ServerService.
func (c *Client) Server() crdevalv1.ServerServiceClient {
	return crdevalv1.NewServerServiceClient(c.conn)
}

// serverLimits asks the server for its limits, once.
func (c *Client) serverLimits(ctx context.Context) (*crdevalv1.ServerLimits, error) {
	if l := c.limits.Load(); l != nil {
		return l, nil
	}
	info, err := c.Server().GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	if err != nil {
		return nil, err
	}
	l := info.GetLimits()
	c.limits.Store(l)
	return l, nil
}

// AtLeast makes later calls see at least the state of this token, which another client may have received for a write. It replaces
// the token of this client's own latest write.
func (c *Client) AtLeast(token string) { c.token.Store(&token) }

// atLeast returns the token for a read: that of this client's latest write, or "".
func (c *Client) atLeast() string {
	if t := c.token.Load(); t != nil {
		return *t
	}
	return ""
}

func (c *Client) wrote(token string) {
	if token != "" {
		c.token.Store(&token)
	}
}
