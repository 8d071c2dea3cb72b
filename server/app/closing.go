package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// closing is the stack of what was started. What was started last is closed first.
type closing struct{ steps []closeStep }

type closeStep struct {
	name  string
	close func(context.Context) error
}

// then pushes a step.
func (c *closing) then(name string, f func(context.Context) error) {
	c.steps = append(c.steps, closeStep{name, f})
}

// stepGrace is what a step may take after ctx has ended.
const stepGrace = 500 * time.Millisecond

// all runs every step, also after one failed, and forgets them. It does not wait for a step for long once ctx has ended: what a call that
// runs on still holds must not keep the process alive.
func (c *closing) all(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(c.steps) {
		if err := s.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", s.name, err))
		}
	}
	c.steps = nil
	return errors.Join(errs...)
}

func (s closeStep) run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.close(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stepGrace):
		return fmt.Errorf("it was not done in time: %w", context.Cause(ctx))
	}
}
