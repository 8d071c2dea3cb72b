package main

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
)

// compare compares two CRDs and replays their objects, in as many requests as necessary.
func (s *service) compare(ctx context.Context, c *comparison) (*compared, error) {
	limits, err := s.Limits(ctx)
	if err != nil {
		return nil, s.fail(c.new.Name, err)
	}
	batch := max(1, int(limits.GetMaxBatchItems()))
	request := &crdevalv1.DiffCrdRequest{Catalog: s.catalog, Manifest: message.Document(c.new.Document), Crd: c.crd,
		Revision: c.revision, CounterexampleTries: int32(c.tries)} //nolint:gosec // of a flag
	if c.old != nil {
		request.Base = message.Document(c.old.Document)
	}
	done := &compared{}
	for objects := c.objects; done.diff == nil || len(objects) > 0; {
		part := objects[:min(batch, len(objects))]
		objects = objects[len(part):]
		request.Objects = nil
		for _, m := range part {
			request.Objects = append(request.Objects, message.Document(m.Document))
		}
		answer, err := s.Registry().DiffCrd(ctx, request)
		if err != nil {
			return nil, s.compareError(c, err)
		}
		for i, r := range answer.GetReplayResults() {
			locateAll(part[i], r.GetOldViolations(), r.GetNewViolations())
			done.replayed = append(done.replayed, r)
		}
		if done.diff == nil {
			answer.ReplayResults, request.CounterexampleTries = nil, 0
			done.diff = answer
		}
	}
	locateAll(c.new, done.diff.GetReport().GetViolations())
	for _, change := range done.diff.GetChanges() {
		change.OldPosition = locate(c.old, change.GetManifestPointer(), change.GetOldPosition())
		change.NewPosition = locate(c.new, change.GetManifestPointer(), change.GetNewPosition())
	}
	return done, nil
}

// compareError returns the error of a call. Without an old CRD in a file, it ends the run.
func (s *service) compareError(c *comparison, err error) error {
	if c.old == nil {
		return s.fail(c.new.Name, err)
	}
	at := c.brokenCRD()
	text, line, _ := at.Describe(s.manifestError(err))
	return &documentError{at, text, line}
}
