package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// closing is a stack of functions that close what was started.
type closing struct{ steps []closeStep }

type closeStep struct {
	name  string
	close func(context.Context) error
}

// then pushes a step.
func (c *closing) then(name string, f func(context.Context) error) {
	c.steps = append(c.steps, closeStep{name, f})
}

// stepGrace is the time for a step after ctx has ended.
const stepGrace = 500 * time.Millisecond

// all runs and removes all steps, the last one first. After ctx has ended, it waits for each step only for stepGrace: a
// call that does not end must not keep the process alive.
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
		return fmt.Errorf("timeout: %w", context.Cause(ctx))
	}
}
