package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/registry"
)

// operation describes a request to etcd, for error messages. Only writing operations change the store.
type operation string

const (
	connecting operation = "connecting"
	creating   operation = "creating the store"
	committing operation = "committing"
	loading    operation = "loading"
	watching   operation = "watching"
	readStore  operation = "reading the store's identity"
)

func (o operation) writes() bool { return o == creating || o == committing }

// call makes a request, bounded by the store's timeout and ctx, and explains its error.
func call[T any](ctx context.Context, s *Store, o operation, request func(context.Context) (T, error)) (T, error) {
	var none T
	if s.isClosed() {
		return none, registry.ErrClosed
	}
	var sent atomic.Bool
	bounded, cancel := context.WithTimeout(context.WithValue(ctx, sentKey{}, &sent), s.timeout)
	defer cancel()
	defer context.AfterFunc(s.client.Ctx(), cancel)() // otherwise the client retries after Close
	answer, err := request(bounded)
	switch {
	case err == nil:
		return answer, nil
	case s.isClosed():
		return none, registry.ErrClosed
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = context.Cause(ctx) // the last error of the connection is still useful
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	}
	return none, s.failure(o, err, sent.Load())
}

// failure turns an error of the client into one that says what to do. The outcome is unknown only for a write that was
// sent and not rejected.
func (s *Store) failure(o operation, err error, sent bool) error {
	if errors.Is(err, rpctypes.ErrCompacted) {
		return err // Load retries
	}
	public, hint, unknown := s.explain(err)
	unknown = unknown && sent && o.writes()
	outcome := ""
	switch {
	case unknown:
		outcome = "; it may have been written"
	case o.writes():
		outcome = "; nothing was written"
	}
	failed := &registry.Failure{
		Public: public, Unchanged: !unknown,
		Err: fmt.Errorf("etcd at %s, %s: %w%s: %s", s.endpoints, o, err, outcome, hint),
	}
	if isTooLarge(err) {
		failed.Err = fmt.Errorf("%w: %w", registry.ErrTooLarge, failed.Err)
	}
	return failed
}

// explain returns a clause for callers, a hint for operators, and whether a write with this error may have been made.
func (s *Store) explain(err error) (public, hint string, unknown bool) {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
	}
	switch {
	case isTooLarge(err):
		return "the transaction is too large for it",
			"raise etcd's --max-request-bytes (1.5 MiB by default) or --max-txn-ops (128)", false
	case is(rpctypes.ErrNoSpace): // etcd makes the write that exceeds the quota (etcdserver/apply/quota.go)
		return "it has no space left",
			"compact and defragment etcd, or raise its --quota-backend-bytes; then `etcdctl alarm disarm`", true
	case is(rpctypes.ErrPermissionDenied):
		return "this server lacks the permission", fmt.Sprintf(
			"grant a role of %s: `etcdctl role grant-permission ROLE readwrite --prefix=true %s`", s.who(), s.keys.prefix), false
	case is(rpctypes.ErrAuthFailed):
		return "it did not authenticate this server", fmt.Sprintf("check the password of %s", s.who()), false
	case is(rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision):
		return "it did not authenticate this server",
			"etcd requires authentication: set --etcd-user and its password, or a client certificate that etcd accepts", false
	case is(rpctypes.ErrTooManyRequests):
		return "it is overloaded", "check the disk of etcd and its other writers", false
	case is(rpctypes.ErrCorrupt):
		return "its contents are damaged",
			"etcd found that its members differ (CORRUPT alarm): see its documentation about data corruption", true
	case is(rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrNotLeader):
		return "it has no leader at the moment",
			"a majority of etcd's members must be connected: check `etcdctl endpoint status --cluster`", true
	case is(rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex,
		rpctypes.ErrStopped, rpctypes.ErrUnhealthy):
		return "it did not answer in time", "check etcd's log: a member that stops, a slow disk, a slow network", true
	case is(context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded, status.Code(err) == codes.Unavailable:
		return "it did not answer in time",
			"check that a majority of its members runs, the endpoints, and TLS on both sides" + s.lastFailure(), true
	case is(rpctypes.ErrDuplicateKey):
		return "it rejected the write",
			"a transaction has a key twice: this is a bug of crdeval, please report it", false
	}
	return "the server's log has the details", "check etcd's log", true
}

func (s *Store) who() string {
	if s.user == "" {
		return "the user in the client certificate"
	}
	return fmt.Sprintf("user %q", s.user)
}

// isTooLarge covers the limits of etcd, and those of gRPC on both sides.
func isTooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || errors.Is(err, rpctypes.ErrTooManyOps) ||
		status.Code(err) == codes.ResourceExhausted && strings.Contains(status.Convert(err).Message(), "larger than max")
}

func (s *Store) lastFailure() string {
	if last := s.lastError.Load(); last != nil {
		return "; the last failure was: " + *last
	}
	return ""
}

// observe records the errors of connections: the client itself returns only that the deadline passed. It also records
// that a request was sent.
func (s *Store) observe(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	var sentTo peer.Peer // gRPC sets it if the request has a stream
	err := invoke(ctx, method, request, reply, conn, append(options, grpc.Peer(&sentTo))...)
	if mark, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok && sentTo.Addr != nil {
		mark.Store(true)
	}
	switch status.Code(err) {
	case codes.OK:
		s.lastError.Store(nil)
	case codes.Unavailable, codes.DeadlineExceeded:
		if text := status.Convert(err).Message(); text != context.DeadlineExceeded.Error() {
			s.lastError.Store(&text)
		}
	}
	return err
}

// sentKey is the key of a mark in the context of a request. It is set when the request was sent: from then on its
// outcome may be unknown.
type sentKey struct{}
