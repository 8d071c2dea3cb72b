package registry

import (
	"context"
	"errors"
)

// Watch tells of what happens in a catalog, in order, until ctx ends or tell fails, and returns the reason. From "" it tells of every CRD as
// ADDED, then SYNCED, then news; from a token, of what has changed since, then SYNCED, then news. A token of a state whose successors
// are no longer kept is WATCH_EXPIRED: watch from "" again.
func (r *Registry) Watch(ctx context.Context, catalog, from string, tell func(Event) error) error {
	return errNotYet
}

// errNotYet is the answer of what is under construction.
var errNotYet = &Error{Reason: Overloaded, Message: "this server does not offer that", Err: errors.ErrUnsupported}
