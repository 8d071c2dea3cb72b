package api

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// DiffCrd compares a CRD with a registered or another one.
func (s *registryService) DiffCrd(ctx context.Context, r *crdevalv1.DiffCrdRequest) (*crdevalv1.DiffCrdResponse, error) {
	if len(r.GetObjects()) > s.limits.MaxBatchItems { // first of all: the codec has cut off what follows
		return nil, s.faults.call(ctx, tooMany("objects", "max_batch_items", s.limits.MaxBatchItems))
	}
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	c, err := comparison(r)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	done, err := s.registry.Compare(ctx, r.GetCatalog(), c, r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.DiffCrdResponse{
		ChangeClass: classes[done.Diff.Class], Changes: crdChanges(done.Diff.Changes), OmittedChanges: int32(done.Diff.OmittedChanges),
		Identical: done.Diff.Identical, Base: crd(done.Base, false),
	}
	if done.Diff.Report != nil {
		answer.Accepted, answer.Report = done.Diff.Report.Accepted, report(done.Diff.Report)
	}
	room := budget{}
	room.reset(s.limits.MaxMessageBytes-s.limits.MaxMessageBytes/roomForFields, len(done.Replayed))
	for i := range done.Replayed {
		answer.ReplayResults = append(answer.ReplayResults, s.replayed(ctx, &room, &done.Replayed[i]))
	}
	return answer, nil
}

// comparison checks what a request compares.
func comparison(r *crdevalv1.DiffCrdRequest) (registry.Comparison, error) {
	c := registry.Comparison{New: given(r.GetManifest()), Base: given(r.GetBase()), Name: r.GetCrd(), Revision: r.GetRevision()}
	switch {
	case c.New.Absent():
		return c, invalid("manifest", "manifest is required: the new CustomResourceDefinition")
	case r.GetBase() != nil && c.Base.Absent():
		return c, invalid("base", "base is there and empty: give it JSON or YAML, or leave it out to compare with a registered CRD")
	case r.GetBase() != nil && c.Name != "":
		return c, invalid("crd", "crd and base exclude each other: compare with a registered CRD or with a manifest")
	case r.GetBase() != nil && c.Revision != "":
		return c, invalid("revision", "revision and base exclude each other: compare with a registered CRD or with a manifest")
	}
	for i, o := range r.GetObjects() {
		object := given(o)
		if object.Absent() {
			return c, invalid("objects", "objects[%d] is empty: give it JSON or YAML", i)
		}
		c.Objects = append(c.Objects, object)
	}
	return c, nil
}

var classes = map[engine.ChangeClass]crdevalv1.ChangeClass{
	engine.Compatible: crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE,
	engine.NeedsCare:  crdevalv1.ChangeClass_CHANGE_CLASS_NEEDS_CARE,
	engine.Breaking:   crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING,
}

var sides = map[engine.ChangeSide]crdevalv1.ChangeSide{
	engine.StoredObjects: crdevalv1.ChangeSide_CHANGE_SIDE_STORED_OBJECTS,
	engine.Clients:       crdevalv1.ChangeSide_CHANGE_SIDE_CLIENTS,
	engine.BothSides:     crdevalv1.ChangeSide_CHANGE_SIDE_BOTH,
}

func crdChanges(list []engine.Change) []*crdevalv1.CrdChange {
	all := make([]*crdevalv1.CrdChange, len(list))
	for i := range list {
		c := &list[i]
		all[i] = &crdevalv1.CrdChange{
			ChangeClass: classes[c.Class], Side: sides[c.Side], Stored: classes[c.Stored], Writers: classes[c.Writers], Readers: classes[c.Readers],
			Kind: string(c.Kind), Version: valid(c.Version), SchemaPointer: valid(c.SchemaPointer), ManifestPointer: valid(c.ManifestPointer),
			Message: valid(c.Message), OldValue: json(c.Old), NewValue: json(c.New), OldPosition: position(c.OldPosition), NewPosition: position(c.NewPosition),
		}
	}
	return all
}

var replayOutcomes = map[engine.ReplayOutcome]crdevalv1.ReplayOutcome{
	engine.Same:               crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME,
	engine.NewlyRejected:      crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED,
	engine.KeptByRatcheting:   crdevalv1.ReplayOutcome_REPLAY_OUTCOME_KEPT_BY_RATCHETING,
	engine.NewlyAccepted:      crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_ACCEPTED,
	engine.PrunedOtherwise:    crdevalv1.ReplayOutcome_REPLAY_OUTCOME_PRUNED_DIFFERENTLY,
	engine.DefaultedOtherwise: crdevalv1.ReplayOutcome_REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY,
	engine.ConvertedOtherwise: crdevalv1.ReplayOutcome_REPLAY_OUTCOME_CONVERTED_DIFFERENTLY,
}

// replayed spells what became of an object, or that the answer has no room for it.
func (s *registryService) replayed(ctx context.Context, room *budget, r *engine.ReplayResult) *crdevalv1.ReplayResult {
	m := &crdevalv1.ReplayResult{
		OldAllowed: r.OldAllowed, NewAllowed: r.NewAllowed, OldViolations: violations(r.OldViolations), NewViolations: violations(r.NewViolations),
		NewRejection: refusal(r.NewRejection), OmittedDifferences: int32(r.OmittedDifferences),
	}
	for _, o := range r.Outcomes {
		m.Outcomes = append(m.Outcomes, replayOutcomes[o])
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		m.Differences = append(m.Differences, &crdevalv1.FieldDifference{
			Outcome: replayOutcomes[d.Outcome], Version: valid(d.Version), Path: valid(d.Path), Pointer: valid(d.Pointer), OldValue: json(d.Old), NewValue: json(d.New),
		})
	}
	if r.Err != nil {
		m.Error = s.faults.status(ctx, r.Err)
	}
	if room.takeBeyond(m, errorRoom) {
		return m
	}
	return &crdevalv1.ReplayResult{Error: s.faults.status(ctx, room.none())}
}
