package diff

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cmp"
	"context"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/goal"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// SearchOptions bound the search of Counterexamples.
type SearchOptions struct {
	// Tries bounds the creations and the updates that are evaluated for each change. 0 is DefaultTries.
	Tries int
	// Seed selects the generated objects. Equal seeds give equal results.
	Seed uint64
	// Undecided limits the search to the first changes of Result.Undecided. The result has the objects that were found.
	Undecided bool
}

// UndecidedTries is a number of tries to decide changes of Result.Undecided.
const UndecidedTries = 200

// mostUndecided bounds the changes that a search with SearchOptions.Undecided searches for.
const mostUndecided = 20

// Undecided reports whether the schemas do not decide whether some changes reject writes. A search can decide them.
func (result *Result) Undecided() bool { return slices.ContainsFunc(result.Changes, isUndecided) }

func isUndecided(c Change) bool {
	return c.Class == NeedsCare && c.Writers == NeedsCare && c.SchemaPointer != ""
}

// Counterexample is the result of the search for an object that shows the effect of a change.
type Counterexample struct {
	// Change is the index in Result.Changes.
	Change int
	// Found is a write that the old CRD accepts and the new one rejects because of the change. If none was found, Found is
	// nil. This does not prove that there is no such write.
	Found *Write
	// Ignored are fields of the object that the old CRD stores. The new CRD accepts the object, but does not store them.
	Ignored []string
	// Alone is the verdict of the old CRD with this change only, and AloneManifest is the manifest of that CRD. They
	// are nil unless other changes hide the violation in New of Found: no rules are evaluated for an object with other
	// violations.
	Alone         *engine.Verdict
	AloneManifest []byte
	// NoObject says why no object can show a breaking change. Then there is no search. Otherwise, it is "".
	NoObject string
	// Tries is the number of writes that were evaluated. It is 0 if no time was left for the change.
	Tries int
}

// Write is a write of an object that the old CRD accepts and the new one rejects.
type Write struct {
	// Version is the version of the object.
	Version string
	// Object is JSON, with few fields and short values. OldObject is the stored old object of an update, nil for a
	// creation.
	Object, OldObject []byte
	// Subresource is the subresource that is written: "", "status" or "scale". For scale, Object is a Scale.
	Subresource string
	// Old and New are the verdicts of the two CRDs. A version that is not served counts as a rejection with code 404.
	Old, New *engine.Verdict
}

// DefaultTries is the default of SearchOptions.Tries.
const DefaultTries = goal.DefaultTries

// MaxCounterexamples is the maximum number of changes for which Counterexamples searches.
const MaxCounterexamples = 200

// Counterexamples searches for an object for each change of a Result that can reject writes. The old CRD accepts the
// object, and the new one rejects it because of the change. The object has few fields and short values. It is evaluated
// with strict field validation. The write is a creation, except in these cases:
//
//   - An update shows a change of a rule with oldSelf. A creation or an update shows a change of a default for which
//     there is such a rule.
//   - An update of the subresource status shows a change of the schema of the status, or the removal of the subresource.
//   - An update of the subresource scale shows its removal.
//
// If the search finds such an object for a change that needs care, the change and the Result become Breaking.
//
// The search uses at most half of the time until the deadline of the context. If no time is left for a change, its
// number of tries is 0. If the time or the context ends before the search is complete, SearchIncomplete is set, and the
// result is what was found until then. old and new are the compiled CRDs of the Result. If the new CRD is rejected as an
// update of the old one, callers can compile it as a new CRD. The error is an *engine.Error.
func Counterexamples(ctx context.Context, old, new *engine.Definition, result *Result, o SearchOptions) (
	list []Counterexample, err error) {
	defer host.Recover(&err)
	if err := compiled.NotNegative("Tries", o.Tries); err != nil {
		return nil, compiled.Error(err)
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
	for i := range result.Changes {
		c := &result.Changes[i]
		if o.Undecided && !isUndecided(*c) {
			continue
		}
		one := Counterexample{Change: i}
		var searches []goal.Options
		if searches, one.NoObject = searchesFor(c, old, new); len(searches) > 0 {
			if searched++; searched > most {
				continue
			}
		} else if one.NoObject == "" {
			continue
		}
		err := one.find(ctx, old, new, result, searches, o)
		if engine.ReasonOf(err) == engine.ReasonItemDeadline {
			result.SearchIncomplete = true
		} else if err != nil {
			return nil, err
		}
		if one.Found != nil && one.Ignored == nil && c.Class != Breaking {
			c.Class, c.Writers, result.Class = Breaking, Breaking, Breaking
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
func (e *Counterexample) find(ctx context.Context, old, new *engine.Definition, result *Result,
	searches []goal.Options, o SearchOptions) error {
	c := &result.Changes[e.Change]
	for k := range searches {
		if err := ctx.Err(); err != nil {
			return compiled.Error(compiled.TooLate(err))
		}
		s := &searches[k]
		s.Tries, s.Seed, s.Strict = cmp.Or(o.Tries, DefaultTries), o.Seed, true
		if s.Defaults && s.Without == nil {
			without, _, err := withChange(ctx, new, old, c)
			if err != nil {
				return err
			}
			if without != nil {
				s.Without = compiled.Of(without)
			}
		}
		if found, err := e.distinguish(ctx, old, new, s); found || err != nil {
			return err
		}
	}
	// Other changes of the version can hide the violation.
	others := slices.ContainsFunc(result.Changes, func(other Change) bool {
		return other.Version == c.Version && other.SchemaPointer != c.SchemaPointer && other.Class == Breaking
	})
	if e.Tries > 0 && c.Class == Breaking && c.SchemaPointer != "" && others {
		return e.findAlone(ctx, old, new, c, searches)
	}
	return nil
}

// findAlone searches for an object that the old CRD accepts, and that is rejected by the new CRD and by the old CRD
// with one change.
func (e *Counterexample) findAlone(ctx context.Context, old, new *engine.Definition, c *Change,
	searches []goal.Options) error {
	changed, pointer, err := withChange(ctx, old, new, c)
	if err != nil || changed == nil {
		return err
	}
	for _, s := range searches {
		s.Also, s.Without, s.Pointers = compiled.Of(new), nil, []string{pointer}
		if s.Defaults {
			s.Pointers, _ = aroundDefault(schema.Of(declared(changed, c.Version)), pointer)
		}
		found, err := e.distinguish(ctx, old, changed, &s)
		if err != nil {
			return err
		}
		if found {
			e.Alone, e.AloneManifest = e.Found.New, changed.Manifest()
			e.Found.New, err = e.Found.verdict(ctx, new, "")
			return err
		}
	}
	return nil
}

// distinguish runs a search, and reports whether it found an object.
func (e *Counterexample) distinguish(ctx context.Context, old, new *engine.Definition, o *goal.Options) (bool, error) {
	found, tries, err := goal.Distinguish(ctx, compiled.Of(old), compiled.Of(new), *o)
	if e.Tries += tries; err != nil || found == nil {
		return false, compiled.Error(err)
	}
	w := &Write{Version: o.Version, Object: found.Object, OldObject: found.OldObject, Subresource: o.Subresource}
	e.Found, e.Ignored = w, found.Ignored
	if w.Old, err = w.verdict(ctx, old, ""); err == nil {
		w.New, err = w.verdict(ctx, new, o.Missing)
	}
	return err == nil, err
}

// verdict returns the verdict of a CRD on the write. missing, if not "", says why the CRD does not serve it.
func (w *Write) verdict(ctx context.Context, d *engine.Definition, missing string) (*engine.Verdict, error) {
	if v := compiled.Of(d).Version(w.Version); missing == "" && (v == nil || !v.Served) {
		missing = "the version " + w.Version + " is not served"
	}
	if missing != "" {
		return &engine.Verdict{Revision: d.Revision(), Rejection: &engine.Rejection{
			Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound),
			Message: "the server could not find the requested resource", Cause: missing,
		}}, nil
	}
	o := engine.ValidateOptions{FieldValidation: engine.FieldValidationStrict}
	if w.OldObject == nil {
		return d.Validate(ctx, engine.Create{Version: w.Version, Object: engine.JSON(w.Object)}, o)
	}
	o.CompleteMetadata = true
	return d.Validate(ctx, engine.Update{
		Version: w.Version, Object: engine.JSON(w.Object), Old: engine.JSON(w.OldObject), Subresource: w.Subresource,
	}, o)
}
