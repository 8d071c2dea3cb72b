package diff

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// Outcome is a difference between the results for an object under two revisions of its CRD.
type Outcome string

// The outcomes. An object can have several, except Same.
const (
	// NewlyRejected: the old definition accepts a write of the object, the new one rejects it.
	NewlyRejected Outcome = "NewlyRejected"
	// KeptByRatcheting, always with NewlyRejected: the new definition accepts an update of the stored object that does
	// not change the invalid values. Without it the object has to be fixed with the next write.
	KeptByRatcheting Outcome = "KeptByRatcheting"
	// NewlyAccepted: the old definition rejects it, the new one accepts it.
	NewlyAccepted Outcome = "NewlyAccepted"
	// PrunedOtherwise: one definition drops fields or nulls that the other keeps.
	PrunedOtherwise Outcome = "PrunedOtherwise"
	// DefaultedOtherwise: the definitions fill in different values.
	DefaultedOtherwise Outcome = "DefaultedOtherwise"
	// ConvertedOtherwise: the object differs at another version, or at its own version after it was stored at another one.
	ConvertedOtherwise Outcome = "ConvertedOtherwise"
	// Same: none of these.
	Same Outcome = "Same"
)

// outcomes are all outcomes in order.
var outcomes = []Outcome{
	NewlyRejected, KeptByRatcheting, NewlyAccepted, PrunedOtherwise, DefaultedOtherwise, ConvertedOtherwise, Same,
}

// ReplayResult is the result for one object.
type ReplayResult struct {
	// Outcomes are in the order of the constants. They are empty if Err prevented the replay.
	Outcomes []Outcome
	// OldAllowed and NewAllowed report whether the definitions accept the object.
	OldAllowed, NewAllowed bool
	// OldViolations and NewViolations are the violations of the two definitions, with positions in the object.
	OldViolations, NewViolations []engine.Violation
	// NewRejection is the new definition's answer to a newly rejected object. It is nil if it lacks the object's version.
	NewRejection *engine.Rejection
	// Differences are the fields that are pruned, defaulted or converted otherwise, within MaxDifferences and
	// MaxDifferenceBytes. OmittedDifferences counts the others.
	Differences        []FieldDifference
	OmittedDifferences int
	// Err is the *engine.Error because of which the object could not be replayed, or only in part.
	Err error
}

// Replay evaluates objects under two revisions of a CRD and returns the differences, one ReplayResult for each item. An
// item is an object as storage has it, as a client reads it or as a manifest has it. It is evaluated as if it were
// written anew, including its status. An Update is evaluated as it is.
//
// Unknown and duplicate fields are handled as validation says. Metadata is completed as with
// engine.ValidateOptions.CompleteMetadata. The error is that of a context that ended; errors of one item are in its
// result.
func Replay(ctx context.Context, old, new *engine.Definition, items []engine.ObjectWrite, validation engine.FieldValidation) (
	_ []ReplayResult, err error) {
	defer host.Recover(&err)
	if old == nil || new == nil {
		return nil, invalid("a definition is missing: replay takes an old and a new one")
	}
	all := make([]ReplayResult, len(items))
	for i := range items {
		r := replay{ctx: ctx, old: old, new: new, options: engine.ValidateOptions{FieldValidation: validation, CompleteMetadata: true}}
		switch w := items[i].(type) {
		case engine.Create:
			r.item = w
		case engine.Update:
			r.item = engine.Create{Object: w.Object, Version: w.Version, Namespace: w.Namespace, Name: w.Name}
			r.update = &w
		default:
			return nil, invalid("items[%d]: replay takes a Create or an Update", i)
		}
		r.run()
		if err := ctx.Err(); err != nil {
			return nil, compiled.Error(compiled.Failed(admission.Deadline, "the call ended before all items were replayed", err))
		}
		slices.SortFunc(r.Outcomes, func(a, b Outcome) int {
			return cmp.Compare(slices.Index(outcomes, a), slices.Index(outcomes, b))
		})
		all[i] = r.ReplayResult
	}
	return all, nil
}

// replay is the replay of one item.
type replay struct {
	ReplayResult
	ctx      context.Context
	old, new *engine.Definition
	item     engine.Create
	update   *engine.Update // that the item is, or nil
	options  engine.ValidateOptions
	bytes    int // of the values in Differences
}

func (r *replay) run() {
	before, err := r.evaluate("under the old definition", r.old)
	if before == nil {
		return
	}
	after, err2 := r.evaluate("under the new definition", r.new)
	if after == nil {
		return
	}
	r.OldAllowed, r.OldViolations = before.Allowed, before.Violations
	r.NewAllowed, r.NewViolations = after.Allowed, after.Violations
	switch {
	case r.OldAllowed && !r.NewAllowed:
		r.NewRejection = after.Rejection
		r.add(NewlyRejected)
		if err2 == nil && r.isAcceptedUnchanged() {
			r.add(KeptByRatcheting)
		}
	case !r.OldAllowed && r.NewAllowed:
		r.add(NewlyAccepted)
	}
	if err == nil && err2 == nil {
		r.results()
	}
	if len(r.Outcomes) == 0 && r.Err == nil {
		r.add(Same)
	}
}

func (r *replay) add(outcome Outcome) {
	if !slices.Contains(r.Outcomes, outcome) {
		r.Outcomes = append(r.Outcomes, outcome)
	}
}

// fail records the first error.
func (r *replay) fail(where string, err error) {
	if r.Err == nil {
		r.Err = within(where, err)
	}
}

// failInternal records an internal error, such as that of a hook. All other errors are also those of the verdicts.
func (r *replay) failInternal(where string, err error) {
	if engine.ReasonOf(err) == engine.ReasonInternal {
		r.fail(where, err)
	}
}

// isAcceptedUnchanged reports whether the new definition accepts an update of the stored object that changes nothing.
func (r *replay) isAcceptedUnchanged() bool {
	again := engine.Update{Object: r.item.Object, Version: r.item.Version, Namespace: r.item.Namespace, Name: r.item.Name}
	if r.update != nil {
		again = *r.update
		again.Object = again.Old
	}
	again.Old, _ = inStorage(r.new, again.Object, r.item, "")
	v, err := r.new.Validate(r.ctx, again, r.options)
	r.failInternal("under the new definition, unchanged", err)
	return err == nil && v.Allowed
}

// evaluate validates the object as a creation and, because a creation drops the status subresource, its status as an
// update. An object whose version the definition does not have or serve counts as rejected: there is an error and a
// Verdict. For other errors the Verdict is nil.
func (r *replay) evaluate(where string, d *engine.Definition) (*engine.Verdict, error) {
	var whole engine.Write = r.item
	if r.update != nil {
		whole = *r.update
	}
	v, err := d.Validate(r.ctx, whole, r.options)
	if write, ok := r.statusWrite(where, d); err == nil && ok {
		var status *engine.Verdict
		if status, err = d.Validate(r.ctx, write, r.options); err == nil && !status.Allowed {
			if v.Allowed {
				v.Allowed, v.Rejection = false, status.Rejection
			}
			v.Violations = union(v.Violations, status.Violations)
		}
	}
	if err == nil {
		return v, nil
	}
	r.fail(where, err)
	if reason := engine.ReasonOf(err); reason == engine.ReasonVersionNotFound || reason == engine.ReasonVersionNotServed {
		return &engine.Verdict{}, err
	}
	return nil, err
}

// union appends the violations that list does not have.
func union(list, more []engine.Violation) []engine.Violation {
	type key struct{ kind, field, message, pointer, schema string }
	keyOf := func(v *engine.Violation) key { return key{v.Type, v.Field, v.Message, v.Pointer, v.SchemaPointer} }
	known := make(map[key]bool, len(list))
	for i := range list {
		known[keyOf(&list[i])] = true
	}
	list = slices.Clip(list)
	for i := range more {
		if !known[keyOf(&more[i])] {
			list = append(list, more[i])
		}
	}
	return list
}

// statusWrite returns the update that adds its status to an object. ok is false for an item that is an update, and
// without a status or a status subresource.
func (r *replay) statusWrite(where string, d *engine.Definition) (engine.Update, bool) {
	item := r.item
	apiVersion, _, err := item.Object.TypeMeta(compiled.Of(d).Limits)
	if err != nil || r.update != nil {
		return engine.Update{}, false
	}
	if v := compiled.Of(d).Version(cmp.Or(item.Version, versionOf(apiVersion))); v == nil || !v.HasStatus {
		return engine.Update{}, false
	}
	read, err := d.Read(r.ctx, item.Object, engine.ReadOptions{Version: item.Version})
	if err != nil {
		r.failInternal(where, err)
		return engine.Update{}, false
	}
	old, had := inStorage(d, engine.JSON(read.Object), item, "status")
	return engine.Update{
		Object: item.Object, Old: old, Subresource: "status", Version: item.Version, Namespace: item.Namespace, Name: item.Name,
	}, had
}

// versionOf returns the version of an apiVersion.
func versionOf(apiVersion string) string {
	return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
}
