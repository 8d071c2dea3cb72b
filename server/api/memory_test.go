package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// TestMemoryPause: the answer to a call is held back, once, if there is no memory for its items. The time is that of
// testing/synctest, not of a clock.
func TestMemoryPause(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		limit time.Duration // of the call; 0: none
		want  time.Duration
	}{
		{"no memory", fmt.Errorf("an item: %w", call.ErrNoMemory), 0, memoryPause},
		{"too large", call.ErrTooLarge, 0, memoryPause},
		{"a deadline", call.ErrNoMemory, memoryPause / 2, memoryPause / 2},
		{"another error", errors.New("invalid"), 0, 0},
		{"allowed", nil, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if c.limit > 0 {
				limited, cancel := context.WithTimeout(ctx, c.limit)
				defer cancel()
				ctx = limited
			}
			b, start := &batch{timeout: time.Millisecond}, time.Now()
			for i := range 3 {
				err := b.evaluate(ctx, &resolver{}, i, func(context.Context, *resolver, int) error { return c.err })
				if !errors.Is(err, c.err) && ctx.Err() == nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if took := time.Since(start); took != c.want {
				t.Errorf("%s: %v, want %v", c.name, took, c.want)
			}
		})
	}
}
