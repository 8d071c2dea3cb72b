package engine

import "context"

// ReplayOutcome is one way in which an object fares otherwise under a new revision of its CRD.
type ReplayOutcome string

// The outcomes. An object can have several, Same stands alone.
const (
	// NewlyRefused: the old definition accepts a write of the object, the new one refuses it.
	NewlyRefused ReplayOutcome = "NewlyRefused"
	// KeptByRatcheting, always beside NewlyRefused: an update of the stored object that does not touch what is wrong passes under the new
	// definition. Without it not even that passes, and the object has to be mended with the next write.
	KeptByRatcheting ReplayOutcome = "KeptByRatcheting"
	// NewlyAccepted: the old definition refuses it, the new one accepts it.
	NewlyAccepted ReplayOutcome = "NewlyAccepted"
	// PrunedOtherwise: one of the two drops fields that the other keeps.
	PrunedOtherwise ReplayOutcome = "PrunedOtherwise"
	// DefaultedOtherwise: the two fill in different values.
	DefaultedOtherwise ReplayOutcome = "DefaultedOtherwise"
	// ConvertedOtherwise: at another version the object looks different than before.
	ConvertedOtherwise ReplayOutcome = "ConvertedOtherwise"
	// Same: none of these.
	Same ReplayOutcome = "Same"
)

// Replayed is what became of one object.
type Replayed struct {
	// Outcomes are in the order of the constants; empty if Err is all there is.
	Outcomes []ReplayOutcome
	// OldAllowed and NewAllowed are the two verdicts.
	OldAllowed, NewAllowed bool
	// OldViolations and NewViolations are the findings of the two verdicts, with positions in the object; those which both have are in both.
	OldViolations, NewViolations []Violation
	// NewRefusal is the answer of the new definition's API server to an object that is newly refused.
	NewRefusal *Refusal
	// Differences are the fields that are pruned, defaulted or converted otherwise, at most MaxReplayDifferences; OmittedDifferences is how
	// many more there were.
	Differences        []FieldDifference
	OmittedDifferences int
	// Err is why the object could not be replayed, or not wholly: an *Error.
	Err error
}

// MaxReplayDifferences is how many differences of one object are told one by one.
const MaxReplayDifferences = 100

// FieldDifference is a field of an object of which old and new definition make different things.
type FieldDifference struct {
	// Outcome is PrunedOtherwise, DefaultedOtherwise or ConvertedOtherwise.
	Outcome ReplayOutcome
	// Version is the version converted to, "" otherwise.
	Version string
	// Pointer leads to the field (RFC 6901), Path spells the same for people: spec.jobs[0].extra.
	Path, Pointer string
	// Old and New are the values in the two results, as JSON; nil where the field is not there.
	Old, New []byte
}

// Replay evaluates objects under two revisions of a CRD and says which of them fare otherwise, one Replayed an item. An item is an object as
// it stands in storage, as a client reads it or as a manifest has it; if it has an OldObject, the update from that is what is replayed.
//
// Metadata is completed as EvaluationOptions.CompleteMetadata does, so that manifests from files can be replayed. View, AsGiven, Trace and
// TargetVersion of the options have no meaning here. The error is that of a context that has ended; what concerns one item is in its Err.
func Replay(ctx context.Context, old, new *Definition, items []Item, o EvaluationOptions) ([]Replayed, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "replaying objects is not available yet"}
}
