package definition

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Options shape the judgement of a CRD.
type Options struct {
	// KubernetesMinor is the minor of Kubernetes 1.x whose formats and CEL environment are known: an API server takes
	// those of the release before its own for CRDs that are new. 0 stands for what a stock API server of the latest
	// release takes, those of 1.36.
	KubernetesMinor int
	// Limits bound what is found.
	Limits value.Limits
	// Stored is the CRD that the manifest updates, nil for a creation.
	Stored *Stored
	// Memory is reused when the CRD is compiled. Nil means a new one.
	Memory *celcheck.Memory
}

// Stored is a CRD as an API server has it in its storage.
type Stored struct {
	// Manifest is not changed.
	Manifest *Manifest
	// Generation is its metadata.generation.
	Generation int64
	// Status is what its controllers made of it.
	Status apiextensionsv1.CustomResourceDefinitionStatus
}

// Result is what an API server says to the creation or update of a CRD.
type Result struct {
	// Errors are the field errors: the CRD is accepted if there are none. Their order is that of the checks; where the
	// reference walks a map, that of its keys.
	Errors field.ErrorList
	// Warnings are the texts of the Warning headers that come with the answer, in document order, without those of
	// decoding. One may stand there twice; the API server sends each text once.
	Warnings []string
	// Rules are what is known of the rules of each of the CRD's versions, by its place in spec.versions; nil for a
	// version without any.
	Rules []*Rules
	// Err is a *value.LimitError if the errors exceed the limits. They are incomplete then, and mean nothing; as they
	// are where the context has ended.
	Err error
}

// Validate judges a CRD as an API server does when it is created, or when it replaces the stored one, whose uid and
// resourceVersion it is taken to carry. The status that a manifest carries does not count, nor does most of the
// metadata that the server sets itself. Rules (x-kubernetes-validations) are compiled, and what they may cost is
// estimated.
//
// A v1beta1 manifest that preserves unknown fields cannot be created any more. It stands for a CRD that an older server
// stored, and is judged as an update of that which changes nothing, before the CRD is established.
//
// As in the reference, what is stored of an accepted CRD is not quite what was sent, and Validate makes m.CRD that:
// embedded metadata in defaults loses unknown fields, 1.0, odd Unicode and duplicate keys in defaults, enums and
// examples are written as they are stored, and the generation is the one that it has then.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go;
// pkg/apis/apiextensions/validation/validation.go, ValidateCustomResourceDefinition,
// ValidateCustomResourceDefinitionUpdate)
func Validate(ctx context.Context, m *Manifest, o Options) Result {
	if o.KubernetesMinor == 0 {
		o.KubernetesMinor = format.LatestMinor - 1
	}
	env, err := celenv.ForMinor(o.KubernetesMinor)
	if err != nil {
		return Result{Err: err}
	}
	m.spec.ctx, m.spec.room, m.spec.env, m.spec.memory = ctx, violation.NewRoom(o.Limits).Until(ctx.Done()), env, o.Memory
	if m.spec.memory == nil {
		m.spec.memory = celcheck.NewMemory()
	}
	if err := metadata.FitsMeta(&m.CRD.ObjectMeta); err != nil {
		return Result{Err: err}
	}
	owners, repeated := metadata.DedupOwners(m.CRD.OwnerReferences)
	m.CRD.OwnerReferences = owners
	old := o.Stored
	if old == nil && m.beta && m.spec.preserveUnknownFields {
		old = m.asStored()
	}
	var errs field.ErrorList
	if old == nil {
		errs = m.validateCreate(ctx)
	} else {
		errs = m.validateUpdate(ctx, old)
	}
	if err := m.spec.fits(errs, o.Limits); err != nil || ctx.Err() != nil {
		return Result{Errors: errs, Err: err}
	}
	if len(errs) == 0 {
		for _, p := range m.spec.schemas() {
			settle(p)
		}
	}
	texts := warnings(&m.spec, o.KubernetesMinor)
	if old != nil && quirk.On(quirk.CRDUpdatesRatcheted) && quirk.On(quirk.RatchetWarnings) {
		texts = fresh(texts, warnings(&old.Manifest.spec, o.KubernetesMinor))
	}
	if repeated != "" {
		texts = append([]string{repeated}, texts...)
	}
	result := Result{Errors: errs, Warnings: texts}
	for i := range m.CRD.Spec.Versions {
		result.Rules = append(result.Rules, m.spec.rulesOf(i))
	}
	return result
}

// validateCreate judges a CRD that is new.
func (m *Manifest) validateCreate(ctx context.Context) field.ErrorList {
	m.CRD.Generation = 1
	m.spec.ratchet = creation()
	errs := checkMetadata(ctx, &m.CRD.ObjectMeta, &m.spec)
	errs = append(errs, m.spec.check(field.NewPath("spec"))...)
	errs = append(errs, storedVersions(m.spec.stored(nil), m.spec.versions, field.NewPath("status", "storedVersions"))...)
	errs = append(errs, approval(&m.CRD.ObjectMeta, nil, m.spec.group)...)
	return append(errs, m.spec.preserves()...)
}

// preserves is found of a CRD that starts to preserve unknown fields. (validation.go, validatePreserveUnknownFields)
func (s *spec) preserves() field.ErrorList {
	if !s.preserveUnknownFields || !quirk.On(quirk.PreserveUnknownFieldsRejected) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true,
		"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")}
}

// fits counts all errors, which the checks of schemas, where most of them come from, do while they look.
func (s *spec) fits(errs field.ErrorList, l value.Limits) error {
	if err := s.room.Err(); err != nil {
		return err
	}
	room := violation.NewRoom(l)
	for _, err := range errs {
		if !room.Take(violation.Size(err), false) {
			break
		}
	}
	return room.Err()
}

// checkMetadata checks the CRD's own metadata as it stands after the API server has set its part.
func checkMetadata(ctx context.Context, meta *metav1.ObjectMeta, s *spec) field.ErrorList {
	m := *meta
	// A CRD has no namespace: the one of a manifest is dropped (k8s.io/apiserver/pkg/registry/rest/meta.go).
	m.Namespace, m.Generation, m.SelfLink = "", 1, "" //nolint:staticcheck // API servers still clear selfLink
	// The field manager writes managed fields anew before they are validated
	// (k8s.io/apiserver/pkg/endpoints/handlers/create.go).
	m.ManagedFields = nil
	m.UID, m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = "", metav1.Time{}, nil, nil
	name := func(name string, prefix bool) []string {
		texts := validation.NameIsDNSSubdomain(name, prefix)
		if name != s.names.Plural+"."+s.group && quirk.On(quirk.NamingConventions) {
			texts = append(texts, `must be spec.names.plural+"."+spec.group`)
		}
		return texts
	}
	return validation.ValidateObjectMetaDeclaratively(ctx, operation.Create, &m, nil, false, name, field.NewPath("metadata"), true)
}
