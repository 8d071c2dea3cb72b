package compiled

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Conversion is the result of compiling conversion rules.
type Conversion struct {
	// Violations are why the rules are not accepted. Their positions refer to the rules.
	Violations []violation.Violation
	// Lenses are the compiled rules, nil if there are violations.
	Lenses *lens.Set
}

// CompileConversion compiles conversion rules for an accepted CRD. It returns nil if there are no rules. The error is a
// *admission.Fault.
func CompileConversion(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, rules Document, l tree.Limits, shared *celcheck.Shared,
) (*Conversion, error) {
	if rules.Absent() {
		return nil, nil
	}
	d := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := rules.Parse(d, "conversion rules", l)
	if err != nil {
		d.Release()
		return nil, err
	}
	f, found := lens.Read(d, root)
	var set *lens.Set
	if f != nil {
		found = misplaced(f, crd)
	}
	if len(found) == 0 {
		versions := make([]lens.Version, len(crd.Spec.Versions))
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			versions[i] = lens.Version{Name: v.Name, APIVersion: crd.Spec.Group + "/" + v.Name, Schema: schema.Of(v)}
			if versions[i].Schema == nil {
				preserve := true
				versions[i].Schema = &schema.Props{Type: "object", XPreserveUnknownFields: &preserve}
			}
		}
		set, found, err = lens.Compile(ctx, f, versions, shared)
	}
	for i := range found {
		found[i].Position = d.PositionAt(found[i].Path)
	}
	d.Release()
	if err != nil {
		return nil, Failed(admission.Deadline, "the call ended before the conversion rules were compiled", err)
	}
	return &Conversion{Violations: found, Lenses: set}, nil
}

// misplaced returns a violation if the rules are for another CRD, or if API servers convert its objects without a
// webhook.
func misplaced(f *lens.File, crd *apiextensionsv1.CustomResourceDefinition) []violation.Violation {
	at := tree.Path{tree.Name("crd")}
	switch {
	case f.CRD != crd.Name:
		return []violation.Violation{violation.Of(violation.Convert, field.Invalid(field.NewPath("crd"), f.CRD,
			"the rules are for another CRD than "+crd.Name), at)}
	case crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter:
		return []violation.Violation{violation.Of(violation.Convert, field.Forbidden(field.NewPath("crd"), fmt.Sprintf(
			"spec.conversion.strategy of %s is None, so an API server would not call a webhook: set it to Webhook", crd.Name)), at)}
	}
	return nil
}
