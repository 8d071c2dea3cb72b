package upstreamtests

// manifestStub writes an internal CRD as a v1beta1 manifest, which can express everything. A manifest cannot express an
// unset preserveUnknownFields with its internal meaning. false has the same effect.
const manifestStub = `func manifestOf(crd *apiextensions.CustomResourceDefinition) any {
	if crd == nil {
		return nil
	}
	out := &beta.CustomResourceDefinition{}
	if err := beta.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(crd.DeepCopy(), out, nil); err != nil {
		panic(err)
	}
	out.SetGroupVersionKind(beta.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if out.Spec.PreserveUnknownFields == nil {
		out.Spec.PreserveUnknownFields = new(bool)
	}
	return out
}`

// validationStub writes an internal schema alone.
const validationStub = `func validationOf(v *apiextensions.CustomResourceValidation) any {
	out := &beta.CustomResourceValidation{}
	if err := beta.Convert_apiextensions_CustomResourceValidation_To_v1beta1_CustomResourceValidation(v, out, nil); err != nil {
		panic(err)
	}
	return out
}`

// Definitions are the tables of CRDs: creations, updates, and parts of CRDs. Obj is a v1beta1 manifest, Old the one
// that it replaces. Schema is a schema alone; if Root is set, its CRD has the status subresource. Otherwise Obj
// contains what the row tests.
var Definitions = Source{
	Module: "k8s.io/apiextensions-apiserver", Package: "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation",
	Stubs:   map[string]string{"manifestOf": manifestStub, "validationOf": validationStub},
	Imports: map[string]string{"apiextensions": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions", "beta": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"},
	Tables: []Table{
		{Function: "TestValidateCustomResourceDefinition", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Obj": "manifestOf(row.resource)"}},
		{Function: "TestSelectableFields", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Obj": "manifestOf(row.resource)"}},
		{Function: "TestValidateCustomResourceDefinitionUpdate", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Obj": "manifestOf(row.resource)", "Old": "manifestOf(row.old)"}},
		{Function: "TestValidateCustomResourceDefinitionValidationRuleCompatibility", Variable: "tests", Columns: map[string]string{"Name": "row.name",
			"Rules": "[]string{row.storedRule, row.updatedRule, row.storedMessageExpression, row.updatedMessageExpression}"}},
		{Function: "TestValidateCustomResourceDefinitionStoredVersions", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Obj": `map[string]any{"versions": row.versions, "storage": row.storageVersion, "stored": row.storedVersions}`}},
		{Function: "TestValidateFieldPath", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Rule": "row.fieldPath", "Schema": "validationOf(&apiextensions.CustomResourceValidation{OpenAPIV3Schema: row.schema})"}},
		{Function: "Test_validateDeprecationWarning", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Root": "row.deprecated", "Obj": "row.warning"}},
		{Function: "TestValidateCustomResourceDefinitionValidation", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "validationOf(&row.input)", "Root": "row.statusEnabled"}},
	},
}
