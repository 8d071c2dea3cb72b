package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
	"github.com/crdeval/crdeval/server/registry"
)

func (s *service) convert(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error) {
	client := s.client()
	results, err := client.Convert(ctx, version, textsOf(objects)...)
	if err != nil {
		return nil, s.fail("", err)
	}
	all := s.transformed(results)
	var items []*crdevalv1.WriteItem
	var of []int // indexes in all
	for i, t := range all {
		if t.err == nil && workspace.VersionOf(objects[i].APIVersion) != version {
			items, of = append(items, crdeval.Create(t.object)), append(of, i)
		}
	}
	verdicts, err := client.ValidateItems(ctx, items, message.ValidateOptions(validAtTarget))
	if err != nil {
		return nil, s.fail("", err)
	}
	for i, v := range verdicts {
		if v.Err == nil { // a version that is not served has no verdict
			all[of[i]].verdict = message.Verdict(v.Verdict)
		}
	}
	return all, nil
}

func (s *service) read(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error) {
	results, err := s.client().Read(ctx, version, textsOf(objects)...)
	if err != nil {
		return nil, s.fail("", err)
	}
	return s.transformed(results), nil
}

// textsOf returns objects as JSON.
func textsOf(objects []*workspace.Manifest) [][]byte {
	texts := make([][]byte, len(objects))
	for i, m := range objects {
		texts[i] = m.JSON()
	}
	return texts
}

func (s *service) transformed(results []crdeval.Transformed) []transformed {
	all := make([]transformed, len(results))
	for i, result := range results {
		t := &all[i]
		text, err := result.Result()
		switch {
		case err == nil:
			t.object, t.pruned = text, message.Changes(result.GetChanges().GetPruned())
		case result.Err == nil:
			t.err, t.rejected = err, true
			t.reasons = message.Violations(result.GetViolations())
		default:
			t.err = s.manifestError(err)
			if e := (*engine.Error)(nil); errors.As(t.err, &e) {
				e.Position = nil // in the JSON that was sent, not in the file
			}
			if engine.ReasonOf(t.err) == engine.Reason(registry.CRDNotFound) {
				t.err = errNoCRD
			}
		}
	}
	return all
}

func (s *service) storages(ctx context.Context) (all []storedCRD, _ error) {
	for token := ""; ; {
		page, err := s.Registry().ListCrds(ctx, &crdevalv1.ListCrdsRequest{Catalog: s.catalog, PageToken: token})
		if err != nil {
			return nil, s.fail("", err)
		}
		for _, crd := range page.GetCrds() {
			all = append(all, storedCRD{schema.GroupKind{Group: crd.GetGroup(), Kind: crd.GetNames().GetKind()},
				crd.GetName(), crd.GetStorageVersion(), crd.GetRevision()})
		}
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

func (s *service) setStoredVersion(ctx context.Context, crd, version string) error {
	_, err := s.SetStoredVersions(ctx, crd, version)
	return s.fail("set the stored versions of "+crd, err)
}
