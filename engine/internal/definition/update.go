package definition

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// validateUpdate validates the replacement of the stored CRD.
func (m *Manifest) validateUpdate(ctx context.Context, old *Stored) field.ErrorList {
	s, before := &m.spec, &old.Manifest.spec
	m.CRD.Generation = old.Generation
	if !sameSpec(m, old.Manifest) {
		m.CRD.Generation++
	}
	s.ratchet = ratchetOf(s, before, &old.Status)
	if s.hasDefaults() {
		// Checking defaults changes them, so call the functions that depend on them first.
		for i := range s.versions {
			s.ratchet.sameSchema(s.versions[i].Name)
		}
		if s == before {
			s.ratchet.unprunedDefaults()
		}
	}
	spec, status := field.NewPath("spec"), field.NewPath("status")
	errs := checkMetadataUpdate(ctx, m, old)
	errs = append(errs, s.check(spec)...)
	errs = append(errs, s.immutable(before, spec)...)
	errs = append(errs, names(&old.Status.AcceptedNames, status.Child("acceptedNames"))...)
	errs = append(errs, storedVersions(s.stored(old.Status.StoredVersions), s.versions, status.Child("storedVersions"))...)
	errs = append(errs, approval(&m.CRD.ObjectMeta, &old.Manifest.CRD.ObjectMeta, s.group)...)
	if !s.ratchet.preserving {
		errs = append(errs, s.preserves()...)
	}
	return errs
}

// sameSpec reports whether two CRDs have equal specs in the internal form, where an empty webhook equals an absent one.
func sameSpec(a, b *Manifest) bool {
	x, y := a.CRD.Spec, b.CRD.Spec
	x.Conversion, y.Conversion = nil, nil
	c, d := a.spec.conversion, b.spec.conversion
	return schema.Equal(x, y) && c.strategy == d.strategy && schema.Equal(c.webhookClientConfig, d.webhookClientConfig) &&
		schema.Equal(c.conversionReviewVersions, d.conversionReviewVersions)
}

// asStored returns the CRD as stored by an older server and not yet established.
func (m *Manifest) asStored() *Stored {
	return &Stored{Manifest: m, Generation: 1, Status: apiextensionsv1.CustomResourceDefinitionStatus{
		AcceptedNames: m.spec.names, StoredVersions: m.spec.stored(nil),
	}}
}

// immutable checks fields that no update may change: group and plural, and after establishment also scope and kind.
// (validation.go, validateCustomResourceDefinitionSpecUpdate)
func (s *spec) immutable(old *spec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.ratchet.established && quirk.On(quirk.CRDUpdatesRatcheted) && quirk.On(quirk.ImmutableOnceEstablished) {
		errs = append(errs, validation.ValidateImmutableField(s.scope, old.scope, path.Child("scope"))...)
		errs = append(errs, validation.ValidateImmutableField(s.names.Kind, old.names.Kind, path.Child("names", "kind"))...)
	}
	errs = append(errs, validation.ValidateImmutableField(s.group, old.group, path.Child("group"))...)
	return append(errs, validation.ValidateImmutableField(s.names.Plural, old.names.Plural, path.Child("names", "plural"))...)
}

// checkMetadataUpdate checks the CRD's metadata after the API server has set its fields. As in upstream, the generic
// checks and the CRD strategy report the same errors, so errors occur two or three times.
// (k8s.io/apiserver/pkg/registry/rest/update.go, BeforeUpdate, validateCommonFields)
func checkMetadataUpdate(ctx context.Context, m *Manifest, old *Stored) field.ErrorList {
	path := field.NewPath("metadata")
	before, now := asInStorage(&old.Manifest.CRD.ObjectMeta), m.CRD.ObjectMeta
	before.Generation, now.Generation = old.Generation, m.CRD.Generation
	now.UID, now.ResourceVersion, now.CreationTimestamp, now.Namespace, now.ManagedFields = before.UID, before.ResourceVersion, before.CreationTimestamp, "", nil
	if m == old.Manifest {
		before.DeletionTimestamp, before.DeletionGracePeriodSeconds = now.DeletionTimestamp, now.DeletionGracePeriodSeconds
	}
	segment := func(name string, prefix bool) []string {
		if prefix {
			return content.IsPathSegmentPrefix(name)
		}
		return content.IsPathSegmentName(name)
	}
	errs := validation.ValidateObjectMeta(&now, false, segment, path)
	errs = append(errs, validation.ValidateObjectMetaUpdate(&now, &before, path)...)
	return append(errs, validation.ValidateObjectMetaDeclaratively(ctx, operation.Update, &now, &before, false, nil, path, true)...)
}

// asInStorage returns metadata with arbitrary values for the fields that a server sets.
func asInStorage(m *metav1.ObjectMeta) metav1.ObjectMeta {
	out := *m
	out.UID, out.ResourceVersion, out.CreationTimestamp = "00000000-0000-4000-8000-000000000000", "1", metav1.NewTime(time.Unix(1, 0))
	out.Namespace, out.ManagedFields, out.DeletionTimestamp, out.DeletionGracePeriodSeconds = "", nil, nil, nil
	return out
}
