package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ReplayOutcome is one way in which an object fares otherwise under a new revision of its CRD.
type ReplayOutcome string

// The outcomes. An object can have several, Same stands alone.
const (
	// NewlyRefused: the old definition accepts a write of the object, the new one refuses it.
	NewlyRejected ReplayOutcome = "NewlyRejected"
	// KeptByRatcheting, always beside NewlyRefused: an update of the stored object that does not touch what is wrong passes under the new
	// definition. Without it not even that passes, and the object has to be mended with the next write.
	KeptByRatcheting ReplayOutcome = "KeptByRatcheting"
	// NewlyAccepted: the old definition refuses it, the new one accepts it.
	NewlyAccepted ReplayOutcome = "NewlyAccepted"
	// PrunedOtherwise: one of the two drops fields, or nulls, that the other keeps.
	PrunedOtherwise ReplayOutcome = "PrunedOtherwise"
	// DefaultedOtherwise: the two fill in different values.
	DefaultedOtherwise ReplayOutcome = "DefaultedOtherwise"
	// ConvertedOtherwise: at another version the object looks different than before, or it does at its own version after it was stored at
	// another.
	ConvertedOtherwise ReplayOutcome = "ConvertedOtherwise"
	// Same: none of these.
	Same ReplayOutcome = "Same"
)

// Replayed is what became of one object.
type ReplayResult struct {
	// Outcomes are in the order of the constants; empty if Err is all there is.
	Outcomes []ReplayOutcome
	// OldAllowed and NewAllowed are the two verdicts.
	OldAllowed, NewAllowed bool
	// OldViolations and NewViolations are the findings of the two verdicts, with positions in the object; those which both have are in both.
	OldViolations, NewViolations []Violation
	// NewRefusal is the answer of the new definition's API server to an object that is newly refused; nil if it does not have its version.
	NewRejection *Rejection
	// Differences are the fields that are pruned, defaulted or converted otherwise, within MaxReplayDifferences and MaxReplayBytes; OmittedDifferences is how
	// many more there were.
	Differences        []FieldDifference
	OmittedDifferences int
	// Err is why the object could not be replayed, or not wholly: an *Error.
	Err error
}

// What is told of the differences of one object: so many, with so many bytes of values, but the first whatever its size.
const (
	MaxReplayDifferences = 100
	MaxReplayBytes       = 256 << 10
)

// FieldDifference is a field of an object of which old and new definition make different things.
type FieldDifference struct {
	// Outcome is PrunedOtherwise, DefaultedOtherwise or ConvertedOtherwise.
	Outcome ReplayOutcome
	// Version is the version converted to, the object's own if it differs after it was stored; "" where nothing was converted.
	Version string
	// Pointer leads to the field (RFC 6901), Path spells the same for people: spec.jobs[0].extra.
	Path, Pointer string
	// Old and New are the values in the two results, as JSON; nil where the field is not there.
	Old, New []byte
}

// Replay evaluates objects under two revisions of a CRD and says which of them fare otherwise, one Replayed an item. An item is an object as
// it stands in storage, as a client reads it or as a manifest has it, and is judged as a whole, its status included, as if it were written
// anew. An item with an OldObject, or of a subresource, is that update.
//
// Metadata is completed as EvaluationOptions.CompleteMetadata does, so that manifests from files can be replayed. View, AsGiven, Trace and
// TargetVersion of the options have no meaning here. The error is that of a context that has ended; what concerns one item is in its Err.
func Replay(ctx context.Context, old, new *Definition, items []Item, o EvaluationOptions) (_ []ReplayResult, err error) {
	defer recovered(&err)
	if old == nil || new == nil {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "a definition is missing: replay takes an old and a new one"}
	}
	all := make([]ReplayResult, len(items))
	o = EvaluationOptions{FieldValidation: o.FieldValidation, CompleteMetadata: true}
	for i := range items {
		r := replay{ctx: ctx, old: old, new: new, item: items[i], options: o}
		r.run()
		if err := ctx.Err(); err != nil {
			return nil, &Error{Reason: ReasonItemDeadline, Message: fmt.Sprintf("the call ended before item %d of %d was replayed: %v", i+1, len(items), err), Err: err}
		}
		all[i] = r.ReplayResult
	}
	return all, nil
}

// replay is one item on its way.
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
		r.NewRejection = after.refusal
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
	told := &Error{Reason: ReasonInternal, Message: where + ": " + err.Error(), Err: err}
	var e *Error
	if errors.As(err, &e) {
		told.Reason, told.Limit, told.Actual, told.Rejection, told.Position = e.Reason, e.Limit, e.Actual, e.Rejection, e.Position
	}
	r.Err = told
}

// lacksVersion: the definition does not have, or does not serve, the version of the object. That refuses the object, and is told as an error.
func lacksVersion(err error) bool {
	reason := ReasonOf(err)
	return reason == ReasonVersionNotFound || reason == ReasonVersionNotServed
}

// survives reports whether the stored object may be updated without being mended.
func (r *replay) survives() bool {
	again := r.item
	if !again.OldObject.Absent() {
		again.Object = again.OldObject
	}
	again.OldObject, _ = r.new.inStorage(again.Object, again, "")
	v, err := r.new.Validate(r.ctx, again, r.options)
	return err == nil && v.Allowed
}

// judged is what one definition says to an item.
type judged struct {
	allowed    bool
	violations []Violation
	refusal    *Rejection
}

// judge writes an object anew: as a create, and its status, which a create drops where it is a subresource, as a write of that.
func judge(ctx context.Context, d *Definition, item Item, o EvaluationOptions) (judged, error) {
	v, err := d.Validate(ctx, item, o)
	if err != nil {
		return judged{}, err
	}
	out := judged{allowed: v.Allowed, violations: v.Violations, refusal: v.Rejection}
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
			out.allowed, out.refusal = false, v.Rejection
		}
		out.violations = union(out.violations, v.Violations)
	}
	return out, nil
}

// union adds the findings that are not there yet.
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
