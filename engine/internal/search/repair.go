package search

import "github.com/crdeval/crdeval/engine/internal/sample"

// base returns a valid object that has a value at the place of the aim, or nil. In later rounds, the object has more
// fields.
func (s *run) base(r sample.Random, g *sample.Generator, aim *Aim, round int) (*sample.Tree, error) {
	o := g.Least(r)
	switch {
	case s.Make != nil:
		o = s.Make(r)
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
const mostRepairs = 24

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
