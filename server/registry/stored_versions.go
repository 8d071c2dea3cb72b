package registry

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine"
)

// maxStoredVersions bounds a list that may contain a version several times.
const maxStoredVersions = 1000

// SetStoredVersions replaces status.storedVersions, after a storage migration. Each version must be one of the CRD's,
// and the storage version must be included. If etag is not empty, the CRD must have it. The result has no report.
func (r *Registry) SetStoredVersions(
	ctx context.Context, catalogName, name string, versions []string, etag string,
) (Registration, error) {
	if len(versions) > maxStoredVersions {
		return Registration{}, errorf(LimitExceeded,
			metadata{"field": "stored_versions", "limit": "max_stored_versions", "maximum": fmt.Sprint(maxStoredVersions)},
			"stored_versions: %d are more than the limit max_stored_versions, which is %d", len(versions), maxStoredVersions)
	}
	var outcome Outcome
	w, err := r.writeTo(ctx, catalogName, name, etag, func(_ *catalog, d *crd) (p proposal, err error) {
		if errs := checkStoredVersions(versions, d.current().summary); len(errs) > 0 {
			return p, errorf(InvalidArgument, metadata{"field": "stored_versions", "catalog": catalogName, "crd": name},
				"%s", errs.ToAggregate())
		}
		record, status := d.record, *d.record.Status
		if slices.Equal(versions, status.StoredVersions) {
			outcome = Unchanged
			return p, nil
		}
		outcome = Updated
		status.StoredVersions = slices.Clone(versions)
		record.Status, record.Etag, record.Updated = &status, newEtag(), r.Now().UTC()
		p.expect(crdKey(catalogName, name), d.version)
		return p, p.put(crdKey(catalogName, name), record, nil)
	})
	if err != nil {
		return Registration{}, err
	}
	d, err := w.crd(catalogName, name)
	if err != nil {
		return Registration{}, err
	}
	return Registration{CRD: d.describe(d.current()), Outcome: outcome, Token: r.tag.token(w.sequence)}, nil
}

// checkStoredVersions returns the errors that an API server returns for the next update of the CRD. It accepts any list
// as a write to the status. (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation,
// ValidateCustomResourceDefinitionStoredVersions)
func checkStoredVersions(stored []string, s *summary) (errs field.ErrorList) {
	path := field.NewPath("status", "storedVersions")
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(path, stored, "must have at least one stored version")}
	}
	if v := s.Desired.StorageVersion; !slices.Contains(stored, v) {
		errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v))
	}
	for i, v := range stored {
		known := slices.ContainsFunc(s.Versions, func(info engine.VersionInfo) bool { return info.Name == v })
		if !known && !slices.Contains(stored[i+1:], v) { // upstream reports the last of equal versions
			errs = append(errs, field.Invalid(path.Index(i), v, fmt.Sprintf(
				"missing from spec.versions; %[1]s was previously a storage version, and must remain in spec.versions until "+
					"a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from "+
					"status.storedVersions", v)))
		}
	}
	return errs
}
