package transport

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

// Entry is where REST requests enter the server.
type Entry interface {
	// AdmitRequest admits a request before its body is read. It notes the caller, and what the call holds, in the call.Call
	// of the request's context. The error is a status.
	AdmitRequest(r *http.Request) error
	// Run runs f as a call of an admitted request. It authorizes the call, logs and measures it, and recovers panics. label
	// has the form /GROUP/NAME and names the call in logs and metrics; NAME is in the error of a caller that lacks the
	// required permission in the catalog. The error is a status.
	Run(ctx context.Context, label string, required access.Permission, catalog string, f func(context.Context) error) error
}

// NewEntry returns the entry of a server. With the zero options, it admits and permits all calls.
func NewEntry(o ServerOptions) Entry {
	o = o.withDefaults()
	return &entry{o.Guard, o.Gate, o.Memory, o.Stats, o.accessLog(), o.Log}
}

type entry struct {
	guard  *Guard
	gate   *Gate
	memory *call.Memory
	stats  stats.Handler
	access accessLog
	log    *slog.Logger
}

// AdmitRequest implements Entry: it authenticates the caller, reserves the slot, and opens the lease.
func (e *entry) AdmitRequest(r *http.Request) error {
	ctx := r.Context()
	if err := e.guard.authenticate(ctx, r.Header.Values(authorization)); err != nil {
		return e.guard.DenyRequest(r, err)
	}
	if err := e.gate.admit(ctx, 0); err != nil {
		e.gate.overload.add(ctx, err) // there is no access log before the call in process
		return err
	}
	c := call.Of(ctx)
	c.Lease = e.memory.Open(c.Caller)
	return nil
}

// Run implements Entry. It has the order of the interceptors of NewInProcess: telemetry, access log, recovery, guard.
func (e *entry) Run(
	ctx context.Context, label string, required access.Permission, catalog string, f func(context.Context) error,
) error {
	return inprocess.Run(ctx, e.stats, label, func(ctx context.Context) error {
		start := time.Now()
		err := e.recovering(ctx, func() error {
			if err := e.guard.permit(ctx, label, required, catalog); err != nil {
				return err
			}
			return f(ctx)
		})
		e.access.record(ctx, label, start, err)
		return err
	})
}

// recovering returns the error of f, or that of its panic.
func (e *entry) recovering(ctx context.Context, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(ctx, e.log, p)
		}
	}()
	return f()
}
