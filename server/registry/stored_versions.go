package registry

import (
	"context"
	"slices"
)

// SetStoredVersions replaces status.storedVersions, after a storage migration. Like an API server, it accepts any list, and
// an empty one becomes the storage version. If etag is not empty, the CRD must have it. The result has no report.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions, v1/defaults.go, SetDefaults_CustomResourceDefinition, and
// validation/validation.go, ValidateUpdateCustomResourceDefinitionStatus)
func (r *Registry) SetStoredVersions(
	ctx context.Context, catalogName, name string, versions []string, etag string,
) (Registration, error) {
	var outcome Outcome
	w, err := r.writeTo(ctx, catalogName, name, Precondition{Etag: etag}, func(_ *catalog, d *crd) (p proposal, err error) {
		record, status := d.record, *d.record.Status
		stored := slices.Clone(versions)
		if len(stored) == 0 {
			stored = []string{d.desired().StorageVersion}
		}
		if slices.Equal(stored, status.StoredVersions) {
			outcome = Unchanged
			return p, nil
		}
		outcome = Updated
		status.StoredVersions = stored
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
