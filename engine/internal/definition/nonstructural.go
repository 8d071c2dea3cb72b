package definition

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// NonStructuralCondition returns the condition NonStructuralSchema of an accepted CRD, or nil if the CRD prunes. The
// message lists all errors in the order of spec.versions. It returns a *value.LimitError if they exceed the limits.
// (k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema)
func NonStructuralCondition(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, l value.Limits,
) (*apiextensionsv1.CustomResourceDefinitionCondition, error) {
	if !crd.Spec.PreserveUnknownFields {
		return nil, nil
	}
	c := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue}
	errs := field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false")}
	room := violation.NewBudget(l).Until(ctx.Done())
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		s := schema.Of(v)
		if s == nil {
			continue
		}
		if err := schema.Unsupported(s); err != nil {
			c.Status, c.Reason = apiextensionsv1.ConditionUnknown, "StructuralError"
			c.Message = fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err)
			return c, nil
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, schema.Structural(path, s, room)...)
	}
	if err := room.Err(); err != nil {
		return nil, err
	}
	c.Reason, c.Message = "Violations", violation.Together(errs).Error()
	return c, nil
}
