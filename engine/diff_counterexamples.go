package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/search"
)

// CounterexampleOptions bound the search of Counterexamples.
type CounterexampleOptions struct {
	// Tries bounds the writes that are evaluated for each change. 0 is DefaultTries.
	Tries int
	// Seed selects the generated objects. Equal seeds give equal results.
	Seed uint64
}

// ChangeCounterexample is the result of the search for an object that shows the effect of a change.
type ChangeCounterexample struct {
	// Change is the index in Diff.Changes.
	Change int
	// Found is an object that the old CRD accepts and the new one rejects because of the change. A is the verdict of the
	// old CRD, and B the verdict of the new one. If no object was found, Found is nil. This does not prove that there is
	// no such object.
	Found *Distinction
	// Tries is the number of writes that were evaluated. It is 0 if no time was left for the change.
	Tries int
}

// MaxCounterexamples is the maximum number of changes for which Counterexamples searches.
const MaxCounterexamples = 200

// Counterexamples searches for an object for each change of a Diff that can reject writes. The old CRD accepts the
// object, and the new one rejects it because of the change. The object has few fields and short values. It is evaluated
// with strict field validation. If a change adds or changes a rule with oldSelf, the search is for an update.
//
// The search uses at most half of the time until the deadline of the context. If no time is left for a change, its
// number of tries is 0. old and new are the compiled CRDs of the Diff. The error is an *Error.
func Counterexamples(ctx context.Context, old, new *Definition, changes []Change, o CounterexampleOptions) (
	list []ChangeCounterexample, err error) {
	defer recovered(&err)
	if o.Tries < 0 {
		return nil, invalid("Tries is %d: evaluate at least 1 object", o.Tries)
	}
	inner, cancel := ctx, func() {}
	if deadline, ok := ctx.Deadline(); ok {
		inner, cancel = context.WithDeadline(ctx, time.Now().Add(time.Until(deadline)/2))
	}
	defer cancel()
	for i := range changes {
		c := &changes[i]
		if !canReject(c) || old.version(c.Version) == nil || !old.version(c.Version).Served ||
			len(list) >= MaxCounterexamples {
			continue
		}
		one := ChangeCounterexample{Change: i}
		for _, update := range updatesOf(c) {
			o := DistinguishOptions{Version: c.Version, Tries: cmp.Or(o.Tries, DefaultTries), Seed: o.Seed, Update: update,
				FieldValidation: FieldValidationStrict, defaults: strings.HasPrefix(c.Kind, "Default")}
			if c.SchemaPointer != "" {
				o.Pointers = []string{c.SchemaPointer}
			}
			found, tries, err := distinguish(inner, old, new, o, reasonFor(c))
			one.Found, one.Tries = found, one.Tries+tries
			if ctx.Err() != nil {
				return nil, tooLate(ctx.Err())
			}
			if err != nil && ReasonOf(err) != ReasonItemDeadline {
				return nil, err
			}
			if found != nil {
				break
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// canReject reports whether a change of a version may reject a write that the old CRD accepts.
func canReject(c *Change) bool {
	switch {
	case c.Kind == "VersionRemoved", c.Kind == "VersionUnserved":
		return true
	case c.SchemaPointer == "":
		return false
	}
	return max(c.Stored, c.Writers) >= NeedsCare
}

// updatesOf returns the searches for a change: true is a search for an update, false for a creation.
func updatesOf(c *Change) []bool {
	var rule apiextensionsv1.ValidationRule
	if (c.Kind == "RuleAdded" || c.Kind == "RuleChanged") && json.Unmarshal(c.New, &rule) == nil {
		return needsUpdate(&rule)
	}
	return []bool{false}
}

// needsUpdate returns whether to search updates for violations of a rule: creations first if both are possible.
func needsUpdate(rule *apiextensionsv1.ValidationRule) []bool {
	switch {
	case !compare.IsTransition(rule):
		return []bool{false}
	case rule.OptionalOldSelf != nil && *rule.OptionalOldSelf:
		return []bool{false, true}
	}
	return []bool{true}
}

// reasonFor returns a function that reports whether a write is rejected because of a change.
func reasonFor(c *Change) func(*search.Aim, *reply) bool {
	switch c.Kind {
	case "VersionRemoved", "VersionUnserved":
		return nil
	case "DefaultAdded", "DefaultChanged", "DefaultRemoved": // a default is valid: violations are those of parents
		return func(*search.Aim, *reply) bool { return true }
	case "RequiredAdded":
		var name string
		if json.Unmarshal(c.New, &name) == nil {
			return func(aim *search.Aim, r *reply) bool {
				for i, p := range r.pointers {
					if path := r.faults[i].Path; p == aim.Pointer() && len(path) > 0 && path[len(path)-1].Key() == name {
						return true
					}
				}
				return false
			}
		}
	case "BoundTightened", "ListMapKeysChanged": // the violation can have another keyword of the same schema
		return func(aim *search.Aim, r *reply) bool {
			return slices.ContainsFunc(r.pointers, func(p string) bool {
				keyword, ok := strings.CutPrefix(p, aim.Node+"/")
				return ok && !strings.Contains(keyword, "/")
			})
		}
	}
	for _, exact := range []string{"Rule", "Enum", "Pattern", "Format", "Required", "ListType"} {
		if strings.HasPrefix(c.Kind, exact) {
			return func(aim *search.Aim, r *reply) bool { return r.isAt(aim.Pointer()) }
		}
	}
	return func(aim *search.Aim, r *reply) bool { return len(r.unknown) > 0 || r.isAt(aim.Node) }
}
