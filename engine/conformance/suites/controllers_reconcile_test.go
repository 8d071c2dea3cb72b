package suites

import (
	"fmt"
	"math/rand/v2"
)

// bound is the number of steps after which controllers that still change something do so for ever.
const bound = 2000

// Reconcile runs the controllers until none of them changes a definition: at the named ones one after the
// other if there is no source of orders, and else in orders of the source's. (A server looks first at what was created
// or changed; where it looks at another one before, nothing changes.)
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
				break // in another order from here
			}
		}
		if quiet {
			return nil
		}
	}
}
