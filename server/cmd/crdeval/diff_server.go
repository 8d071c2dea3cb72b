package main

import (
	"context"
	"encoding/json"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// compareRegistered compares every CRD of the file with what a service has registered.
func (c *diffCommand) compareRegistered(ctx context.Context, env environment, objects []object) ([]*difference, error) {
	new, err := crds(c.Files[0], env)
	if err != nil {
		return nil, err
	}
	client, err := dial(c.Server, c.Catalog, c.Token, &c.tlsFlags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	info, err := client.Server().GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	if err != nil {
		return nil, told(c.Server, "", err)
	}
	most := max(1, int(info.GetLimits().GetMaxBatchItems()))
	var all []*difference
	for i := range new {
		d, err := c.pairRegistered(ctx, client, &new[i], objects, most)
		if err != nil {
			return nil, told(c.Server, new[i].Metadata.Name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// dial prepares a client of a service about a catalog.
func dial(address, catalog, token string, secured *tlsFlags) (*crdeval.Client, error) {
	config, err := secured.config()
	if err != nil {
		return nil, err
	}
	options := []crdeval.Option{crdeval.WithCatalog(catalog)}
	if config != nil {
		options = append(options, crdeval.WithTLS(config))
	}
	if token != "" {
		options = append(options, crdeval.WithToken(token))
	}
	return crdeval.Dial(dialTarget(address), options...)
}

// pairRegistered compares a CRD with the registered one. The objects go in as many calls as it takes; the first one's changes are told.
func (c *diffCommand) pairRegistered(ctx context.Context, client *crdeval.Client, n *object, objects []object, most int) (*difference, error) {
	var own []*object
	for i := range objects {
		if objects[i].of(&n.identity) {
			own = append(own, &objects[i])
		}
	}
	d := newDifference(n.Metadata.Name, "", n.where())
	d.new, d.kind, d.foreign = &n.source, n.Spec.Names.Kind, len(objects)-len(own)
	for first := true; first || len(own) > 0; first = false {
		part := own[:min(most, len(own))]
		own = own[len(part):]
		request := &crdevalv1.DiffCrdRequest{Catalog: c.Catalog, Manifest: sent(n.Document), Crd: c.CRD, Revision: c.Revision}
		for _, o := range part {
			request.Objects = append(request.Objects, sent(o.Document))
		}
		answer, err := client.Registry().DiffCrd(ctx, request)
		if err != nil {
			return nil, err
		}
		if first {
			d.answered(answer)
		}
		for i, r := range answer.GetReplayResults() {
			if i < len(part) {
				d.Replayed = append(d.Replayed, replayedOf(part[i], replayedAt(r)))
			}
		}
	}
	return d, nil
}

// sent is a document on its way.
func sent(d engine.Document) *crdevalv1.Document {
	if d.YAML != nil {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: d.YAML}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: d.JSON}}
}

// received is a value on its way back, nil if there is none.
func received(d *crdevalv1.Document) json.RawMessage {
	if d == nil {
		return nil
	}
	return d.GetJson()
}

var sentClasses = map[crdevalv1.ChangeClass]engine.ChangeClass{
	crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE: engine.Compatible,
	crdevalv1.ChangeClass_CHANGE_CLASS_NEEDS_CARE: engine.NeedsCare,
	crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING:   engine.Breaking,
}

var sentOutcomes = map[crdevalv1.ReplayOutcome]engine.ReplayOutcome{
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME:                  engine.Same,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED:        engine.NewlyRefused,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_KEPT_BY_RATCHETING:    engine.KeptByRatcheting,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_ACCEPTED:        engine.NewlyAccepted,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_PRUNED_DIFFERENTLY:    engine.PrunedOtherwise,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY: engine.DefaultedOtherwise,
	crdevalv1.ReplayOutcome_REPLAY_OUTCOME_CONVERTED_DIFFERENTLY: engine.ConvertedOtherwise,
}

// answered takes down what a service says of the changes.
func (d *difference) answered(a *crdevalv1.DiffCrdResponse) {
	d.Old = a.GetBase().GetRevision()
	found := &engine.Diff{Class: sentClasses[a.GetChangeClass()], Identical: a.GetIdentical(), OmittedChanges: int(a.GetOmittedChanges())}
	for _, c := range a.GetChanges() {
		found.Changes = append(found.Changes, engine.Change{
			Class: sentClasses[c.GetChangeClass()], Stored: sentClasses[c.GetStored()], Writers: sentClasses[c.GetWriters()], Readers: sentClasses[c.GetReaders()],
			Kind: engine.ChangeKind(c.GetKind()), Version: c.GetVersion(), SchemaPointer: c.GetSchemaPointer(), ManifestPointer: c.GetManifestPointer(),
			Message: c.GetMessage(), Old: received(c.GetOldValue()), New: received(c.GetNewValue()), NewPosition: positionAt(c.GetNewPosition()),
		})
	}
	report := &engine.Report{
		Accepted: a.GetAccepted(), Warnings: a.GetReport().GetWarnings(), Violations: violationsAt(a.GetReport().GetViolations()),
		Refusal: refusalAt(a.GetReport().GetRejection()),
	}
	d.report(report)
	d.take(found)
}

func refusalAt(r *crdevalv1.Rejection) *engine.Refusal {
	if r == nil {
		return nil
	}
	return &engine.Refusal{Code: r.GetCode(), Reason: r.GetReason(), Message: r.GetMessage()}
}

func positionAt(p *crdevalv1.Position) *engine.Position {
	if p == nil {
		return nil
	}
	return &engine.Position{Line: int(p.GetLine()), Column: int(p.GetColumn()), Offset: int(p.GetOffset())}
}

func violationsAt(list []*crdevalv1.Violation) []engine.Violation {
	var all []engine.Violation
	for _, v := range list {
		all = append(all, engine.Violation{
			Type: v.GetType(), Field: v.GetField(), Message: v.GetMessage(), Detail: v.GetDetail(), BadValue: received(v.GetBadValue()),
			Pointer: v.GetPointer(), SchemaPointer: v.GetSchemaPointer(), Position: positionAt(v.GetPosition()),
		})
	}
	return all
}

func replayedAt(r *crdevalv1.ReplayResult) *engine.Replayed {
	out := &engine.Replayed{
		OldAllowed: r.GetOldAllowed(), NewAllowed: r.GetNewAllowed(), OldViolations: violationsAt(r.GetOldViolations()), NewViolations: violationsAt(r.GetNewViolations()),
		NewRefusal: refusalAt(r.GetNewRejection()), OmittedDifferences: int(r.GetOmittedDifferences()),
	}
	for _, o := range r.GetOutcomes() {
		out.Outcomes = append(out.Outcomes, sentOutcomes[o])
	}
	for _, f := range r.GetDifferences() {
		out.Differences = append(out.Differences, engine.FieldDifference{
			Outcome: sentOutcomes[f.GetOutcome()], Version: f.GetVersion(), Path: f.GetPath(), Pointer: f.GetPointer(),
			Old: received(f.GetOldValue()), New: received(f.GetNewValue()),
		})
	}
	if e := r.GetError(); e != nil {
		out.Err = &engine.Error{Message: e.GetMessage()}
	}
	return out
}
