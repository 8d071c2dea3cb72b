package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// CounterexampleOptions bound the search of Counterexamples.
type CounterexampleOptions struct {
	// Tries bounds the creations and the updates that are evaluated for each change. 0 is DefaultTries.
	Tries int
	// Seed selects the generated objects. Equal seeds give equal results.
	Seed uint64
	// Undecided limits the search to the first changes of Diff.Undecided. The result has the objects that were found.
	Undecided bool
}

// UndecidedTries is a number of tries to decide changes of Diff.Undecided.
const UndecidedTries = 200

// mostUndecided bounds the changes that a search with CounterexampleOptions.Undecided searches for.
const mostUndecided = 20

// Undecided reports whether the schemas do not decide whether some changes reject writes. A search can decide them.
func (diff *Diff) Undecided() bool { return slices.ContainsFunc(diff.Changes, isUndecided) }

func isUndecided(c Change) bool {
	return c.Class == NeedsCare && c.Writers == NeedsCare && c.SchemaPointer != ""
}

// ChangeCounterexample is the result of the search for an object that shows the effect of a change.
type ChangeCounterexample struct {
	// Change is the index in Diff.Changes.
	Change int
	// Found is an object that the old CRD accepts and the new one rejects because of the change. A is the verdict of the
	// old CRD, and B the verdict of the new one. If no object was found, Found is nil. This does not prove that there is
	// no such object.
	Found *Distinction
	// Ignored are fields of the object that the old CRD stores. The new CRD accepts the object, but does not store them.
	Ignored []string
	// Alone is the verdict of the old CRD with this change only, and AloneManifest is the manifest of that CRD. They are
	// nil unless other changes hide the violation in B: no rules are evaluated for an object with other violations.
	Alone         *Verdict
	AloneManifest []byte
	// NoObject says why no object can show a breaking change. Then there is no search. Otherwise, it is "".
	NoObject string
	// Tries is the number of writes that were evaluated. It is 0 if no time was left for the change.
	Tries int
}

// MaxCounterexamples is the maximum number of changes for which Counterexamples searches.
const MaxCounterexamples = 200

// Counterexamples searches for an object for each change of a Diff that can reject writes. The old CRD accepts the
// object, and the new one rejects it because of the change. The object has few fields and short values. It is evaluated
// with strict field validation. The write is a creation, except in these cases:
//
//   - An update shows a change of a rule with oldSelf. A creation or an update shows a change of a default for which
//     there is such a rule.
//   - An update of the subresource status shows a change of the schema of the status, or the removal of the subresource.
//   - An update of the subresource scale shows its removal.
//
// If the search finds such an object for a change that needs care, the change and the Diff become Breaking.
//
// The search uses at most half of the time until the deadline of the context. If no time is left for a change, its
// number of tries is 0. If the time or the context ends before the search is complete, SearchIncomplete is set, and the
// result is what was found until then. old and new are the compiled CRDs of the Diff. If the new CRD is rejected as an
// update of the old one, callers can compile it as a new CRD. The error is an *Error.
func Counterexamples(ctx context.Context, old, new *Definition, diff *Diff, o CounterexampleOptions) (
	list []ChangeCounterexample, err error) {
	defer Recover(&err)
	if o.Tries < 0 {
		return nil, invalid("Tries is %d: it must not be negative", o.Tries)
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, time.Now().Add(time.Until(deadline)/2))
		defer cancel()
	}
	searched := 0
	most := MaxCounterexamples
	if o.Undecided {
		most = mostUndecided
	}
	for i := range diff.Changes {
		c := &diff.Changes[i]
		if o.Undecided && !isUndecided(*c) {
			continue
		}
		one := ChangeCounterexample{Change: i}
		var searches []DistinguishOptions
		if searches, one.NoObject = searchesFor(c, old, new); len(searches) > 0 {
			if searched++; searched > most {
				continue
			}
		} else if one.NoObject == "" {
			continue
		}
		err := one.find(ctx, old, new, diff, searches, o)
		if ReasonOf(err) == ReasonItemDeadline {
			diff.SearchIncomplete = true
		} else if err != nil {
			return nil, err
		}
		if one.Found != nil && one.Ignored == nil && c.Class != Breaking {
			c.Class, c.Writers, diff.Class = Breaking, Breaking, Breaking
			c.Side = Clients
		}
		if o.Undecided && one.Found == nil {
			continue
		}
		list = append(list, one)
	}
	return list, nil
}

// find runs the searches for a change.
func (e *ChangeCounterexample) find(ctx context.Context, old, new *Definition, diff *Diff, searches []DistinguishOptions,
	o CounterexampleOptions) error {
	c := &diff.Changes[e.Change]
	for k := range searches {
		if err := ctx.Err(); err != nil {
			return publicError(compiled.TooLate(err))
		}
		s := &searches[k]
		s.Tries, s.Seed, s.FieldValidation = cmp.Or(o.Tries, DefaultTries), o.Seed, FieldValidationStrict
		if s.defaults && s.without == nil {
			var err error
			if s.without, _, err = withChange(ctx, new, old, c); err != nil {
				return err
			}
		}
		found, tries, err := distinguish(ctx, old, new, *s)
		if e.Found, e.Tries = found, e.Tries+tries; err != nil {
			return err
		}
		if found != nil {
			e.Ignored = found.ignored
			return nil
		}
	}
	// Other changes of the version can hide the violation.
	others := slices.ContainsFunc(diff.Changes, func(other Change) bool {
		return other.Version == c.Version && other.SchemaPointer != c.SchemaPointer && other.Class == Breaking
	})
	if e.Tries > 0 && c.Class == Breaking && c.SchemaPointer != "" && others {
		return e.findAlone(ctx, old, new, c, searches)
	}
	return nil
}

// findAlone searches for an object that the old CRD accepts, and that is rejected by the new CRD and by the old CRD
// with one change.
func (e *ChangeCounterexample) findAlone(ctx context.Context, old, new *Definition, c *Change,
	searches []DistinguishOptions) error {
	changed, pointer, err := withChange(ctx, old, new, c)
	if err != nil || changed == nil {
		return err
	}
	for _, s := range searches {
		s.also, s.without, s.Pointers = new, nil, []string{pointer}
		if s.defaults {
			s.Pointers, _ = aroundDefault(schema.Of(changed.crdVersion(c.Version)), pointer)
		}
		found, tries, err := distinguish(ctx, old, changed, s)
		if e.Tries += tries; err != nil {
			return err
		}
		if found != nil {
			e.Found, e.Alone, e.AloneManifest = found, found.alone, changed.Manifest()
			return nil
		}
	}
	return nil
}
