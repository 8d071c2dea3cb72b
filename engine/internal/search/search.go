// Package search finds small objects with a wanted verdict: an object that one CRD accepts and another one rejects, or
// an object that violates exactly one constraint of a schema, or a valid object.
//
// A search has a predicate, the goal, and aims: places in a schema. It generates valid objects, replaces values at an
// aim by values at the limits of the schema, varies the values that a rule reads, repairs other violations, and shrinks
// the object that it finds. Equal seeds give equal results.
//
// Read search.go first. round.go has the strategies, repair.go the repairs, shrink.go makes objects small, and
// constraint.go lists the constraints of a schema.
package search

import (
	"errors"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Pair is an object and, for an update, its old object. Old is nil for a creation.
type Pair struct{ Object, Old *sample.Tree }

func (p Pair) clone() Pair {
	c := Pair{Object: p.Object.Clone()}
	if p.Old != nil {
		c.Old = p.Old.Clone()
	}
	return c
}

// Answer is the verdict on a pair.
type Answer struct {
	// Reached: the pair gets the wanted verdict.
	Reached bool
	// Near: the pair gets the wanted verdict if its faults are repaired.
	Near bool
	// Faults are to be repaired.
	Faults []sample.Fault
}

// Goal returns the verdict on a pair. An error ends the search.
type Goal func(Pair) (Answer, error)

// Aim is a place of a schema at which objects are changed.
type Aim struct {
	*sample.Place
	// Rules are CEL rules that read the value at the place.
	Rules []string
	// Also are other schemas that apply to the value. Their limits are used too.
	Also []*schema.Props
	// Values are tried first at the place.
	Values []*sample.Tree
}

// Search is a search for one pair.
type Search struct {
	// Pairs are tried first, in their order.
	Pairs []Pair
	// Generators generate objects. They are used in turns. Without a generator, only Pairs are tried.
	Generators []*sample.Generator
	Goal       Goal
	// Make generates the objects to start from. Default: objects with few fields, Bases, and random objects in turns.
	Make func(sample.Random) *sample.Tree
	// Aims are the places to change. Without aims, objects are only generated and repaired.
	Aims []Aim
	// Bases are valid objects to start from, besides generated ones.
	Bases []*sample.Tree
	// Update says that the pair needs an old object.
	Update bool
	// Defaults are schemas of the objects. The search leaves out values that have a default in one of them.
	Defaults []*schema.Props
	// Tries bounds the pairs that are evaluated before one is found.
	Tries int
	Seed  uint64
	// Shrink says how to make the found pair smaller. It keeps apiVersion, kind and metadata.
	Shrink Shrinking
}

// Valid returns a search for an object without faults among objects with all kinds of fields. It does not shrink the
// object.
func Valid(g *sample.Generator, seed uint64, faults func(*sample.Tree) ([]sample.Fault, error)) Search {
	return Search{Generators: []*sample.Generator{g}, Make: g.Object, Tries: mostValidTries, Seed: seed, Shrink: Nothing,
		Goal: func(p Pair) (Answer, error) {
			list, err := faults(p.Object)
			return Answer{Reached: err == nil && len(list) == 0, Faults: list}, err
		}}
}

// mostValidTries is the default of Search.Tries in a search for a valid object.
const mostValidTries = 100

// errSpent ends a search without a result.
var errSpent = errors.New("no try is left")

// Result is the result of a search.
type Result struct {
	// Pair has no Object if the search found none.
	Pair  Pair
	Tries int // until the pair was found
	// Nearest is the generated object with the fewest faults, if the search found no pair and every object had faults.
	Nearest *sample.Tree
	Faults  []sample.Fault
}

// Run runs the search. The error is that of the goal.
func (s *Search) Run() (Result, error) {
	run := &run{Search: s}
	err := run.rounds()
	result := Result{Tries: run.tries, Nearest: run.nearest, Faults: run.faults}
	if errors.Is(err, errSpent) {
		return result, nil
	}
	if err != nil {
		return result, err
	}
	result.Pair, err = run.shrink()
	result.Nearest, result.Faults = nil, nil
	return result, err
}

// run is the state of a search.
type run struct {
	*Search
	tries int
	found *Pair
	pool  []*sample.Tree // valid objects
	tried map[string]bool

	nearest *sample.Tree
	faults  []sample.Fault // of nearest
}

// mostPooled bounds the pool.
const mostPooled = 24

// rounds searches until a pair is found or no try is left.
func (s *run) rounds() error {
	for _, p := range s.Pairs {
		if _, err := s.ask(p); err != nil || s.found != nil {
			return err
		}
	}
	if len(s.Generators) == 0 {
		return errSpent
	}
	for round := 0; s.found == nil; round++ {
		r := sample.NewRandom(s.Seed, uint64(round))
		g := s.Generators[round%len(s.Generators)]
		round := round / len(s.Generators)
		var err error
		if len(s.Aims) == 0 {
			_, err = s.base(r, g, nil, round)
		} else {
			err = s.aimed(r, g, &s.Aims[round%len(s.Aims)], round/len(s.Aims))
		}
		if err != nil {
			return err
		}
		if s.tries >= s.Tries { // rounds may need no try, for example if the pool is empty
			return errSpent
		}
		s.tries++
	}
	return nil
}

// ask evaluates a pair and records it if it reaches the goal.
func (s *run) ask(p Pair) (Answer, error) {
	if s.tries >= s.Tries {
		return Answer{}, errSpent
	}
	s.tries++
	a, err := s.Goal(p)
	switch {
	case err != nil:
	case a.Reached && (!s.Update || p.Old != nil):
		c := p.clone()
		s.found = &c
	case s.nearest == nil || len(a.Faults) < len(s.faults):
		s.nearest, s.faults = p.Object.Clone(), a.Faults
	}
	return a, err
}

// mostShrinks bounds the pairs that are evaluated to shrink one.
const mostShrinks = 3000

// shrink returns the smallest pair to which the found one can be shrunk.
func (s *run) shrink() (Pair, error) {
	p := s.found.clone()
	var bodies []*sample.Tree
	var joins []func()
	for _, o := range []*sample.Tree{p.Object, p.Old} {
		if o != nil {
			body, join := o.Body()
			bodies, joins = append(bodies, body), append(joins, join)
		}
	}
	var failed error
	s.Shrink.shrink(func() bool {
		for _, join := range joins {
			join()
		}
		var a Answer
		if failed == nil {
			a, failed = s.Goal(p)
		}
		return failed == nil && a.Reached
	}, mostShrinks, bodies...)
	for _, join := range joins {
		join()
	}
	return p, failed
}
