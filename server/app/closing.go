package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// all runs every step, also after one failed, and forgets them.
func (c *closing) all(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(c.steps) {
		if err := s.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", s.name, err))
		}
	}
	c.steps = nil
	return errors.Join(errs...)
}
