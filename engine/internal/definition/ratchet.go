package definition

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// ratchet lists the checks that an update skips because the stored CRD already fails them. A creation uses creation().
// Methods defer costly checks of the stored CRD until they are needed.
// (validation.go, validationOptions and the functions that ValidateCustomResourceDefinitionUpdate fills them in with)
type ratchet struct {
	// Lenient lists the keyword checks of schemas to skip.
	schema.Lenient
	// established makes scope and kind immutable.
	established bool
	// anyReviews accepts ConversionReview versions without v1 or v1beta1.
	anyReviews bool
	// anyCABundle accepts any CA bundle.
	anyCABundle bool
	// noSchema accepts versions without a schema, except served versions of a CRD that prunes.
	noSchema bool
	// preserving accepts spec.preserveUnknownFields.
	preserving bool
	// rules and messages are the expressions of the stored CRD. They compile in the environment of stored expressions.
	rules, messages map[string]bool

	spec, old *spec // the new and the stored spec; old is nil for a creation
	// hasNonStructural, hasUnpruned and same cache answers about the stored spec.
	hasNonStructural, hasUnpruned func() bool
	same                          map[string]bool
}

// creation returns the ratchet of a new CRD.
func creation() *ratchet { return &ratchet{anyCABundle: true} }

// ratchetOf returns the ratchet of an update from old to s. status is the stored status.
func ratchetOf(s, old *spec, status *apiextensionsv1.CustomResourceDefinitionStatus) *ratchet {
	r := creation()
	r.established, r.preserving = isTrue(status, apiextensionsv1.Established), old.preserveUnknownFields
	if !quirk.On(quirk.CRDUpdatesRatcheted) {
		return r
	}
	r.spec, r.old, r.rules, r.messages, r.same = s, old, map[string]bool{}, map[string]bool{}, map[string]bool{}
	c := old.conversion
	r.anyReviews = quirk.On(quirk.RatchetReviewVersions) && c != nil && len(c.conversionReviewVersions) > 0 &&
		!anyKnownReview(c.conversionReviewVersions)
	r.anyCABundle = quirk.On(quirk.RatchetCABundle) && (!r.established ||
		c != nil && c.webhookClientConfig != nil && len(caBundle(c.webhookClientConfig.CABundle, nil)) > 0)
	if quirk.On(quirk.RatchetMissingSchema) && (old.validation == nil || old.validation.OpenAPIV3Schema == nil) {
		r.noSchema = old.anyVersion(func(v *crdVersion) bool { return schema.Of(v) == nil })
	}
	r.hasNonStructural, r.hasUnpruned = sync.OnceValue(old.hasNonStructural), sync.OnceValue(old.hasUnprunedDefaults)
	for _, p := range old.schemas() {
		r.learn(p)
	}
	return r
}

// nonStructural accepts non-structural schemas of a CRD that preserves unknown fields and has neither defaults nor
// x-kubernetes keywords.
func (r *ratchet) nonStructural() bool { return r.old != nil && r.hasNonStructural() }

// unprunedDefaults accepts defaults with unknown fields.
func (r *ratchet) unprunedDefaults() bool { return r.old != nil && r.hasUnpruned() }

// sameSchema reports whether the schema of a version is unchanged. The cost limit of single expressions is then
// skipped, but not the limit of their total.
func (r *ratchet) sameSchema(version string) bool {
	same, known := r.same[version]
	if !known && r.old != nil {
		now, there := r.spec.schemaFor(version)
		before, was := r.old.schemaFor(version)
		same = quirk.On(quirk.RatchetRuleCost) && there && was && r.spec.hasVersion(version) && schema.Equal(now, before)
		r.same[version] = same
	}
	return same
}

// manyFields reports whether the selectable fields of a version are unchanged and exceed the limit. "" means the fields
// that all versions share.
func (r *ratchet) manyFields(version string) bool {
	if r.old == nil || !quirk.On(quirk.RatchetSelectableFields) {
		return false
	}
	before := r.old.fieldsFor(version)
	return len(before) > maxSelectableFields && r.spec.hasFields(version, before)
}

// learn adds the expressions and failed checks of a stored schema.
func (r *ratchet) learn(p *schema.Props) {
	r.Learn(p)
	schema.Any(p, func(p *schema.Props) bool {
		for i := range p.XValidations {
			x := &p.XValidations[i]
			if quirk.On(quirk.RatchetRuleEnvironment) {
				r.rules[x.Rule] = true
			}
			if x.MessageExpression != "" && quirk.On(quirk.RatchetMessageEnvironment) {
				r.messages[x.MessageExpression] = true
			}
		}
		return false
	})
}

// envs returns the environments of a rule and its message expression. Stored expressions use the stored environment.
func (r *ratchet) envs(fresh *celenv.Env, x *apiextensionsv1.ValidationRule) (ruleEnv, messageEnv *celenv.Env) {
	ruleEnv, messageEnv = fresh, fresh
	if r.rules[x.Rule] {
		ruleEnv = celenv.Stored()
	}
	if r.messages[x.MessageExpression] {
		messageEnv = celenv.Stored()
	}
	return ruleEnv, messageEnv
}

// schemaFor returns the schema of a version. ok is false if the version does not exist or if the spec has both shared
// and per-version schemas.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/helpers.go, GetSchemaForVersion)
func (s *spec) schemaFor(version string) (c *apiextensionsv1.CustomResourceValidation, ok bool) {
	if !s.anyVersion(func(v *crdVersion) bool { return v.Schema != nil }) {
		return s.validation, true
	}
	if s.validation != nil {
		return nil, false
	}
	for i := range s.versions {
		if s.versions[i].Name == version {
			return s.versions[i].Schema, true
		}
	}
	return nil, false
}

func (s *spec) hasVersion(name string) bool {
	return s.anyVersion(func(v *crdVersion) bool { return v.Name == name })
}

// fieldsFor returns the selectable fields of a version. "" means those that all versions share. As in upstream, the
// last of several versions with the same name counts.
func (s *spec) fieldsFor(version string) []apiextensionsv1.SelectableField {
	if version == "" {
		return s.selectableFields
	}
	for i := range slices.Backward(s.versions) {
		if s.versions[i].Name == version {
			return s.versions[i].SelectableFields
		}
	}
	return nil
}

// hasFields reports whether a version has exactly these selectable fields. "" means those that all versions share.
func (s *spec) hasFields(version string, fields []apiextensionsv1.SelectableField) bool {
	if version == "" {
		return schema.Equal(s.selectableFields, fields)
	}
	return s.anyVersion(func(v *crdVersion) bool {
		return v.Name == version && schema.Equal(v.SelectableFields, fields)
	})
}

// hasNonStructural reports whether any schema is not structural. (validation.go, specHasNonStructuralSchema)
func (s *spec) hasNonStructural() bool {
	return quirk.On(quirk.RatchetNonStructural) &&
		slices.ContainsFunc(s.schemas(), func(p *schema.Props) bool { return !schema.IsStructural(p) })
}

// hasKubernetesExtensions reports whether any schema has a keyword that requires a structural schema. As upstream,
// x-kubernetes-map-type does not. (validation.go, specHasKubernetesExtensions)
func (s *spec) hasKubernetesExtensions() bool {
	return slices.ContainsFunc(s.schemas(), func(p *schema.Props) bool {
		return schema.Any(p, func(p *schema.Props) bool {
			return p.XEmbeddedResource || p.XPreserveUnknownFields != nil || p.XIntOrString || len(p.XListMapKeys) > 0 ||
				p.XListType != nil || len(p.XValidations) > 0
		})
	})
}
