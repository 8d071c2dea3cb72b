// Package search finds small objects with a wanted verdict: an object that one CRD accepts and another one rejects, or
// an object that violates exactly one constraint of a schema.
//
// A search has aims: places in a schema. It generates small valid objects, replaces values at an aim by values at the
// limits of the schema, varies the values that a rule reads, repairs other violations, and minimizes the object that it
// finds. Equal seeds give equal results.
package search

import (
	"errors"
	"slices"

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
	// Generators generate objects. They are used in turns.
	Generators []*sample.Generator
	Goal       Goal
	// Aims are the places to change. Without aims, the whole object is changed.
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
}

// mostShrinks bounds the pairs that are evaluated to minimize one.
const mostShrinks = 3000

// errSpent ends a search without a result.
var errSpent = errors.New("no try is left")

// Result is the result of a search.
type Result struct {
	// Pair has no Object if the search found none.
	Pair  Pair
	Tries int // until the pair was found
}

// Run runs the search. The error is that of the goal.
func (s *Search) Run() (Result, error) {
	run := &run{Search: s}
	err := run.rounds()
	result := Result{Tries: run.tries}
	if errors.Is(err, errSpent) {
		return result, nil
	}
	if err != nil {
		return result, err
	}
	result.Pair, err = run.minimize()
	return result, err
}

// run is the state of a search.
type run struct {
	*Search
	tries int
	found *Pair
	pool  []*sample.Tree // valid objects
	tried map[string]bool
}

// mostPooled bounds the pool.
const mostPooled = 24

// rounds searches until a pair is found or no try is left.
func (s *run) rounds() error {
	for round := 0; s.found == nil; round++ {
		r := sample.NewRandom(s.Seed, uint64(round))
		g := s.Generators[round%len(s.Generators)]
		round := round / len(s.Generators)
		var err error
		if len(s.Aims) == 0 {
			err = s.anywhere(r, g, round)
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
	if err == nil && a.Reached && (!s.Update || p.Old != nil) {
		c := p.clone()
		s.found = &c
	}
	return a, err
}

// base returns a valid object that has a value at the place of the aim, or nil. In later rounds, the object has more
// fields.
func (s *run) base(r sample.Random, g *sample.Generator, aim *Aim, round int) (*sample.Tree, error) {
	o := g.Least(r)
	switch {
	case round%3 == 1 && len(s.Bases) > 0:
		o = s.Bases[round/3%len(s.Bases)].Clone()
	case round%3 == 2:
		o = g.Object(r)
	}
	if aim != nil && !g.Plant(r, o, aim.Path) && len(aim.Path) > 0 {
		g.Plant(r, o, aim.Path[:len(aim.Path)-1])
	}
	return s.repair(r, g, Pair{Object: o}, false)
}

// mostRepairs bounds the repairs of an object.
const mostRepairs = 16

// repair repairs the faults of the object of a pair, and returns it if it has none left. If near is true, it keeps what
// brings the object near the goal.
func (s *run) repair(r sample.Random, g *sample.Generator, p Pair, near bool) (*sample.Tree, error) {
	a, err := s.ask(p)
	for try := 0; err == nil && s.found == nil && len(a.Faults) > 0 && try < mostRepairs; try++ {
		next := Pair{p.Object.Clone(), p.Old}
		for _, f := range a.Faults[:min(len(a.Faults), 8)] {
			g.Repair(r, next.Object, f)
		}
		var after Answer
		if after, err = s.ask(next); len(after.Faults) <= len(a.Faults)+1 && (!near || after.Near) {
			p, a = next, after
		}
	}
	if err != nil || len(a.Faults) > 0 {
		return nil, err
	}
	return p.Object, nil
}

// try evaluates an object, as an update of old unless that is nil, and repairs it if it is near the goal.
func (s *run) try(r sample.Random, g *sample.Generator, o, old *sample.Tree) error {
	p := Pair{o, old}
	a, err := s.ask(p)
	switch {
	case err != nil || s.found != nil:
	case a.Near && len(a.Faults) > 0:
		_, err = s.repair(r, g, p, true)
	case len(a.Faults) == 0:
		s.keep(r, o)
	}
	return err
}

// mostLeftOut bounds the defaulted values that are left out one by one.
const mostLeftOut = 16

// leaveOut tries an object without its defaulted values: without all of them, then without each of them. It also tries
// lists with two elements that defaults make equal. For an update, it tries the old object with and without its
// defaulted values.
func (s *run) leaveOut(r sample.Random, g *sample.Generator, o, old *sample.Tree) error {
	if s.Defaults == nil || s.found != nil {
		return nil
	}
	var tries []*sample.Tree
	paths := sample.Defaulted(o, s.Defaults...)
	if len(paths) > 0 {
		tries = append(tries, o.WithoutPaths(paths...))
	}
	for i := 0; i < min(len(paths), mostLeftOut) && len(paths) > 1; i++ {
		tries = append(tries, o.WithoutPaths(paths[i]))
	}
	twins := sample.Twins(o, s.Defaults...)
	tries = append(tries, twins[:min(len(twins), mostLeftOut)]...)
	olds := []*sample.Tree{old}
	if old != nil {
		olds = append(olds, old.WithoutPaths(sample.Defaulted(old, s.Defaults...)...))
	}
	for _, o := range tries {
		for _, old := range olds {
			if s.wasTried(o, old) {
				continue
			}
			if err := s.try(r, g, o, old); err != nil || s.found != nil {
				return err
			}
		}
	}
	return nil
}

// mostRemembered bounds the pairs that wasTried remembers.
const mostRemembered = 1 << 10

// wasTried reports whether it was called with a pair before. Objects that differ only in a defaulted value are equal
// without it.
func (s *run) wasTried(o, old *sample.Tree) bool {
	key := string(o.JSON())
	if old != nil {
		key += "\n" + string(old.JSON())
	}
	if s.tried[key] {
		return true
	}
	if s.tried == nil || len(s.tried) >= mostRemembered {
		s.tried = map[string]bool{}
	}
	s.tried[key] = true
	return false
}

// keep adds a valid object to the pool.
func (s *run) keep(r sample.Random, o *sample.Tree) {
	if len(s.pool) < mostPooled {
		s.pool = append(s.pool, o.Clone())
	} else {
		s.pool[r.IntN(len(s.pool))] = o.Clone()
	}
}

// mostVaried is the number of variations for a rule in a round.
const mostVaried = 48

// aimed is a round for a place.
func (s *run) aimed(r sample.Random, g *sample.Generator, aim *Aim, round int) error {
	base, err := s.base(r, g, aim, round)
	if err != nil || s.found != nil {
		return err
	}
	if base == nil { // what is repaired later can still be near the goal
		base = g.Least(r)
	} else {
		s.keep(r, base)
	}
	old := base
	if !s.Update {
		old = nil
	}
	if err := s.leaveOut(r, g, base, old); err != nil || s.found != nil {
		return err
	}
	if len(aim.Rules) == 0 || round == 0 {
		for _, c := range slices.Concat(aim.Values, g.Candidates(r, aim.Path, aim.Also...)) {
			o := base.Clone()
			if !g.Put(r, o, aim.Path, c) {
				continue
			}
			err := s.try(r, g, o, old)
			if err == nil {
				err = s.leaveOut(r, g, o, old)
			}
			if err != nil || s.found != nil {
				return err
			}
		}
	}
	for k := 0; k < mostVaried && len(aim.Rules) > 0; k++ {
		from := base
		if len(s.pool) > 0 && k%3 == 2 {
			from = s.pool[r.IntN(len(s.pool))]
		}
		if s.Update {
			old = from
		}
		o := from.Clone()
		rule := aim.Rules[k%len(aim.Rules)]
		if s.Defaults != nil && k%8 == 0 {
			o = o.WithDefaults(s.Defaults[k/8%len(s.Defaults)]) // leaveOut removes them
			g.Violate(r, o, aim.Path, rule)
		} else {
			g.Vary(r, o, aim.Path, rule, aim.Also...)
		}
		err := s.try(r, g, o, old)
		if err == nil {
			err = s.leaveOut(r, g, o, old)
		}
		if err != nil || s.found != nil {
			return err
		}
	}
	return s.edited(r, g, base, 8)
}

// anywhere is a round without a place.
func (s *run) anywhere(r sample.Random, g *sample.Generator, round int) error {
	base, err := s.base(r, g, nil, round)
	if err != nil || base == nil || s.found != nil {
		return err
	}
	return s.edited(r, g, base, 16)
}

// edited tries random changes of an object.
func (s *run) edited(r sample.Random, g *sample.Generator, base *sample.Tree, count int) error {
	old := base
	if !s.Update {
		old = nil
	}
	o := base.Clone()
	for k := range count {
		c := g.Edit(r, o)
		if c == nil || !c.Apply(o) {
			continue
		}
		if err := s.try(r, g, o.Clone(), old); err != nil || s.found != nil {
			return err
		}
		if k%4 == 3 {
			o = base.Clone()
		}
	}
	return nil
}

// minimize returns the smallest pair to which the found one can be reduced. It keeps apiVersion, kind and metadata.
func (s *run) minimize() (Pair, error) {
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
	sample.Minimize(func() bool {
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
