// Package sidecar evaluates custom resources with calls of a crdeval server, usually one beside the API server that
// listens on a unix socket:
//
//	evaluator, err := sidecar.Dial("unix:///run/crdeval/grpc.sock", sidecar.Options{})
//
// Compile registers the CRD in a catalog of that server. The Definition evaluates objects by the revision that it
// registered, other CRDs of the catalog have no effect. If the server has lost the CRD, for example because it was restarted
// with an empty store, the Definition registers it again and repeats the call. While the server cannot be reached or is
// overloaded, calls end with 503 ServiceUnavailable. Calls of Admit and Read share streams, which costs less CPU
// time: unary interceptors see them only if a stream fails. Calls for CRDs with a conversion webhook share none.
//
// API servers that share a storage can share a catalog. API servers with other storages need catalogs of their own,
// because the resourceVersions of a storage order the registrations.
package sidecar

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/clients/apiserver"
	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Options change how an Evaluator calls the server. The zero value is the default.
type Options struct {
	// Catalog is the catalog of the CRDs. It is created if it does not exist. Default: "default".
	Catalog string
	// Timeout bounds each call. Default: 10 s.
	Timeout time.Duration
	// Client has further options of the client, for example for TLS, tokens and retries.
	Client []crdeval.Option
}

// Evaluator is an apiserver.Remote that calls a crdeval server.
type Evaluator struct {
	client  *crdeval.Client
	address string
	catalog string
	timeout time.Duration
	outages outages
}

var _ apiserver.Remote = (*Evaluator)(nil)

// reconnect tries to reach a server that is down every second. By default, grpc waits up to two minutes.
var reconnect = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: time.Second,
})

// Dial returns an Evaluator that calls the server at an address: unix:///run/crdeval/grpc.sock or localhost:9090. It
// does not wait for the connection.
func Dial(address string, o Options) (*Evaluator, error) {
	e := &Evaluator{address: address, catalog: o.Catalog, timeout: o.Timeout}
	if e.catalog == "" {
		e.catalog = "default"
	}
	if e.timeout == 0 {
		e.timeout = 10 * time.Second
	}
	options := append([]crdeval.Option{
		crdeval.WithCatalog(e.catalog), crdeval.WithDialOptions(reconnect), crdeval.WithMultiplexing(crdeval.MultiplexOptions{}),
	}, o.Client...)
	var err error
	e.client, err = crdeval.Dial(address, options...)
	return e, err
}

// Close closes the connection. Calls in progress fail.
func (e *Evaluator) Close() error { return e.client.Close() }

// Check returns an error if the server cannot be reached.
func (e *Evaluator) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	_, err := e.client.Server().GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	return err
}

// Remove implements apiserver.Remote. A CRD that was created again since stays registered.
func (e *Evaluator) Remove(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	_, err := e.client.Registry().DeleteCrd(ctx, &crdevalv1.DeleteCrdRequest{
		Catalog: e.catalog, Crd: crd.Name, NotOlderThan: resourceVersion(crd),
	})
	switch reasonOf(err) {
	case crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_FOUND, crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND, crdevalv1.ErrorReason_ERROR_REASON_CRD_OUTDATED:
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove CRD %s from the crdeval sidecar at %s: %w", crd.Name, e.address, err)
	}
	return nil
}

// resourceVersion returns the resourceVersion of a CRD as a number, 0 if it is not a number.
func resourceVersion(crd *apiextensionsv1.CustomResourceDefinition) int64 {
	n, err := strconv.ParseInt(crd.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Outages implements apiserver.Remote.
func (e *Evaluator) Outages() (count int64, ongoing bool, last error) {
	if last := e.outages.last.Load(); last != nil {
		return e.outages.count.Load(), e.outages.ongoing.Load(), *last
	}
	return 0, false, nil
}

// outages counts the calls that have failed with ServiceUnavailable.
type outages struct {
	count   atomic.Int64
	last    atomic.Pointer[error]
	ongoing atomic.Bool
}

func (o *outages) add(err error) {
	o.last.Store(&err)
	o.count.Add(1)
	o.ongoing.Store(true)
}
