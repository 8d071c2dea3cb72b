package registry

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine"
)

// maxStoredVersions bounds a list that may name a version more than once.
const maxStoredVersions = 1000

// SetStoredVersions says at which versions objects of a CRD may still be stored, after a migration: as an update of status.storedVersions. Each is one
// of the CRD's versions, and the storage version is among them. etag is a precondition
// if not empty. It returns the write's token, that of now if it changes nothing.
func (r *Registry) SetStoredVersions(ctx context.Context, catalog, name string, versions []string, etag string) (*CRD, string, error) {
	if len(versions) > maxStoredVersions {
		return nil, "", &Error{
			Reason: LimitExceeded, Message: fmt.Sprintf("stored_versions: %d are more than the limit max_stored_versions, which is %d", len(versions), maxStoredVersions),
			Metadata: map[string]string{"field": "stored_versions", "limit": "max_stored_versions", "maximum": fmt.Sprint(maxStoredVersions)},
		}
	}
	w, err := r.writeTo(ctx, catalog, name, etag, func(_ *snapshot, d *crd) (plan, error) {
		if errs := checkStoredVersions(versions, d.current().summary); len(errs) > 0 {
			return plan{}, &Error{
				Reason: InvalidArgument, Message: errs.ToAggregate().Error(), Metadata: map[string]string{"field": "stored_versions", "catalog": catalog, "crd": name},
			}
		}
		return r.storing(d, versions)
	})
	if err != nil {
		return nil, "", err
	}
	d, err := w.crd(catalog, name)
	if err != nil {
		return nil, "", err
	}
	return d.describe(d.current()), r.tag.token(w.sequence), nil
}

// storing plans the commit of another list of stored versions.
func (r *Registry) storing(d *crd, versions []string) (p plan, err error) {
	if slices.Equal(versions, d.record.Status.StoredVersions) {
		return p, nil
	}
	record, status := d.record.current(), *d.record.Status
	status.StoredVersions = slices.Clone(versions)
	record.Status, record.Etag, record.Updated = &status, newEtag(), r.now().UTC()
	p.expect(crdKey(d.catalog, d.name), d.version)
	err = p.put(crdKey(d.catalog, d.name), record, nil)
	return p, err
}

// checkStoredVersions finds what an API server finds with the next update of the CRD: as a write to the status it takes any list.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation, ValidateCustomResourceDefinitionStoredVersions)
func checkStoredVersions(stored []string, s *summary) (errs field.ErrorList) {
	path := field.NewPath("status", "storedVersions")
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(path, stored, "must have at least one stored version")}
	}
	if v := s.Standing.StorageVersion; !slices.Contains(stored, v) {
		errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v))
	}
	for i, v := range stored {
		known := slices.ContainsFunc(s.Versions, func(info engine.VersionInfo) bool { return info.Name == v })
		if !known && !slices.Contains(stored[i+1:], v) { // of equal ones the last is told
			errs = append(errs, field.Invalid(path.Index(i), v, fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, and must remain in "+
				"spec.versions until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", v)))
		}
	}
	return errs
}
