// Package call has what the server knows about a call in flight, and what a call holds.
//
// The transport makes a Call when a call arrives, fills it as the call proceeds, and puts it into the context. It is the
// only value of the context of a call: other packages read it with Of, and add no keys of their own.
//
// A call holds two things until it ends:
//
//   - A Slot is the right of a call to be in flight. The Limiter grants slots: limiter.go, slot.go, delay.go, history.go.
//   - A Lease is the memory of a call. Memory, the ledger, grants its bytes: memory.go.
package call

import (
	"context"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/access"
)

// A Call is a call in flight. Only the transport changes it, before the handler runs.
type Call struct {
	Method      string             // the full method of gRPC; "" before it is known
	RequestID   string             // chosen by the client, or random over REST; ""
	Credentials access.Credentials // that the caller presents
	Identity    access.Identity    // of the caller; without a name before it is authenticated
	Caller      string             // by which limits distinguish callers; "" before it is authenticated
	Catalog     string             // that the request names; ""
	Flow        Flow               // whose CPU time the call uses
	Slot        *Slot              // nil: calls are unlimited
	Lease       *Lease             // nil: memory is unlimited
	Origins     Origins            // of the documents of a REST body; nil over gRPC
	Transport   any                // the state that package transport keeps of a call over a network
}

// Flow names a flow of work. CPU time is shared equally between tenants, and within a tenant between its flows.
type Flow struct{ Tenant, Name string }

// Origins know where the documents of a request are in its body. Messages have no place for them.
type Origins interface {
	// Origin returns the origin of a document of the request, nil if it has none. The error says that the document cannot
	// be read. It is nil for one that the engine can report itself.
	Origin(d Document) (*document.Origin, error)
	// Warnings returns the warnings about the place of a document in the body.
	Warnings(d Document) []engine.Warning
}

// A Document is a *crdevalv1.Document. This package does not import the API, because commands without a service use it.
type Document interface {
	GetJson() []byte
	GetRawYaml() []byte
}

type key struct{}

// With returns a context of a call.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, key{}, c) }

// none is the Call of a context without one.
var none Call

// Of returns the call of a context. It is empty, and must not be changed, for a context without a call.
func Of(ctx context.Context) *Call {
	if c, ok := ctx.Value(key{}).(*Call); ok {
		return c
	}
	return &none
}

// End ends the call: it releases what the call holds.
func (c *Call) End() {
	c.Slot.Release()
	c.Lease.Release()
}

// ConnectionPrefix is the prefix of the names of callers that are not authenticated.
const ConnectionPrefix = "connection:"

// SetCatalog sets the catalog that the request names, and the flow. The tenant is an authenticated caller, whose flows are
// its catalogs. Without authentication, the tenant is the catalog, and its flows are the connections.
func (c *Call) SetCatalog(name string) {
	c.Catalog, c.Flow = name, Flow{Tenant: c.Caller, Name: name}
	if strings.HasPrefix(c.Caller, ConnectionPrefix) {
		c.Flow = Flow{Tenant: "catalog:" + name, Name: c.Caller}
	}
}

// Pause stops counting the call of ctx while it waits for something other than CPU, until resume is called.
func Pause(ctx context.Context) (resume func()) { return Of(ctx).Slot.Pause() }
