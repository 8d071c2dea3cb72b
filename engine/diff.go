package engine

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// Change is one difference between two CRDs.
type Change = compare.Change

// ChangeClass says how severe the effect of a change is. Classes are ordered.
type ChangeClass = compare.Class

// The classes, from the least to the most severe.
const (
	Compatible = compare.Compatible // nothing that worked is affected
	NeedsCare  = compare.NeedsCare  // nothing is rejected or lost at once, but stored objects or clients may be affected
	Breaking   = compare.Breaking   // something that worked is rejected or lost
)

// ChangeSide says what the class of a change concerns.
type ChangeSide = compare.Side

// The sides.
const (
	StoredObjects = compare.StoredObjects // objects in storage
	Clients       = compare.Clients       // programs that write or read objects
	BothSides     = compare.BothSides
)

// Diff is the result of Compare.
type Diff struct {
	// Class is the most severe class of all changes, including the omitted ones. It is Breaking if the Report rejects
	// the new CRD, and Compatible if there are no changes.
	Class ChangeClass
	// Changes are ordered: first what all versions share, then the versions by priority in the new CRD, each in the
	// order of its schema. There are at most MaxChanges; OmittedChanges counts the others.
	Changes        []Change
	OmittedChanges int
	// Report is that of the new CRD as an update of the old one, or as a creation if their names differ.
	Report *Report
	// Identical reports whether both have the same canonical form, and so the same revision.
	Identical bool
	// SearchIncomplete reports whether the time of Counterexamples was over before all searches were complete.
	SearchIncomplete bool
}

// MaxChanges is the most changes that a Diff lists.
const MaxChanges = 1000

// Compare returns the changes for stored objects and for clients if the new CRD replaced the old one. Both may be v1 or
// v1beta1. Versions are compared with those of the same name. The old CRD counts as registered and established and is
// not checked.
//
// The new CRD is judged as an update of the old one. The stored versions are those of the old one's status, or its
// storage version if it has no status. If o.Existing returns a CRD of the name, its status is used instead.
//
// The error is an *Error for a manifest that exceeds a limit or is not a readable CRD. A rejected new CRD is compared
// as far as its form allows. If it cannot be decoded, there are no changes, and the Report says why.
func Compare(ctx context.Context, old, new Document, o Options) (_ *Diff, err error) {
	defer Recover(&err)
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	before, err := readCompared(old, "old CRD", o.Limits)
	if err != nil {
		return nil, err
	}
	if before.crd == nil {
		return nil, failed(ReasonManifestUnreadable, "old CRD", before.decodeError)
	}
	after, err := readCompared(new, "manifest", o.Limits)
	if err != nil {
		return nil, err
	}
	existing := before.existing(o)
	o.Existing = func(name string) *Existing {
		if name != before.crd.Name {
			return nil
		}
		return existing
	}
	diff := &Diff{Class: Compatible}
	if diff.Report, err = Check(ctx, new, o); err != nil {
		return nil, err
	}
	if after.crd != nil {
		if err := diff.fill(ctx, before, after, o, existing.Status.StoredVersions); err != nil {
			return nil, err
		}
	}
	if !diff.Report.Accepted {
		diff.Class = Breaking
	}
	before.doc.Release() // not deferred: after a panic it must not return to the pool
	after.doc.Release()
	return diff, nil
}

// ExistingFrom reads a CRD as a registered and established one, from a manifest or from the output of kubectl get -o
// yaml, with the stored versions of its status, and whether it is being deleted. It does not judge the CRD. Errors are
// those of Compare.
func ExistingFrom(manifest Document, l Limits) (name string, existing *Existing, err error) {
	defer Recover(&err)
	c, err := readCompared(manifest, "manifest", l)
	if err != nil {
		return "", nil, err
	}
	if c.crd == nil {
		return "", nil, failed(ReasonManifestUnreadable, "manifest", c.decodeError)
	}
	existing = c.existing(Options{})
	c.doc.Release() // not deferred: after a panic it must not return to the pool
	return c.crd.Name, existing, nil
}

// fill adds the changes to the Diff.
func (diff *Diff) fill(ctx context.Context, old, new *compared, o Options, stored []string) error {
	if diff.Identical = bytes.Equal(old.canonical, new.canonical); diff.Identical {
		return nil
	}
	minor := cmp.Or(o.KubernetesMinor, LatestMinor)
	found, err := compare.CRDs(ctx, old.crd, new.crd, compare.Options{
		Minor: minor, Most: MaxChanges, Stored: stored, OldPosition: old.position, NewPosition: new.position,
	})
	if err != nil {
		return failed(ReasonItemDeadline, "the call ended before the CRDs were compared", err)
	}
	diff.Class, diff.Changes, diff.OmittedChanges = found.Worst, found.Changes, found.Omitted
	return nil
}

// compared is one of the two manifests of a comparison.
type compared struct {
	doc         *value.Doc
	root        uint32 // 0 if the text has no tree
	finder      *value.Finder
	crd         *apiextensionsv1.CustomResourceDefinition // nil if it could not be decoded
	decodeError error
	canonical   []byte
}

// readCompared reads and decodes a manifest. Errors call it what.
func readCompared(manifest Document, what string, l Limits) (_ *compared, err error) {
	c := &compared{doc: value.Acquire()}
	defer func() {
		if err == nil {
			return
		}
		c.doc.Release()
		if what != "manifest" {
			err = within(what, err)
		}
	}()
	source := definition.Source{Doc: c.doc}
	m, err := compiled.DecodeManifest(&source, compiled.Document(manifest), l)
	if c.root = source.Root; c.root != 0 {
		c.finder = c.doc.Finder()
	}
	if err != nil {
		c.decodeError = err
		_, _, err = undecodable(&source, err)
		return c, err
	}
	c.crd = m.CRD
	if c.canonical, err = schema.Canonical(c.crd); err != nil {
		return nil, &Error{Reason: ReasonManifestUnreadable, Message: err.Error(), Err: err}
	}
	return c, nil
}

// existing returns the CRD as a registered one: with the status that the options know, or else that of the manifest.
func (c *compared) existing(o Options) *Existing {
	if o.Existing != nil {
		if e := o.Existing(c.crd.Name); e != nil {
			known := *e
			known.Manifest = c.canonical
			return &known
		}
	}
	e := &Existing{Manifest: c.canonical, Generation: max(1, c.crd.Generation), Terminating: !c.crd.DeletionTimestamp.IsZero()}
	e.Status.AcceptedNames = c.crd.Spec.Names
	for _, t := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		e.Status.Conditions = append(e.Status.Conditions, Condition{Type: t, Status: apiextensionsv1.ConditionTrue})
	}
	if s := schema.Storage(c.crd); s != nil {
		e.Status.StoredVersions = []string{s.Name}
	}
	for _, condition := range c.crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Terminating && condition.Status == apiextensionsv1.ConditionTrue {
			e.Terminating = true
		}
	}
	for _, name := range c.crd.Status.StoredVersions { // decoding adds the storage version to an empty list
		if !slices.Contains(e.Status.StoredVersions, name) && schema.Find(c.crd, name) != nil {
			e.Status.StoredVersions = append(e.Status.StoredVersions, name)
		}
	}
	return e
}

// position returns the position of a path of the CRD in the manifest, or that of its nearest parent there. What all
// versions share is outside of spec.versions in a v1beta1 manifest.
func (c *compared) position(path value.Path) *Position {
	if c.root == 0 {
		return nil
	}
	node, depth := c.finder.Deepest(c.root, path)
	const prefix = 3 // spec, versions, the index
	if len(path) > prefix && depth < len(path) && path[1].Key() == "versions" {
		shared := append(value.Path{value.Name("spec")}, path[prefix:]...)
		if path[prefix].Key() == "schema" {
			shared[1] = value.Name("validation")
		}
		if n, d := c.finder.Deepest(c.root, shared); d > depth {
			path, node, depth = shared, n, d
		}
	}
	position := c.doc.PositionOf(node, path[:depth])
	if position == (Position{}) {
		return nil
	}
	return &position
}
