package bolt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

// A commit in a file whose disk does not answer ends with its context, and is done when the disk answers again. Later
// calls wait for that no longer than their contexts allow, and then do nothing.
func TestHungDisk(t *testing.T) {
	s := open(t, t.TempDir())
	defer func() { _ = s.Close() }()
	release, err := s.Hang()
	if err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, key string) error {
		_, err := s.Commit(ctx, registry.Transaction{Put: []registry.Entry{{Key: key}}})
		return err
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the caller's deadline")
	first := make(chan error)
	go func() { first <- put(ctx, "first") }()
	s.AwaitTurn()
	second := make(chan error)
	go func() { second <- put(ctx, "second") }()
	cancel(stop)
	var failure *registry.Failure
	if err := <-first; !errors.As(err, &failure) || failure.Unchanged || !errors.Is(err, stop) {
		t.Errorf("first: %v", err)
	}
	if err := <-second; !errors.Is(err, stop) || errors.As(err, &failure) && !failure.Unchanged {
		t.Errorf("second: %v", err)
	}
	if _, err := s.Load(ctx); !errors.Is(err, stop) {
		t.Errorf("load: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	state, err := s.Load(t.Context())
	if err != nil || len(state.Entries) != 1 || state.Entries[0].Key != "first" {
		t.Errorf("%+v, %v", state, err)
	}
	if err := put(t.Context(), "third"); err != nil {
		t.Error(err)
	}
}
