// Package definition implements what an API server does with CRDs: decoding of v1 and v1beta1 manifests, defaulting,
// conversion from v1beta1, validation of creations and updates, warnings, status reconciliation and reports.
//
// Creations and updates run the same checks (check.go). A ratchet lists the checks that an update skips (ratchet.go),
// and update.go has the checks for updates only. The checks of each part are in the file of its name: naming.go,
// version.go (also stored versions and subresources), columns.go, selectable.go, conversion.go, approval.go, rules.go,
// and defaults.go for the defaults in schemas. decode.go decodes a manifest and sets the defaults of a CRD,
// normalize.go brings values to their stored form. Reconcile updates the status of one CRD (status.go, naming.go). The
// caller decides which other CRDs to reconcile afterwards.
//
// Package engine/internal/schema checks schemas. This package adds the checks of the rest of a CRD, the order of the
// checks, and the checks of rules and defaults.
package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Options are the options of Validate.
type Options struct {
	// KubernetesMinor is the Kubernetes 1.x minor whose formats and CEL environment apply to new CRDs. An API server
	// uses those of the release before its own. 0 means 36, as in the API server of the latest release.
	KubernetesMinor int
	// Limits bound the errors.
	Limits tree.Limits
	// Stored is the CRD that the manifest updates, or nil for a creation.
	Stored *Stored
	// Shared is reused when the CRD is compiled. Nil means a new one.
	Shared *celcheck.Shared
}

// Stored is a CRD in the storage of an API server.
type Stored struct {
	// Manifest is not changed.
	Manifest *Manifest
	// Generation is metadata.generation.
	Generation int64
	// Status is the status that the controllers set.
	Status apiextensionsv1.CustomResourceDefinitionStatus
}

// Warning is a warning of validation.
type Warning struct {
	Text    string
	keyword string // that it is about
	value   string // of the keyword, or for sets the type of the items
}

// Result is the API server's result for the creation or update of a CRD.
type Result struct {
	// Errors are the field errors in the order of the checks. The CRD is accepted if Errors is empty. Where upstream
	// iterates over a map, they are sorted by key.
	Errors field.ErrorList
	// Warnings are those of the Warning headers in document order, without those of decoding. Texts may repeat; the
	// API server sends each once.
	Warnings []Warning
	// Rules has the rules of each version, by index in spec.versions. An entry is nil if the version has no rules.
	Rules []*Rules
	// Err is a *tree.LimitError if the errors exceed the limits. Errors is then incomplete and must not be used. The
	// same applies if the context has ended.
	Err error
}

// Validate validates a CRD as an API server does on creation, or on replacement of the stored CRD. It ignores the
// manifest's status, uid, resourceVersion and most other metadata that a server sets. It compiles
// x-kubernetes-validations and estimates their costs.
//
// A v1beta1 manifest that preserves unknown fields cannot be created anymore. Validate treats it as a CRD that an older
// server stored, and checks an update without changes before the CRD is established.
//
// As in upstream, Validate changes m.CRD to its stored form: it drops unknown fields of embedded metadata in defaults,
// normalizes defaults, enums and examples, and sets the generation.
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
	m.spec.ctx, m.spec.budget, m.spec.env, m.spec.shared = ctx, violation.NewBudget(o.Limits).Until(interrupt.Of(ctx)), env, o.Shared
	if m.spec.shared == nil {
		m.spec.shared = celcheck.NewShared()
	}
	m.spec.rules = map[*schema.Props]*Rules{}
	if err := metadata.FitsMeta(&m.CRD.ObjectMeta); err != nil {
		return Result{Err: err}
	}
	owners, repeated := metadata.DedupOwners(m.CRD.OwnerReferences, false)
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
		Normalize(m.CRD)
	}
	texts := warnings(&m.spec, m.spec.shared.Survey, o.KubernetesMinor)
	if old != nil && quirk.On(quirk.CRDUpdatesRatcheted) && quirk.On(quirk.RatchetWarnings) {
		texts = fresh(texts, warnings(&old.Manifest.spec, nil, o.KubernetesMinor))
	}
	if repeated != "" {
		texts = append([]Warning{{Text: repeated, keyword: "ownerReferences"}}, texts...)
	}
	result := Result{Errors: errs, Warnings: texts}
	for i := range m.CRD.Spec.Versions {
		result.Rules = append(result.Rules, m.spec.rulesOf(i))
	}
	return result
}

// validateCreate validates a new CRD.
func (m *Manifest) validateCreate(ctx context.Context) field.ErrorList {
	m.CRD.Generation = 1
	m.spec.ratchet = creation()
	errs := checkMetadata(ctx, &m.CRD.ObjectMeta, &m.spec)
	errs = append(errs, m.spec.check(field.NewPath("spec"))...)
	errs = append(errs, storedVersions(m.spec.stored(nil), m.spec.versions, field.NewPath("status", "storedVersions"))...)
	errs = append(errs, approval(&m.CRD.ObjectMeta, nil, m.spec.group)...)
	return append(errs, m.spec.preserves()...)
}

// preserves returns an error if spec.preserveUnknownFields is set. (validation.go, validatePreserveUnknownFields)
func (s *spec) preserves() field.ErrorList {
	if !s.preserveUnknownFields || !quirk.On(quirk.PreserveUnknownFieldsRejected) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true,
		"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")}
}

// fits returns a *tree.LimitError if the errors exceed the limits. The schema checks already count theirs.
func (s *spec) fits(errs field.ErrorList, l tree.Limits) error {
	if err := s.budget.Err(); err != nil {
		return err
	}
	budget := violation.NewBudget(l)
	for _, err := range errs {
		if !budget.Take(violation.Size(err), false) {
			break
		}
	}
	return budget.Err()
}

// checkMetadata checks the CRD's metadata after the API server has set its fields.
func checkMetadata(ctx context.Context, meta *metav1.ObjectMeta, s *spec) field.ErrorList {
	m := *meta
	// CRDs are cluster-scoped: the API server drops the namespace (k8s.io/apiserver/pkg/registry/rest/meta.go).
	m.Namespace, m.Generation, m.SelfLink = "", 1, "" //nolint:staticcheck // API servers still clear selfLink
	// The API server replaces managed fields before validation (k8s.io/apiserver/pkg/endpoints/handlers/create.go).
	m.ManagedFields = nil
	m.UID, m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = "", metav1.Time{}, nil, nil
	if m.Name == "" && m.GenerateName != "" {
		m.Name = metadata.GeneratedName(m.GenerateName)
	}
	name := func(name string, prefix bool) []string {
		texts := validation.NameIsDNSSubdomain(name, prefix)
		if name != s.names.Plural+"."+s.group && quirk.On(quirk.NamingConventions) {
			texts = append(texts, `must be spec.names.plural+"."+spec.group`)
		}
		return texts
	}
	return validation.ValidateObjectMetaDeclaratively(ctx, operation.Create, &m, nil, false, name, field.NewPath("metadata"), true)
}

// warnings returns the API server's warnings for an accepted CRD: unknown formats, then sets whose items are not
// scalars.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, WarningsOnCreate)
func warnings(s *spec, survey schema.Survey, minor int) []Warning {
	var formats, sets []Warning
	for _, p := range s.schemas() {
		if !mayWarn(survey.Of(p), minor) {
			continue
		}
		schema.AnySorted(p, func(p *schema.Props) bool {
			if p.Format != "" && !format.Supported(p.Format, []string{p.Type}, minor) && quirk.On(quirk.UnknownFormatsIgnored) {
				formats = append(formats, Warning{fmt.Sprintf("unrecognized format %q", p.Format), "format", p.Format})
			}
			if text := setWarning(p); text != "" && !slices.ContainsFunc(sets, func(w Warning) bool { return w.Text == text }) {
				sets = append(sets, Warning{text, "x-kubernetes-list-type", p.Items.Schema.Type})
			}
			return false
		})
	}
	slices.SortFunc(sets, func(a, b Warning) int { return cmp.Compare(a.Text, b.Text) })
	return append(formats, sets...)
}

// mayWarn reports whether warnings can have a text for a schema.
func mayWarn(f *schema.Facts, minor int) bool {
	for known := range f.Formats {
		if !format.Supported(known.Name, []string{known.Type}, minor) {
			return true
		}
	}
	return f.Sets
}

func setWarning(p *schema.Props) string {
	if p.XListType == nil || *p.XListType != "set" || p.Items == nil || p.Items.Schema == nil || !quirk.On(quirk.ListKeyErrorsRepeated) {
		return ""
	}
	switch p.Items.Schema.Type {
	case "object", "array":
		return fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", p.Items.Schema.Type)
	}
	return ""
}

// fresh returns the warnings that the stored CRD does not have.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, WarningsOnUpdate)
func fresh(texts, stored []Warning) []Warning {
	return slices.DeleteFunc(texts, func(w Warning) bool { return slices.Contains(stored, w) })
}
