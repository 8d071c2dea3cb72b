package workspace

import (
	"context"
	"errors"
	"testing"
)

// endless is a reader without an end that counts its calls.
type endless struct {
	calls, bytes int
	each         func(calls int)
}

func (e *endless) Read(p []byte) (int, error) {
	e.calls++
	e.bytes += len(p)
	if e.each != nil {
		e.each(e.calls)
	}
	return len(p), nil
}

// TestBoundedReads checks how much is read of a text that is too large, and after the context ended.
func TestBoundedReads(t *testing.T) {
	const limit = 4 << 20
	tooLarge := "it is larger than 4 MiB: split it"
	known := &endless{}
	if _, err := readBounded(t.Context(), known, limit+1, limit); err == nil || err.Error() != tooLarge || known.calls > 0 {
		t.Errorf("%v after %d calls", err, known.calls)
	}
	unknown := &endless{}
	if _, err := readBounded(t.Context(), unknown, 0, limit); err == nil || err.Error() != tooLarge || unknown.bytes > limit+readPart {
		t.Errorf("%v after %d bytes", err, unknown.bytes)
	}
	grown := &endless{} // a file that is larger than its size
	if _, err := readBounded(t.Context(), grown, 10, limit); err == nil || err.Error() != tooLarge {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceled := &endless{each: func(calls int) {
		if calls == 3 {
			cancel()
		}
	}}
	if _, err := readBounded(ctx, canceled, 0, limit); !errors.Is(err, context.Canceled) || canceled.calls != 3 {
		t.Errorf("%v after %d calls", err, canceled.calls)
	}
	failed := errors.New("failed")
	if _, err := readBounded(t.Context(), failing{failed}, 0, limit); !errors.Is(err, failed) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
