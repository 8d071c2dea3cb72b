package goal

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/search"
)

// Valid returns the faults of an object that is created, and none if it is valid. status, if not nil, is the Subject for
// writes of the status: then the faults include those of a write of this status after the creation.
func (s *Subject) Valid(ctx context.Context, o *sample.Tree, status *Subject) ([]sample.Fault, error) {
	if err := ctx.Err(); err != nil {
		return nil, compiled.TooLate(err)
	}
	object := o.JSON()
	r, err := s.evaluate(ctx, object, nil, status != nil)
	if err == nil && r.Allowed && status != nil {
		r, err = status.write(ctx, object, r.object)
	}
	if err != nil || r.Allowed {
		return nil, err
	}
	return r.Faults, nil
}

// Violates reports whether the write of a pair violates only a constraint.
func (s *Subject) Violates(ctx context.Context, c *search.Constraint, p search.Pair) (out search.Answer, err error) {
	if err := ctx.Err(); err != nil {
		return out, (compiled.TooLate(err))
	}
	old, rejected, err := s.Before(ctx, p)
	if err != nil || rejected != nil {
		if rejected != nil && p.Old == nil {
			out.Faults = rejected.Faults
		}
		return out, err
	}
	r, err := s.write(ctx, p.Object.JSON(), old)
	if err != nil || r.Allowed {
		return out, err
	}
	hits := 0
	for i := range r.Faults {
		switch {
		case isOf(c, r, i):
			hits++
		case !c.Implies(r.Pointers[i]):
			out.Faults = append(out.Faults, r.Faults[i])
		}
	}
	out.Near = hits > 0
	out.Reached = hits == 1 && len(out.Faults) == 0
	return out, nil
}

// isOf reports whether a fault of a reply is the violation of a constraint.
func isOf(c *search.Constraint, r *Reply, i int) bool {
	f := &r.Faults[i]
	switch {
	case c.Kind == search.Unknown:
		n := len(r.Faults) - len(r.Unknown) // the unknown fields come last
		name := c.Path.Dotted()
		if name != "" {
			name += "."
		}
		return i >= n && r.Unknown[i-n] == `unknown field "`+name+sample.UnknownName+`"`
	case r.Pointers[i] != c.Pointer():
		return false
	case c.Name != "":
		return len(f.Path) > 0 && f.Path[len(f.Path)-1].Key() == c.Name
	}
	return true
}
