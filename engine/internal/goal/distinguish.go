package goal

import (
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
)

// Options select the objects that Distinguish looks for.
type Options struct {
	Write
	// Tries bounds the writes that are evaluated until an object is found.
	Tries int
	// Seed selects the generated objects. Equal seeds give equal results.
	Seed uint64
	// Either says that any of the two CRDs can be the one that accepts the object. By default, it is the first.
	Either bool
	// Update looks for an update. The first CRD accepts the creation of the old object; with Either, one of the two does.
	Update bool
	// Pointers are JSON pointers of keywords in the schemas. One of the CRDs rejects the object because of one of them.
	// Default: the differences that package compare finds. In this case, the object can be rejected for any reason.
	Pointers []string
	// Witness is a value, as JSON, that is tried first at the pointers.
	Witness []byte
	// Defaults leaves out values that have a default in one of the two schemas.
	Defaults bool
	// Without, if not nil, is a third CRD that must accept the object: the second one without a change.
	Without *compiled.Definition
	// Ignored requires that both CRDs accept the object, and that the second one does not return a field at one of the
	// pointers.
	Ignored bool
	// Missing, if not "", says why the second CRD does not serve the writes of the first one.
	Missing string
	// Counts reports whether a reply has the rejection that an aim looks for. By default, a rejection has this property
	// if one of its violations is at one of Pointers. Without Pointers, every rejection has it.
	Counts func(*search.Aim, *Reply) bool
	// Also, if not nil, is a third CRD that must reject the object, for any reason.
	Also *compiled.Definition
	// AnyReason accepts every rejection, even if there are Pointers.
	AnyReason bool
}

// Distinction is an object that one CRD accepts and another rejects.
type Distinction struct {
	// Object is JSON, with few fields and short values. For the subresource scale, it is a Scale. OldObject is the
	// stored old object of an update, nil for a creation.
	Object, OldObject []byte
	// Ignored are the fields that the second CRD does not return, for the option Ignored.
	Ignored []string
}

// DefaultTries is a number of tries that finds an object for most differences.
const DefaultTries = 1000

// mostChanges bounds the differences between two CRDs at which Distinguish looks.
const mostChanges = 1000

// Distinguish looks for a small object that one of two CRDs accepts and the other rejects. It changes values at the
// differences between the schemas, and values that rules read. If no object is found, the result is nil. This does not
// prove that there is no such object. tries is the number of writes that were evaluated until the object was found.
func Distinguish(ctx context.Context, a, b *compiled.Definition, o Options) (_ *Distinction, tries int, err error) {
	if err := compiled.NotNegative("Tries", o.Tries); err != nil {
		return nil, 0, err
	}
	first, err := New(a, o.Write)
	if err != nil {
		return nil, 0, err
	}
	second, err := New(b, o.Write)
	if err != nil {
		return nil, 0, err
	}
	if o.Missing != "" {
		second.Served = nil
	}
	if first.Served == nil && (second.Served == nil || !o.Either) {
		return nil, 0, compiled.Invalid("version %q is not a version of %s: it has %s", o.Version, a.Inner.Name, versionNames(a))
	}
	aims, err := aimsAt(ctx, first, second, &o)
	if err != nil {
		return nil, 0, err
	}
	s := search.Search{Aims: aims, Update: o.Update, Tries: o.Tries, Seed: o.Seed}
	hints := &sample.Hint{}
	for _, aim := range aims {
		for _, rule := range aim.Rules {
			hints.AddExpression(rule)
		}
		for _, s := range aim.Also {
			if o.Defaults && schema.HasValue(s.Default) {
				hints.AddValue(string(s.Default.Raw))
			}
		}
	}
	for _, sub := range []*Subject{first, second} {
		if sub == first || o.Either {
			s.Generators = append(s.Generators, sub.Generator(ctx, hints))
		}
	}
	goal := &disagreement{ctx: ctx, a: first, b: second, Options: &o, aims: aims}
	for of, to := range map[*compiled.Definition]**Subject{o.Also: &goal.third, o.Without: &goal.reverted} {
		if of == nil {
			continue
		}
		if *to, err = New(of, o.Write); err != nil {
			return nil, 0, err
		}
	}
	if o.Defaults {
		s.Defaults = []*schema.Props{first.Schema, second.Schema}
	}
	return goal.run(&s)
}

// run runs a search, and returns the distinction that it finds and the number of tries.
func (g *disagreement) run(s *search.Search) (*Distinction, int, error) {
	s.Goal = g.answer
	if g.Ignored {
		s.Goal = g.answerIgnored
	}
	result, err := s.Run()
	if err != nil || result.Pair.Object == nil {
		return nil, result.Tries, err
	}
	d := &Distinction{}
	if d.OldObject, _, err = g.before(result.Pair); err != nil {
		return nil, result.Tries, err
	}
	d.Object = g.a.body(result.Pair)
	if g.Ignored {
		d.Ignored, err = g.lost(d.Object)
	}
	return d, result.Tries, err
}

func versionNames(d *compiled.Definition) string {
	names := make([]string, len(d.Versions))
	for i := range d.Versions {
		names[i] = d.Versions[i].Name
	}
	return strings.Join(names, ", ")
}

// disagreement is the goal that one of two subjects accepts an object and the other rejects it.
type disagreement struct {
	*Options
	ctx  context.Context
	a, b *Subject
	// third is the subject of Also, reverted that of Without, or nil.
	third, reverted *Subject
	aims            []search.Aim
}

func (g *disagreement) answer(p search.Pair) (out search.Answer, err error) {
	if err := g.ctx.Err(); err != nil {
		return out, (compiled.TooLate(err))
	}
	old, rejected, err := g.before(p)
	if err != nil || rejected != nil {
		if rejected != nil && p.Old == nil {
			out.Faults = rejected.Faults
		}
		return out, err
	}
	object := g.a.body(p)
	a, err := g.a.write(g.ctx, object, old)
	if err != nil {
		return out, err
	}
	b, err := g.b.write(g.ctx, object, old)
	if err != nil {
		return out, err
	}
	switch {
	case a.Allowed && b.Allowed:
	case a.Allowed:
		out.Reached = g.isReason(b)
		for _, s := range []*Subject{g.third, g.reverted} {
			if s == nil || !out.Reached {
				continue
			}
			r, err := s.write(g.ctx, object, old)
			if err != nil {
				return out, err
			}
			out.Reached = r.Allowed == (s == g.reverted)
		}
	case b.Allowed:
		out.Reached = g.Either && g.isReason(a)
		if !g.Either {
			out.Faults = a.Faults
		}
	default:
		out.Faults, out.Near = g.common(a, b)
	}
	return out, nil
}

// answerIgnored is the goal for the option Ignored: both subjects accept the object, and only the first one returns a
// field at an aim.
func (g *disagreement) answerIgnored(p search.Pair) (out search.Answer, err error) {
	if err := g.ctx.Err(); err != nil {
		return out, (compiled.TooLate(err))
	}
	object := p.Object.JSON()
	for _, s := range []*Subject{g.a, g.b} {
		r, err := s.write(g.ctx, object, nil)
		if err != nil || !r.Allowed {
			if err == nil {
				out.Faults = r.Faults
			}
			return out, err
		}
	}
	lost, err := g.lost(object)
	out.Reached = len(lost) > 0
	return out, err
}

// lost returns the fields at the aims that the first subject returns after a creation, and the second one does not.
func (g *disagreement) lost(object []byte) (fields []string, err error) {
	var results [2]*sample.Tree
	for i, s := range []*Subject{g.a, g.b} {
		created, err := s.admit(g.ctx, object)
		if err != nil || created == nil {
			return nil, err
		}
		if results[i], err = sample.Parse(created); err != nil {
			return nil, compiled.Failed(admission.Internal, "a stored object", err)
		}
	}
	for i := range g.aims {
		if path := g.aims[i].Path; results[0].Follow(path) != nil && results[1].Follow(path) == nil {
			fields = append(fields, path.Dotted())
		}
	}
	return fields, nil
}

// before returns what the write of a pair updates, like Subject.Before.
func (g *disagreement) before(p search.Pair) (stored []byte, rejected *Reply, err error) {
	stored, rejected, err = g.a.Before(g.ctx, p)
	if err == nil && rejected != nil && g.Either {
		stored, rejected, err = g.b.Before(g.ctx, p)
	}
	return stored, rejected, err
}

// isReason reports whether a rejection is for a reason that counts.
func (g *disagreement) isReason(r *Reply) bool {
	counts := g.Counts
	if g.AnyReason {
		return true
	}
	if counts == nil && len(g.Pointers) > 0 {
		counts = func(aim *search.Aim, r *Reply) bool { return r.IsAt(aim.Pointer()) }
	}
	return counts == nil || slices.ContainsFunc(g.aims, func(aim search.Aim) bool {
		return counts(&aim, r) || r.isAround(aim.Pointer())
	})
}

// common returns the faults to repair in an object that both subjects reject, and whether they reject it for different
// reasons.
func (g *disagreement) common(a, b *Reply) (faults []sample.Fault, near bool) {
	same := func(x, y *sample.Fault, p, q string) bool {
		return x.Rule == y.Rule && (x.Rule != "" || p == q) && x.Path.Pointer() == y.Path.Pointer()
	}
	has := func(r *Reply, f *sample.Fault, pointer string) bool {
		for i := range r.Faults {
			if same(&r.Faults[i], f, r.Pointers[i], pointer) {
				return true
			}
		}
		return false
	}
	onlyB := false
	for i := range b.Faults {
		onlyB = onlyB || !has(a, &b.Faults[i], b.Pointers[i])
	}
	if !g.Either {
		return a.Faults, onlyB && g.isReason(b)
	}
	onlyA := false
	for i := range a.Faults {
		if has(b, &a.Faults[i], a.Pointers[i]) {
			faults = append(faults, a.Faults[i])
		} else {
			onlyA = true
		}
	}
	if len(faults) == 0 { // each has its own
		faults = a.Faults
	}
	return faults, onlyA || onlyB
}
