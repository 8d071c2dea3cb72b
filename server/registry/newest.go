package registry

import (
	"context"
	"errors"
)

// newest returns when the snapshot includes every write that any replica answered before the call, and fails where that cannot be known. All writes begin
// with it, since they are refused, or found to change nothing, by what is registered: a caller who goes from replica to replica is not told that what was
// registered a moment ago is not there, that an etag just answered is old, or that a revision is current which another one has replaced.
func (r *Registry) newest(ctx context.Context) error {
	if r.watcher == nil {
		return nil // nobody else writes
	}
	patience, cancel := r.patience(ctx)
	defer cancel()
	sequence, err := r.watcher.Latest(patience)
	if err == nil && !r.await(patience, sequence) {
		err = &Failure{
			Public: "this replica has not heard yet of what others wrote", Unchanged: true,
			Err: errors.Join(errNotHeard, context.Cause(patience), r.Following()),
		}
	}
	if err != nil {
		return r.unavailable(ctx, err, false)
	}
	return nil
}

var errNotHeard = errors.New("the store has writes that its watch has not told yet")
