package definition

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// ratchet says which checks an update leaves out: those that the stored CRD would fail itself, so that other changes
// are possible. The creation of a CRD has the zero ratchet, apart from what is open until a CRD is established.
//
// What takes time to find out is found out when it is asked for.
// (validation.go, validationOptions and the functions that ValidateCustomResourceDefinitionUpdate fills them in with)
type ratchet struct {
	// lists and types of schemas
	schema.Lenient
	// established: scope and kind are immutable, and the CA bundle of the webhook must be valid.
	established bool
	// anyReviews: the ConversionReview versions need not include one that Kubernetes knows.
	anyReviews bool
	// anyCABundle: the CA bundle of the webhook may be anything.
	anyCABundle bool
	// noSchema: versions that are not served need no schema.
	noSchema bool
	// preserving: unknown fields may be preserved.
	preserving bool
	// nonStructural: schemas need not be structural, unless they prune, default or have keywords of Kubernetes.
	nonStructural func() bool
	// unprunedDefaults: defaults may have unknown fields.
	unprunedDefaults func() bool
	// rules and messages are the expressions that the stored CRD has, anywhere. They may use whatever stored
	// expressions may.
	rules, messages map[string]struct{}
	// sameSchema: the schema of a version is as it was, so each of its expressions may cost what it costs. All together
	// may not.
	sameSchema func(version string) bool
	// manyFields: the selectable fields of a version, or, with "", those of all, are as they were, and too many.
	manyFields func(version string) bool
}

// creation is the ratchet of a CRD that is new.
func creation() *ratchet {
	never, unchanged := func() bool { return false }, func(string) bool { return false }
	return &ratchet{anyCABundle: true, nonStructural: never, unprunedDefaults: never, sameSchema: unchanged, manyFields: unchanged}
}

// ratchetOf is that of an update of old, whose status is given, to s.
func ratchetOf(s, old *spec, status *apiextensionsv1.CustomResourceDefinitionStatus) *ratchet {
	if !quirk.On(quirk.CRDUpdatesRatcheted) {
		r := creation()
		r.established, r.preserving = isTrue(status, apiextensionsv1.Established), old.preserveUnknownFields
		return r
	}
	r := &ratchet{
		established: isTrue(status, apiextensionsv1.Established),
		anyReviews:  old.conversion != nil && len(old.conversion.conversionReviewVersions) > 0 && !anyKnownReview(old.conversion.conversionReviewVersions),
		preserving:  old.preserveUnknownFields,
	}
	r.anyCABundle = !r.established
	if c := old.conversion; c != nil && c.webhookClientConfig != nil && len(caBundle(c.webhookClientConfig.CABundle, nil)) > 0 {
		r.anyCABundle = true
	}
	if old.validation == nil || old.validation.OpenAPIV3Schema == nil {
		r.noSchema = old.anyVersion(func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool { return schema.Of(v) == nil })
	}
	r.nonStructural = sync.OnceValue(old.hasNonStructural)
	r.unprunedDefaults = sync.OnceValue(old.hasUnprunedDefaults)
	for _, p := range old.schemas() {
		r.learn(p)
	}
	r.sameSchema = remembered(func(version string) bool {
		now, there := s.schemaFor(version)
		before, was := old.schemaFor(version)
		return there && was && s.hasVersion(version) && schema.Equal(now, before)
	})
	r.manyFields = func(version string) bool {
		before := old.fieldsFor(version)
		return len(before) > maxSelectableFields && s.hasFields(version, before)
	}
	r.forget()
	return r
}

// remembered asks the question about each version once.
func remembered(ask func(version string) bool) func(version string) bool {
	known := map[string]bool{}
	return func(version string) bool {
		answer, asked := known[version]
		if !asked {
			answer = ask(version)
			known[version] = answer
		}
		return answer
	}
}

// learn notes what one of the stored schemas has.
func (r *ratchet) learn(p *schema.Props) {
	r.Learn(p)
	schema.Any(p, func(p *schema.Props) bool {
		for i := range p.XValidations {
			x := &p.XValidations[i]
			r.rules = with(r.rules, x.Rule)
			if x.MessageExpression != "" {
				r.messages = with(r.messages, x.MessageExpression)
			}
		}
		return false
	})
}

func with(set map[string]struct{}, text string) map[string]struct{} {
	if set == nil {
		set = map[string]struct{}{}
	}
	set[text] = struct{}{}
	return set
}

// envs returns the environments in which a rule and its message are compiled: that of stored expressions for each that
// is stored already.
func (r *ratchet) envs(fresh *celenv.Env, x *apiextensionsv1.ValidationRule) (ruleEnv, messageEnv *celenv.Env) {
	ruleEnv, messageEnv = fresh, fresh
	if _, stored := r.rules[x.Rule]; stored {
		ruleEnv = celenv.Stored()
	}
	if _, stored := r.messages[x.MessageExpression]; stored {
		messageEnv = celenv.Stored()
	}
	return ruleEnv, messageEnv
}

// schemaFor returns the schema of a version; ok is false if there is no telling.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/helpers.go, GetSchemaForVersion)
func (s *spec) schemaFor(version string) (c *apiextensionsv1.CustomResourceValidation, ok bool) {
	if !s.anyVersion(func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Schema != nil }) {
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
	return s.anyVersion(func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}

// fieldsFor returns the selectable fields of a version, or, with "", those of all. Of two versions with one name the
// last counts, as it happens to in the reference.
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

// hasFields reports whether a version, or, with "", all have just these selectable fields.
func (s *spec) hasFields(version string, fields []apiextensionsv1.SelectableField) bool {
	if version == "" {
		return schema.Equal(s.selectableFields, fields)
	}
	return s.anyVersion(func(v *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && schema.Equal(v.SelectableFields, fields)
	})
}

// hasNonStructural reports whether any schema is not structural. (validation.go, specHasNonStructuralSchema)
func (s *spec) hasNonStructural() bool {
	for _, p := range s.schemas() {
		if schema.Unsupported(p) != nil || len(schema.Structural(nil, p, violation.NewRoom(value.Limits{}))) > 0 {
			return true
		}
	}
	return false
}

// hasKubernetesExtensions reports whether any schema has keywords that only a structural one may have;
// x-kubernetes-map-type is not one of them. (validation.go, specHasKubernetesExtensions)
func (s *spec) hasKubernetesExtensions() bool {
	for _, p := range s.schemas() {
		if schema.Any(p, func(p *schema.Props) bool {
			return p.XEmbeddedResource || p.XPreserveUnknownFields != nil || p.XIntOrString || len(p.XListMapKeys) > 0 || p.XListType != nil || len(p.XValidations) > 0
		}) {
			return true
		}
	}
	return false
}
