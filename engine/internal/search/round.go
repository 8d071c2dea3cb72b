package search

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/sample"
)

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
	return nil
}
