package engine

import (
	"context"
	"encoding/json"
)

// ChangeClass says how much a change of a CRD asks of those who depend on it.
type ChangeClass string

// The classes, from the most harmless on.
const (
	// Compatible: nobody notices, or only what is new to use.
	Compatible ChangeClass = "Compatible"
	// NeedsCare: nothing is refused or lost at once, but somebody should look whether all that is stored and all clients can live with it.
	NeedsCare ChangeClass = "NeedsCare"
	// Breaking: something that worked is refused or lost.
	Breaking ChangeClass = "Breaking"
)

// ChangeSide says whom the class of a change concerns.
type ChangeSide string

// The sides.
const (
	StoredObjects ChangeSide = "StoredObjects" // objects that are in storage already
	Clients       ChangeSide = "Clients"       // programs that write or read objects
	BothSides     ChangeSide = "Both"
)

// Change is one difference between two CRDs, and what it means.
type Change struct {
	// Class is the worst of Stored, Writers and Readers, Side those whom it concerns; BothSides for a compatible change.
	Class ChangeClass
	Side  ChangeSide
	// Stored is what the change means for objects that are in storage, as they were written under the old CRD: whether they stay valid as they
	// are, lose something, or cannot be updated any more.
	Stored ChangeClass
	// Writers is what it means for clients whose writes the old CRD accepted, Readers for clients which count on what the old CRD let
	// them find.
	Writers, Readers ChangeClass
	// Kind is one of the ChangeKind constants.
	Kind ChangeKind
	// Version is the version that changed, "" for what all versions share.
	Version string
	// SchemaPointer leads to the keyword that changed from the version's openAPIV3Schema (RFC 6901); "" for changes outside of schemas.
	SchemaPointer string
	// ManifestPointer leads to it from the root of the new CRD as apiextensions.k8s.io/v1 writes it, or from the root of the old one if the
	// new one does not have it.
	ManifestPointer string
	// Message says in a sentence what changed and what follows from it.
	Message string
	// Old and New are the values, as JSON; nil where there is none. Values of more than 4 KiB are left out.
	Old, New json.RawMessage
	// OldPosition and NewPosition are where it stands in the two manifests as they were given, its nearest parent where it is missing; nil if
	// that is not known.
	OldPosition, NewPosition *Position
}

// Diff is what Compare finds.
type Diff struct {
	// Class is the worst class of all changes, those in OmittedChanges included, and Breaking if the Report refuses the new CRD; Compatible
	// if there are no changes.
	Class ChangeClass
	// Changes come in a fixed order: what all versions share first, then version by version in the new CRD's order of priority, each in the
	// order of its schema; at most MaxChanges. OmittedChanges is how many more there were.
	Changes        []Change
	OmittedChanges int
	// Report is that of the new CRD, judged as an update of the old; as a creation if the two do not have the same name.
	Report *Report
	// Identical is set if the two mean the same to the letter: they have the same canonical form, and so the same revision.
	Identical bool
}

// MaxChanges is how many changes a Diff tells one by one.
const MaxChanges = 1000

// Compare says what would change for stored objects and for clients if new replaced old. Both may be at v1 or v1beta1. Old counts as
// registered and established: it is not judged. Versions are compared with those of the same name.
//
// new is judged as an update of old as it stands, with the stored versions of its status if the document has one, else with its
// storage version alone; where Options.Existing knows the name, with what that says of its status.
//
// The error is an *Error for a manifest that cannot be judged: over a limit, unreadable, not a CRD. A new CRD that is refused is compared all
// the same as far as its form allows; one that cannot be decoded has no changes, and a Report that says why.
func Compare(ctx context.Context, old, new Document, o Options) (_ *Diff, err error) {
	defer recovered(&err)
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	was, err := readCompared(old, "old CRD", o.Limits)
	if err != nil {
		return nil, err
	}
	defer was.release()
	if was.crd == nil {
		return nil, &Error{Reason: ReasonManifestUnreadable, Message: "old CRD: " + was.undecoded.Error(), Err: was.undecoded}
	}
	is, err := readCompared(new, "manifest", o.Limits)
	if err != nil {
		return nil, err
	}
	defer is.release()
	existing := was.existing(o)
	o.Existing = func(name string) *Existing {
		if name != was.crd.Name {
			return nil
		}
		return existing
	}
	diff := &Diff{Class: Compatible}
	if diff.Report, err = Check(ctx, new, o); err != nil {
		return nil, err
	}
	if is.crd != nil {
		if err := diff.fill(ctx, was, is, o, existing.Status.StoredVersions); err != nil {
			return nil, err
		}
	}
	if !diff.Report.Accepted {
		diff.Class = Breaking
	}
	return diff, nil
}

// ExistingFrom reads a CRD as one that is registered and established: a manifest, or what kubectl get -o yaml prints, with the stored versions of
// its status, and whether it is being deleted. It is not judged. The error is an *Error, as of Compare.
func ExistingFrom(manifest Document, l Limits) (name string, existing *Existing, err error) {
	defer recovered(&err)
	c, err := readCompared(manifest, "manifest", l)
	if err != nil {
		return "", nil, err
	}
	defer c.release()
	if c.crd == nil {
		return "", nil, &Error{Reason: ReasonManifestUnreadable, Message: "manifest: " + c.undecoded.Error(), Err: c.undecoded}
	}
	return c.crd.Name, c.existing(Options{}), nil
}
