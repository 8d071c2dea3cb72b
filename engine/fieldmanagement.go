package engine

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// FieldManagement is what server-side apply must know of one version of a CRD beside its schema, which OpenAPIV3 has: with both, a server can run
// upstream's own field manager (k8s.io/apimachinery/pkg/util/managedfields).
type FieldManagement struct {
	// APIVersion is the version, stable.example.com/v1.
	APIVersion string
	// ResetFields are the fields that a write does not set whatever it sends, so that nobody comes to own them by it: of writes to the object,
	// then of writes to its status. Writes to scale have none.
	ResetFields []ResetFields
	// ReplicasPaths say for each version of the CRD, in the order of its manifest, where the replicas are that its scale subresource shows.
	ReplicasPaths []ReplicasPath
}

// ResetFields are fields that a write to a subresource resets in managed fields of one version.
type ResetFields struct {
	// Subresource is "" for the object itself, or status.
	Subresource string
	// APIVersion is that of the managed fields.
	APIVersion string
	// Fields are the fields as metadata.managedFields has them (FieldsV1): {"f:status":{}}.
	Fields []byte

	set *fieldpath.Set
}

// ReplicasPath is the place of the replicas of one version.
type ReplicasPath struct {
	// APIVersion is the version, stable.example.com/v1.
	APIVersion string
	// Fields are the names that lead there, [spec replicas]; nil of a version without a scale subresource.
	Fields []string
}

// FieldManagement answers for a served version. A write to the object resets its status, where the version has that subresource; a write to the status resets
// metadata and spec, of every version that has it and is served or stored.
func (d *Definition) FieldManagement(version string) (_ FieldManagement, err error) {
	defer recovered(&err)
	v, err := d.served(version)
	if err != nil {
		return FieldManagement{}, err
	}
	m := FieldManagement{APIVersion: v.APIVersion}
	add := func(subresource string, of *admission.Version, set *fieldpath.Set) {
		fields, _ := set.ToJSON() // a set of names has JSON
		m.ResetFields = append(m.ResetFields, ResetFields{Subresource: subresource, APIVersion: of.APIVersion, Fields: fields, set: set})
	}
	if v.HasStatus {
		add("", v, resetByObject)
	}
	for _, other := range d.inner.Versions {
		if v.HasStatus && other.HasStatus && (other.Served || other.Name == d.storage) {
			add("status", other, resetByStatus)
		}
	}
	for _, other := range d.inner.Versions {
		p := ReplicasPath{APIVersion: other.APIVersion}
		if other.Scale != nil {
			p.Fields = slices.Clone(other.Scale.SpecReplicas.Names) // the caller's to change
		}
		m.ReplicasPaths = append(m.ReplicasPaths, p)
	}
	return m, nil
}

// Sets are the ResetFields of a subresource as upstream's field manager takes them, by API version. The sets must not be changed.
func (m *FieldManagement) Sets(subresource string) map[fieldpath.APIVersion]*fieldpath.Set {
	sets := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, r := range m.ResetFields {
		if r.Subresource == subresource {
			sets[fieldpath.APIVersion(r.APIVersion)] = r.set
		}
	}
	return sets
}

// Mappings are the ReplicasPaths as upstream's managedfields.ScaleHandler takes them.
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
