package diff

import (
	"bytes"
	"cmp"
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/format"
)

// Change is one difference between two CRDs. Its fields are:
//
//   - Class Class, Side Side: the most severe of the next three, and what it concerns.
//   - Stored, Writers, Readers Class, of the embedded Impact: the effects on stored objects, on clients that write and
//     on clients that read.
//   - Kind string: a stable identifier of what changed, such as RequiredAdded. docs/diff.md lists all kinds.
//   - Version string: the version that changed, "" for what all versions share.
//   - SchemaPointer string: the JSON pointer (RFC 6901) of the changed keyword in the version's openAPIV3Schema, "" for
//     changes outside of schemas. NewPointer string: the one in the new schema, if the keyword moved.
//   - ManifestPointer string: its JSON pointer in the new CRD as apiextensions.k8s.io/v1, or in the old one if the new
//     one lacks it.
//   - Message string: what changed and what follows from it, in a sentence.
//   - Old, New json.RawMessage: the values, nil if they are missing or longer than 4 KiB.
//   - Witness json.RawMessage: a value that the old schema accepts at this place and the new one rejects, nil if none
//     was found.
//   - OldPosition, NewPosition *engine.Position: its positions in the two manifests, or those of the nearest parent,
//     nil if not known.
type Change = compare.Change

// Class says how severe the effect of a change is. Classes are ordered.
type Class = compare.Class

// The classes, from the least to the most severe.
const (
	Compatible = compare.Compatible // nothing that worked is affected
	NeedsCare  = compare.NeedsCare  // nothing is rejected or lost at once, but stored objects or clients may be affected
	Breaking   = compare.Breaking   // something that worked is rejected or lost
)

// Side says what the class of a change concerns.
type Side = compare.Side

// The sides.
const (
	StoredObjects = compare.StoredObjects // objects in storage
	Clients       = compare.Clients       // programs that write or read objects
	BothSides     = compare.BothSides
)

// Result is the result of Compare.
type Result struct {
	// Class is the most severe class of all changes, including the omitted ones. It is Breaking if the Report rejects
	// the new CRD, and Compatible if there are no changes.
	Class Class
	// Changes are ordered: first what all versions share, then the versions by priority in the new CRD, each in the
	// order of its schema. There are at most MaxChanges; OmittedChanges counts the others.
	Changes        []Change
	OmittedChanges int
	// Report is that of the new CRD as an update of the old one, or as a creation if their names differ.
	Report *engine.Report
	// Identical reports whether both have the same canonical form, and so the same revision.
	Identical bool
	// SearchIncomplete reports whether the time of Counterexamples was over before all searches were complete.
	SearchIncomplete bool
}

// MaxChanges is the most changes that a Result lists.
const MaxChanges = compare.MaxChanges

// Compare returns the changes for stored objects and for clients if the new CRD replaced the old one. Both may be v1 or
// v1beta1. Versions are compared with those of the same name. The old CRD counts as registered and established and is
// not checked.
//
// The new CRD is judged as an update of the old one. The stored versions are those of the old one's status, or its
// storage version if it has no status. If o.Existing returns a CRD of the name, its status is used instead.
//
// The error is an *engine.Error for a manifest that exceeds a limit or is not a readable CRD. A rejected new CRD is
// compared as far as its form allows. If it cannot be decoded, there are no changes, and the Report says why.
func Compare(ctx context.Context, old, new engine.Document, o engine.Options) (_ *Result, err error) {
	defer host.Recover(&err)
	before, err := readOld(old, o.Limits)
	if err != nil {
		return nil, err
	}
	existing := before.existing(&o)
	o.Existing = func(name string) *engine.Existing {
		if name != before.crd.Name {
			return nil
		}
		return existing
	}
	r := &Result{Class: Compatible}
	if r.Report, err = engine.Check(ctx, new, o); err != nil {
		return nil, err
	}
	after, rejected, err := read(new, o.Limits)
	if err != nil {
		return nil, compiled.Error(err)
	}
	if rejected == nil { // else the report says why
		if err := r.fill(ctx, before, after, &o, existing.Status.StoredVersions); err != nil {
			return nil, err
		}
		after.doc.Release() // not deferred: after a panic it must not return to the pool
	}
	if !r.Report.Accepted {
		r.Class = Breaking
	}
	before.doc.Release() // as above
	return r, nil
}

// fill adds the changes to the Result.
func (r *Result) fill(ctx context.Context, old, new *manifest, o *engine.Options, stored []string) error {
	if r.Identical = bytes.Equal(old.canonical, new.canonical); r.Identical {
		return nil
	}
	found, err := compare.CRDs(ctx, old.crd, new.crd, compare.Options{
		Minor: cmp.Or(format.Minor(o.Kubernetes), format.LatestMinor), Most: MaxChanges, Stored: stored,
		OldPosition: old.position, NewPosition: new.position,
	})
	if err != nil {
		return compiled.Error(compiled.Failed(admission.Deadline, "the call ended before the CRDs were compared", err))
	}
	r.Class, r.Changes, r.OmittedChanges = found.Worst, found.Changes, found.Omitted
	return nil
}
