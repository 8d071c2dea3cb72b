package api

import (
	"context"

	"github.com/crdeval/crdeval/engine/diff"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// DiffCrd compares a CRD with a registered one or with another manifest.
func (s *registryService) DiffCrd(ctx context.Context, r *crdevalv1.DiffCrdRequest) (*crdevalv1.DiffCrdResponse, error) {
	c, err := comparison(ctx, r)
	if err != nil {
		return nil, err
	}
	done, err := s.registry.Compare(ctx, r.GetCatalog(), c, r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	m := DiffMessage(done.Diff, done.Counterexamples)
	m.Report, m.Base = report(done.Report), crd(done.Base, false)
	var b budget
	b.reset(s.limits.maxDocumentBytes(), len(done.Replayed)*reservedErrorBytes)
	for i := range done.Replayed {
		result := ReplayMessage(&done.Replayed[i])
		if err := done.Replayed[i].Err; err != nil {
			result.Error = s.faults.status(ctx, err)
		}
		if !b.takeBeyond(result, reservedErrorBytes) {
			result = &crdevalv1.ReplayResult{Error: s.faults.status(ctx, b.exceeded())}
		}
		m.ReplayResults = append(m.ReplayResults, result)
	}
	return m, nil
}

// DiffMessage returns the message of a comparison with the counterexamples of its changes.
func DiffMessage(d *diff.Result, counterexamples []diff.Counterexample) *crdevalv1.DiffCrdResponse {
	m := &crdevalv1.DiffCrdResponse{
		ChangeClass: changeClasses[d.Class], Changes: convertAll(d.Changes, crdChange), OmittedChanges: int32(d.OmittedChanges),
		Identical: d.Identical, SearchIncomplete: d.SearchIncomplete,
	}
	for i := range counterexamples {
		c := &counterexamples[i]
		m.Changes[c.Change].Counterexample = changeCounterexample(c)
	}
	if d.Report != nil {
		m.Accepted, m.Report = d.Report.Accepted, ReportMessage(d.Report)
	}
	return m
}

// comparison checks and converts the manifests and objects of a request.
func comparison(ctx context.Context, r *crdevalv1.DiffCrdRequest) (c registry.Comparison, err error) {
	c = registry.Comparison{Name: r.GetCrd(), Revision: r.GetRevision(), Tries: int(r.GetCounterexampleTries())}
	if c.New, err = givenManifest(call.Of(ctx).Origins, r.GetManifest()); err != nil {
		return c, err
	}
	if c.Base, err = givenManifest(call.Of(ctx).Origins, r.GetBase()); err != nil {
		return c, err
	}
	const exclude = "%s and base exclude each other: compare with a registered CRD or with a manifest"
	switch hasBase := r.GetBase() != nil; {
	case c.New.Absent():
		return c, invalid("manifest", "manifest is required: the new CustomResourceDefinition")
	case c.Tries < 0 || c.Tries > maxCounterexampleTries:
		return c, invalid("counterexample_tries", "counterexample_tries is %d: it must be from 0 to %d", c.Tries,
			maxCounterexampleTries)
	case hasBase && c.Base.Absent():
		return c, invalid("base", "base is empty: set it to JSON or YAML, or leave it out to compare with a registered CRD")
	case hasBase && c.Name != "":
		return c, invalid("crd", exclude, "crd")
	case hasBase && c.Revision != "":
		return c, invalid("revision", exclude, "revision")
	}
	c.Objects, err = givenList(ctx, "objects", r.GetObjects())
	return c, err
}

// maxCounterexampleTries bounds DiffCrdRequest.counterexample_tries.
const maxCounterexampleTries = 100_000

func changeCounterexample(c *diff.Counterexample) *crdevalv1.ChangeCounterexample {
	m := &crdevalv1.ChangeCounterexample{Tries: int32(c.Tries), NoObjectReason: valid(c.NoObject)}
	if c.Found != nil {
		m.Object, m.OldObject = JSON(c.Found.Object), JSON(c.Found.OldObject)
		m.Rejection, m.Violations = rejection(c.Found.New.Rejection), violations(c.Found.New.Violations)
		m.Subresource = c.Found.Subresource
		if c.Alone != nil {
			m.HiddenViolations = violations(c.Alone.Violations)
		}
		for _, field := range c.Ignored {
			m.IgnoredFields = append(m.IgnoredFields, valid(field))
		}

	}
	return m
}

var changeClasses = map[diff.Class]crdevalv1.ChangeClass{
	diff.Compatible: crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE,
	diff.NeedsCare:  crdevalv1.ChangeClass_CHANGE_CLASS_NEEDS_CARE,
	diff.Breaking:   crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING,
}

var changeSides = map[diff.Side]crdevalv1.ChangeSide{
	diff.StoredObjects: crdevalv1.ChangeSide_CHANGE_SIDE_STORED_OBJECTS,
	diff.Clients:       crdevalv1.ChangeSide_CHANGE_SIDE_CLIENTS,
	diff.BothSides:     crdevalv1.ChangeSide_CHANGE_SIDE_BOTH,
}

func crdChange(c *diff.Change) *crdevalv1.CrdChange {
	return &crdevalv1.CrdChange{
		ChangeClass: changeClasses[c.Class], Side: changeSides[c.Side], Stored: changeClasses[c.Stored],
		Writers: changeClasses[c.Writers], Readers: changeClasses[c.Readers], Kind: c.Kind, Version: valid(c.Version),
		SchemaPointer: valid(c.SchemaPointer), ManifestPointer: valid(c.ManifestPointer), Message: valid(c.Message),
		OldValue: JSON(c.Old), NewValue: JSON(c.New),
		OldPosition: position(c.OldPosition), NewPosition: position(c.NewPosition),
	}
}

var replayOutcomes = map[diff.Outcome]crdevalv1.ReplayOutcome{
	diff.Same:               crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME,
	diff.NewlyRejected:      crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED,
	diff.KeptByRatcheting:   crdevalv1.ReplayOutcome_REPLAY_OUTCOME_KEPT_BY_RATCHETING,
	diff.NewlyAccepted:      crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_ACCEPTED,
	diff.PrunedOtherwise:    crdevalv1.ReplayOutcome_REPLAY_OUTCOME_PRUNED_DIFFERENTLY,
	diff.DefaultedOtherwise: crdevalv1.ReplayOutcome_REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY,
	diff.ConvertedOtherwise: crdevalv1.ReplayOutcome_REPLAY_OUTCOME_CONVERTED_DIFFERENTLY,
}

// ReplayMessage returns the message of a replay, without its error.
func ReplayMessage(r *diff.ReplayResult) *crdevalv1.ReplayResult {
	m := &crdevalv1.ReplayResult{
		OldAllowed: r.OldAllowed, NewAllowed: r.NewAllowed, OldViolations: violations(r.OldViolations),
		NewViolations: violations(r.NewViolations), NewRejection: rejection(r.NewRejection), OmittedDifferences: int32(r.OmittedDifferences),
	}
	for _, o := range r.Outcomes {
		m.Outcomes = append(m.Outcomes, replayOutcomes[o])
	}
	for _, d := range r.Differences {
		m.Differences = append(m.Differences, &crdevalv1.FieldDifference{
			Outcome: replayOutcomes[d.Outcome], Version: valid(d.Version), Path: valid(d.Path), Pointer: valid(d.Pointer),
			OldValue: JSON(d.Old), NewValue: JSON(d.New),
		})
	}
	return m
}
