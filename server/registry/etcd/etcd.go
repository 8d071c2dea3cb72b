// Package etcd is the Store that replicas share: the keys below one prefix of an etcd cluster, version 3.4 or later.
//
// A commit is one etcd transaction, and its sequence is the transaction's revision. Sequences therefore jump: etcd
// counts all that is written to it. Where to read next: keys.go has the layout, watch.go how replicas follow,
// failures.go what etcd's errors mean.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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
	// Endpoints are the client addresses of the cluster's members: http://host:2379, https://host:2379, or host:2379.
	// Required.
	Endpoints []string
	// Prefix is what all keys begin with; a slash is added if it does not end with one. Default: DefaultPrefix.
	Prefix string
	// Username and Password authenticate this process, if etcd has authentication enabled and does not take the client
	// certificate's name.
	Username, Password string
	// TLS is for https endpoints and those without a scheme; nil means the system's authorities for the former and
	// plain text for the latter.
	TLS *tls.Config
	// DialTimeout is how long a request waits for etcd, the first ones of Open included. Default: 5 s.
	DialTimeout time.Duration
	// Log gets connections lost and found again. Default: slog.Default().
	Log *slog.Logger
}

// defaultTimeout is long enough for an election among members, short enough for a caller to be told.
const defaultTimeout = 5 * time.Second

// Connections are pinged when nothing was heard for keepaliveTime and given up after keepaliveTimeout: a host that
// vanished, a network that drops. etcd closes connections that ping more often than every five seconds.
const (
	keepaliveTime    = 6 * time.Second
	keepaliveTimeout = 3 * time.Second
)

// reconnect makes that a server which was away is found again within seconds: left alone, gRPC pauses up to two minutes
// between attempts.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 3 * time.Second,
}

// maxMessage is the largest request that this side sends. What etcd takes is its own affair (--max-request-bytes, 1.5
// MiB by default).
const maxMessage = 64 << 20

// ErrCorrupt is the error of a prefix that holds something else than a registry, or a damaged one.
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

	lastError atomic.Pointer[string] // the last failure of a connection, for messages
	following atomic.Pointer[following]

	closing sync.Once
	closed  chan struct{}
}

var _ registry.Watcher = (*Store)(nil)

// Open connects to etcd and makes the store if nothing is below the prefix. The error says what to check.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Store{
		keys: newLayout(o.Prefix), endpoints: strings.Join(o.Endpoints, ", "), user: o.Username, timeout: o.DialTimeout, log: o.Log, closed: make(chan struct{}),
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.follow(errNotWatched)
	if o.Username != "" && o.TLS == nil && !strings.HasPrefix(o.Endpoints[0], "https://") {
		s.log.Warn("the password for etcd goes over the network in plain text: use https endpoints", "endpoints", s.endpoints)
	}
	var err error
	s.client, err = clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, Username: o.Username, Password: o.Password, TLS: o.TLS,
		DialTimeout: s.timeout, DialKeepAliveTime: keepaliveTime, DialKeepAliveTimeout: keepaliveTimeout,
		MaxCallSendMsgSize: maxMessage,
		Logger:             zap.NewNop(), // its lines tell of every attempt; what matters is in our errors
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(reconnect), grpc.WithChainUnaryInterceptor(s.observe), grpc.WithStatsHandler(sentHandler{}),
		},
	})
	if err != nil {
		return nil, s.failure(s.op("connecting"), err, false)
	}
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) check() error {
	if len(o.Endpoints) == 0 {
		return errors.New("etcd: no endpoints: give the client addresses of its members, https://etcd-0:2379 for example")
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
			return fmt.Errorf("etcd: endpoint %q: the scheme is neither http nor https", e)
		}
	}
	switch {
	case o.TLS != nil && plain > 0:
		return fmt.Errorf("etcd: TLS is configured, but an endpoint of %s has http: write https", strings.Join(o.Endpoints, ", "))
	case plain > 0 && secure > 0:
		return fmt.Errorf("etcd: the endpoints %s have different schemes: write all with https or all with http", strings.Join(o.Endpoints, ", "))
	case (o.Username == "") != (o.Password == ""):
		return errors.New("etcd: user and password belong together: give both or neither")
	}
	return nil
}

// ID implements registry.Store.
func (s *Store) ID() string { return s.id }

// Close implements registry.Store. A running Watch returns.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		_ = s.client.Close() // it answers that its context is cancelled, which it did itself
	})
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}
