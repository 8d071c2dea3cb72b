package registry

import "context"

// SetStoredVersions says at which versions objects of a CRD may still be stored, after a migration: as an update of status.storedVersions. Each is one
// of the CRD's versions, and the storage version is among them. etag is a precondition if not empty.
func (r *Registry) SetStoredVersions(ctx context.Context, catalog, name string, versions []string, etag string) (*CRD, string, error) {
	return nil, "", errNotYet
}
