// Package etcd implements registry.Watcher: a store shared by replicas, below a prefix of an etcd cluster (from 3.4).
//
// A commit is an etcd transaction, and its sequence is the revision, which is not consecutive, because etcd counts all
// writes. layout.go has the keys, watch.go follows commits, failures.go explains the errors of etcd.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/crdeval/crdeval/server/registry"
)

// Options configure a Store.
type Options struct {
	// Endpoints are the required client addresses of the members: http://host:2379, https://host:2379, or host:2379.
	Endpoints []string
	// Prefix is the prefix of all keys. A missing slash at the end is added. Default: DefaultPrefix.
	Prefix string
	// Username and Password authenticate this process, unless etcd uses the name in the client certificate.
	Username, Password string
	// TLS is used for https endpoints and those without a scheme. Nil means the system's authorities for https, and plain
	// text for endpoints without a scheme.
	TLS *tls.Config
	// DialTimeout bounds each request, including those of Open. Default: 5 s.
	DialTimeout time.Duration
	// Log receives lost and restored connections. Default: slog.Default().
	Log *slog.Logger
}

// defaultTimeout is longer than an election of etcd.
const defaultTimeout = 5 * time.Second

// A silent connection is pinged after keepaliveTime and closed after keepaliveTimeout. etcd closes connections that
// ping more often than every five seconds.
const (
	keepaliveTime    = 6 * time.Second
	keepaliveTimeout = 3 * time.Second
)

// reconnect bounds the pause between connection attempts, which is up to two minutes by default in gRPC.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 3 * time.Second,
}

// maxMessage bounds requests on this side. etcd has its own limit (--max-request-bytes, 1.5 MiB by default).
const maxMessage = 64 << 20

// ErrCorrupt is the error of a prefix that has a damaged registry or other data.
var ErrCorrupt = errors.New("the registry in etcd is damaged")

// Store keeps entries in etcd.
type Store struct {
	client    *clientv3.Client
	keys      layout
	endpoints string // for messages
	user      string
	timeout   time.Duration
	log       *slog.Logger

	id       string
	identity []byte // the value of the key "store"

	lastError atomic.Pointer[string] // of a connection, for messages
}

var _ registry.Watcher = (*Store)(nil)

// Open connects to etcd, and creates the store if the prefix has no keys. The error says what to check.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Store{
		keys: newLayout(o.Prefix), endpoints: strings.Join(o.Endpoints, ", "), user: o.Username,
		timeout: cmp.Or(o.DialTimeout, defaultTimeout), log: cmp.Or(o.Log, slog.Default()),
	}
	if o.Username != "" && o.TLS == nil && !strings.HasPrefix(o.Endpoints[0], "https://") {
		s.log.Warn("the password for etcd is sent in plain text: use https endpoints", "endpoints", s.endpoints)
	}
	var err error
	s.client, err = clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, Username: o.Username, Password: o.Password, TLS: o.TLS,
		DialTimeout: s.timeout, DialKeepAliveTime: keepaliveTime, DialKeepAliveTimeout: keepaliveTimeout,
		MaxCallSendMsgSize: maxMessage,
		Logger:             zap.NewNop(), // it would log each attempt
		DialOptions:        []grpc.DialOption{grpc.WithConnectParams(reconnect), grpc.WithChainUnaryInterceptor(s.observe)},
	})
	if err != nil {
		return nil, s.failure(connecting, err, false)
	}
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) check() error {
	if len(o.Endpoints) == 0 {
		return errors.New("etcd: no endpoints: set the client addresses of its members, for example https://etcd-0:2379")
	}
	var plain, secure int
	for _, e := range o.Endpoints {
		switch scheme, host, found := strings.Cut(e, "://"); {
		case found && host == "" || e == "":
			return fmt.Errorf("etcd: endpoint %q has no host", e)
		case scheme == "http", scheme == "unix", !found && o.TLS == nil:
			plain++
		case scheme == "https", scheme == "unixs", !found:
			secure++
		default:
			return fmt.Errorf("etcd: endpoint %q: the scheme must be http or https", e)
		}
	}
	switch {
	case o.TLS != nil && plain > 0:
		return fmt.Errorf("etcd: TLS is configured, but an endpoint of %s has http: use https", strings.Join(o.Endpoints, ", "))
	case plain > 0 && secure > 0:
		return fmt.Errorf("etcd: the endpoints %s have different schemes: use https or http for all", strings.Join(o.Endpoints, ", "))
	case (o.Username == "") != (o.Password == ""):
		return errors.New("etcd: set both user and password, or neither")
	}
	return nil
}

// ID implements registry.Store.
func (s *Store) ID() string { return s.id }

// Close implements registry.Store. A running Watch returns.
func (s *Store) Close() error {
	_ = s.client.Close() // it returns that its own context is cancelled
	return nil
}

func (s *Store) isClosed() bool { return s.client.Ctx().Err() != nil }
