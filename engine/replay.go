package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ReplayOutcome is a difference between the results for an object under two revisions of its CRD.
type ReplayOutcome string

// The outcomes. An object can have several, except Same.
const (
	// NewlyRejected: the old definition accepts a write of the object, the new one rejects it.
	NewlyRejected ReplayOutcome = "NewlyRejected"
	// KeptByRatcheting, always with NewlyRejected: the new definition accepts an update of the stored object that does
	// not change the invalid values. Without it the object has to be fixed with the next write.
	KeptByRatcheting ReplayOutcome = "KeptByRatcheting"
	// NewlyAccepted: the old definition rejects it, the new one accepts it.
	NewlyAccepted ReplayOutcome = "NewlyAccepted"
	// PrunedOtherwise: one definition drops fields or nulls that the other keeps.
	PrunedOtherwise ReplayOutcome = "PrunedOtherwise"
	// DefaultedOtherwise: the definitions fill in different values.
	DefaultedOtherwise ReplayOutcome = "DefaultedOtherwise"
	// ConvertedOtherwise: the object differs at another version, or at its own version after it was stored at another
	// one.
	ConvertedOtherwise ReplayOutcome = "ConvertedOtherwise"
	// Same: none of these.
	Same ReplayOutcome = "Same"
)

// outcomes are all outcomes in order.
var outcomes = []ReplayOutcome{
	NewlyRejected, KeptByRatcheting, NewlyAccepted, PrunedOtherwise, DefaultedOtherwise, ConvertedOtherwise, Same,
}

// ReplayResult is the result for one object.
type ReplayResult struct {
	// Outcomes are in the order of the constants. There are none if Err prevented the replay.
	Outcomes []ReplayOutcome
	// OldAllowed and NewAllowed report whether the definitions accept the object.
	OldAllowed, NewAllowed bool
	// OldViolations and NewViolations are the violations of the two definitions, with positions in the object.
	OldViolations, NewViolations []Violation
	// NewRejection is the new definition's answer to a newly rejected object. It is nil if it lacks the object's
	// version.
	NewRejection *Rejection
	// Differences are the fields that are pruned, defaulted or converted otherwise, within MaxReplayDifferences and
	// MaxReplayBytes. OmittedDifferences counts the others.
	Differences        []FieldDifference
	OmittedDifferences int
	// Err is the *Error because of which the object could not be replayed, or only in part.
	Err error
}

// Bounds of the Differences of one object. The first one is listed whatever its size.
const (
	MaxReplayDifferences = 100
	MaxReplayBytes       = 256 << 10 // of values
)

// FieldDifference is a field for which the definitions have different results.
type FieldDifference struct {
	// Outcome is PrunedOtherwise, DefaultedOtherwise or ConvertedOtherwise.
	Outcome ReplayOutcome
	// Version is the version converted to, the object's own if it differs after it was stored; "" where nothing was
	// converted.
	Version string
	// Pointer leads to the field (RFC 6901), Path spells the same for people: spec.jobs[0].extra.
	Path, Pointer string
	// Old and New are the values in the two results, as JSON; nil where the field is not there.
	Old, New []byte
}

// Replay evaluates objects under two revisions of a CRD and returns the differences, one ReplayResult for each item. An
// item is an object as storage has it, as a client reads it or as a manifest has it. It is evaluated as if it were
// written anew, including its status. An item with an OldObject or a Subresource is that update.
//
// Metadata is completed as with EvaluationOptions.CompleteMetadata. Of the options only FieldValidation is used. The
// error is that of a context that ended; errors of one item are in its result.
func Replay(ctx context.Context, old, new *Definition, items []Item, o EvaluationOptions) (_ []ReplayResult, err error) {
	defer recovered(&err)
	if old == nil || new == nil {
		return nil, invalid("a definition is missing: replay takes an old and a new one")
	}
	all := make([]ReplayResult, len(items))
	o = EvaluationOptions{FieldValidation: o.FieldValidation, CompleteMetadata: true}
	for i := range items {
		r := replay{ctx: ctx, old: old, new: new, item: items[i], options: o}
		r.run()
		if err := ctx.Err(); err != nil {
			return nil, failed(ReasonItemDeadline, fmt.Sprintf("the call ended before item %d of %d was replayed", i+1, len(items)), err)
		}
		all[i] = r.ReplayResult
	}
	return all, nil
}

// replay is the replay of one item.
type replay struct {
	ReplayResult
	ctx      context.Context
	old, new *Definition
	item     Item
	options  EvaluationOptions
	bytes    int // of the values in Differences
}

func (r *replay) run() {
	before, err := judge(r.ctx, r.old, r.item, r.options)
	if err != nil && !lacksVersion(err) {
		r.fail("under the old definition", err)
		return
	}
	if err != nil {
		r.fail("under the old definition", err)
	}
	after, err := judge(r.ctx, r.new, r.item, r.options)
	if err != nil {
		r.fail("under the new definition", err)
		if !lacksVersion(err) {
			return
		}
	}
	r.OldAllowed, r.OldViolations = before.allowed, before.violations
	r.NewAllowed, r.NewViolations = after.allowed, after.violations
	switch {
	case r.OldAllowed && !r.NewAllowed:
		r.NewRejection = after.rejection
		r.add(NewlyRejected)
		if err == nil && r.survives() {
			r.add(KeptByRatcheting)
		}
	case !r.OldAllowed && r.NewAllowed:
		r.add(NewlyAccepted)
	}
	if r.Err == nil {
		r.results()
	}
	if len(r.Outcomes) == 0 && r.Err == nil {
		r.add(Same)
	}
}

func (r *replay) add(outcome ReplayOutcome) {
	if !slices.Contains(r.Outcomes, outcome) {
		r.Outcomes = append(r.Outcomes, outcome)
	}
}

// fail keeps the first error.
func (r *replay) fail(where string, err error) {
	if r.Err != nil {
		return
	}
	out := &Error{Reason: ReasonInternal, Message: where + ": " + err.Error(), Err: err}
	var e *Error
	if errors.As(err, &e) {
		out.Reason, out.Limit, out.Actual, out.Rejection, out.Position = e.Reason, e.Limit, e.Actual, e.Rejection, e.Position
	}
	r.Err = out
}

// lacksVersion reports whether the definition does not have, or does not serve, the version of the object. Such an
// object counts as rejected.
func lacksVersion(err error) bool {
	reason := ReasonOf(err)
	return reason == ReasonVersionNotFound || reason == ReasonVersionNotServed
}

// survives reports whether the new definition accepts an update of the stored object that changes nothing.
func (r *replay) survives() bool {
	again := r.item
	if !again.OldObject.Absent() {
		again.Object = again.OldObject
	}
	again.OldObject, _ = r.new.inStorage(again.Object, again, "")
	v, err := r.new.Validate(r.ctx, again, r.options)
	return err == nil && v.Allowed
}

// judged is the verdict of one definition.
type judged struct {
	allowed    bool
	violations []Violation
	rejection  *Rejection
}

// judge validates an object as a creation and, because a creation drops the status subresource, its status as an
// update.
func judge(ctx context.Context, d *Definition, item Item, o EvaluationOptions) (judged, error) {
	v, err := d.Validate(ctx, item, o)
	if err != nil {
		return judged{}, err
	}
	out := judged{allowed: v.Allowed, violations: v.Violations, rejection: v.Rejection}
	if !item.OldObject.Absent() {
		return out, nil
	}
	write, ok := d.statusWrite(ctx, item)
	if !ok {
		return out, nil
	}
	if v, err = d.Validate(ctx, write, o); err != nil {
		return judged{}, err
	}
	if !v.Allowed {
		if out.allowed {
			out.allowed, out.rejection = false, v.Rejection
		}
		out.violations = union(out.violations, v.Violations)
	}
	return out, nil
}

// union appends the violations that list does not have.
func union(list, more []Violation) []Violation {
	type key struct{ kind, field, message, pointer, schema string }
	keyOf := func(v *Violation) key { return key{v.Type, v.Field, v.Message, v.Pointer, v.SchemaPointer} }
	known := make(map[key]struct{}, len(list))
	for i := range list {
		known[keyOf(&list[i])] = struct{}{}
	}
	list = slices.Clip(list)
	for i := range more {
		if _, there := known[keyOf(&more[i])]; !there {
			list = append(list, more[i])
		}
	}
	return list
}
