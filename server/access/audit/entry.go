package audit

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
)

// The values of Entry.Event.
const (
	EventChange = "change"
	EventDenied = "denied"
)

// The values of Entry.Outcome that are not outcomes of package registry.
const (
	OutcomeFailed          = "FAILED" // of a change that failed
	outcomeDenied          = "PERMISSION_DENIED"
	outcomeUnauthenticated = "UNAUTHENTICATED"
)

// Entry is a line of the log. docs/access.md describes the fields.
type Entry struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	User    string    `json:"user,omitempty"` // empty if the caller is not authenticated
	Groups  []string  `json:"groups,omitempty"`
	Source  string    `json:"source,omitempty"` // how the caller was identified
	Address string    `json:"address,omitempty"`
	Request string    `json:"requestId,omitempty"`
	Action  string    `json:"action"` // such as RegisterCrd, or the method of a denied call
	Catalog string    `json:"catalog,omitempty"`
	CRD     string    `json:"crd,omitempty"`
	Outcome string    `json:"outcome"`
	// Revision and Etag are those after the change. For a deletion, Etag is the one in the request.
	Revision string `json:"revision,omitempty"`
	Etag     string `json:"etag,omitempty"`
	Error    string `json:"error,omitempty"`
	Dropped  int    `json:"dropped,omitempty"` // lines since the previous one that were not written
}

// Bounds of the texts that callers choose, in bytes. Valid names are shorter.
const (
	maxIDBytes    = 128
	maxNameBytes  = 256
	maxErrorBytes = 1024
)

// line completes the entry with the caller of ctx and returns it as a line of JSON.
func (e *Entry) line(ctx context.Context) ([]byte, error) {
	of := call.Of(ctx)
	if id := of.Identity; id.Name != "" {
		e.User, e.Groups, e.Source = id.Name, id.Groups, string(id.Source)
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		e.Address = p.Addr.String()
	}
	e.Request = access.Clip(of.RequestID, maxIDBytes)
	for _, name := range []*string{&e.Action, &e.Catalog, &e.CRD, &e.Etag} {
		*name = access.Clip(*name, maxNameBytes)
	}
	e.Error = access.Clip(e.Error, maxErrorBytes)
	text, err := json.Marshal(e)
	return append(text, '\n'), err
}
