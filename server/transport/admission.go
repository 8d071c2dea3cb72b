package transport

import (
	"net/http"

	"github.com/crdeval/crdeval/server/call"
)

// Admission admits REST requests before their bodies are read.
type Admission interface {
	// AdmitRequest notes the caller of a request, and what its call holds, in the call.Call of its context. The error is a
	// status.
	AdmitRequest(r *http.Request) error
}

// NewAdmission returns the admission of the calls over NewInProcess. With the zero options, it admits all.
func NewAdmission(o ServerOptions) Admission {
	o = o.withDefaults()
	return admission{o.Guard, o.Gate, o.Memory}
}

type admission struct {
	guard  *Guard
	gate   *Gate
	memory *call.Memory
}

// AdmitRequest implements Admission: it authenticates the caller, reserves the slot, and opens the lease.
func (a admission) AdmitRequest(r *http.Request) error {
	ctx := r.Context()
	if err := a.guard.authenticate(ctx, r.Header.Values(authorization)); err != nil {
		return a.guard.DenyRequest(r, err)
	}
	if err := a.gate.admit(ctx, 0); err != nil {
		a.gate.overload.add(ctx, err) // there is no access log before the call in process
		return err
	}
	c := call.Of(ctx)
	c.Lease = a.memory.Open(c.Caller)
	return nil
}
