package kubeserver

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// FieldManagement is what server-side apply needs for one version of a CRD besides its schema (publish.OpenAPI.Models).
// With both, a server can run upstream's field manager (k8s.io/apimachinery/pkg/util/managedfields).
type FieldManagement struct {
	// APIVersion is the version: stable.example.com/v1.
	APIVersion string
	// ResetFields are the fields that a write cannot set, so that its manager does not own them: first of writes to the
	// object, then of writes to its status. Writes to scale have no such fields.
	ResetFields []ResetFields
	// ReplicasPaths are, for each version in the order of the manifest, the paths of the replicas of the scale
	// subresource.
	ReplicasPaths []ReplicasPath
}

// ResetFields are the fields that a write to a subresource resets in the managed fields of one version.
type ResetFields struct {
	// Subresource is "" for the object itself, or status.
	Subresource string
	// APIVersion is that of the managed fields.
	APIVersion string
	// Fields are the fields in the format of metadata.managedFields (FieldsV1): {"f:status":{}}.
	Fields []byte

	set *fieldpath.Set
}

// NewResetFields returns ResetFields that another process has sent. The error says that the fields are not FieldsV1.
func NewResetFields(subresource, apiVersion string, fields []byte) (ResetFields, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(fields)); err != nil {
		return ResetFields{}, fmt.Errorf("reset fields of %s: %w", apiVersion, err)
	}
	return ResetFields{Subresource: subresource, APIVersion: apiVersion, Fields: fields, set: set}, nil
}

// ReplicasPath is the path of the replicas in one version.
type ReplicasPath struct {
	// APIVersion is the version: stable.example.com/v1.
	APIVersion string
	// Fields are the names on the path, [spec replicas], nil for a version without a scale subresource.
	Fields []string
}

// FieldManagementOf returns the FieldManagement of a served version. If the version has the status subresource, a write
// to the object resets the status. A write to the status resets metadata and spec of every version with that
// subresource that is served or stored.
func FieldManagementOf(d *engine.Definition, version string) (_ FieldManagement, err error) {
	defer host.Recover(&err)
	c := compiled.Of(d)
	v, err := c.Served(version)
	if err != nil {
		return FieldManagement{}, compiled.Error(err)
	}
	m := FieldManagement{APIVersion: v.APIVersion}
	add := func(subresource string, of *admission.Version, set *fieldpath.Set) {
		fields, _ := set.ToJSON() // cannot fail: the set has names only
		m.ResetFields = append(m.ResetFields, ResetFields{Subresource: subresource, APIVersion: of.APIVersion, Fields: fields, set: set})
	}
	if v.HasStatus {
		add("", v, resetByObject)
	}
	for _, other := range c.Inner.Versions {
		if v.HasStatus && other.HasStatus && (other.Served || other.Name == d.StorageVersion()) {
			add("status", other, resetByStatus)
		}
	}
	for _, other := range c.Inner.Versions {
		p := ReplicasPath{APIVersion: other.APIVersion}
		if other.Scale != nil {
			p.Fields = slices.Clone(other.Scale.SpecReplicas.Names) // the caller may modify it
		}
		m.ReplicasPaths = append(m.ReplicasPaths, p)
	}
	return m, nil
}

// Sets returns the ResetFields of a subresource by API version, for upstream's field manager. The sets must not be
// modified.
func (m *FieldManagement) Sets(subresource string) map[fieldpath.APIVersion]*fieldpath.Set {
	sets := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, r := range m.ResetFields {
		if r.Subresource == subresource {
			sets[fieldpath.APIVersion(r.APIVersion)] = r.set
		}
	}
	return sets
}

// Mappings returns the ReplicasPaths for upstream's managedfields.ScaleHandler.
func (m *FieldManagement) Mappings() map[string]fieldpath.Path {
	mappings := make(map[string]fieldpath.Path, len(m.ReplicasPaths))
	for _, p := range m.ReplicasPaths {
		mappings[p.APIVersion] = nil
		if p.Fields != nil {
			mappings[p.APIVersion] = fieldsPath(p.Fields)
		}
	}
	return mappings
}

// What a write to the object, and one to its status, resets to what was stored before. Read-only.
//
// Upstream: registry/customresource/strategy.go and status_strategy.go, GetResetFields.
var (
	resetByObject = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	resetByStatus = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
)

// fieldsPath returns the path of a field by the names that lead to it.
func fieldsPath(names []string) fieldpath.Path {
	path := make(fieldpath.Path, 0, len(names))
	for _, name := range names {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}
