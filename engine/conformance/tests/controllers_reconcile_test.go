package tests

import (
	"fmt"
	"math/rand/v2"
)

// bound is the number of steps after which controllers are considered to loop.
const bound = 2000

// Reconcile runs the controllers until none of them changes a CRD. Without a source of orders, it runs them for the
// named CRDs first, one after the other; otherwise in random orders. (A server processes created and changed CRDs
// first. If it processes another one before, nothing changes.)
func (s *Server) Reconcile(names []string, order *rand.Rand) error {
	type step struct {
		controller int
		name       string
	}
	var steps []step
	for _, name := range names {
		for c := range Steps {
			steps = append(steps, step{c, name})
		}
	}
	for n := 0; ; {
		if order != nil {
			order.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		}
		quiet := true
		for _, next := range steps {
			changed, err := s.Step(next.controller, next.name)
			if err != nil {
				return fmt.Errorf("controller %d, %s: %w", next.controller, next.name, err)
			}
			if changed {
				quiet = false
			}
			if n++; n > bound {
				return fmt.Errorf("the statuses still change after %d steps", n)
			}
			if changed && order != nil && order.IntN(2) == 0 {
				break // in another order from now on
			}
		}
		if quiet {
			return nil
		}
	}
}
