package upstreamtests

// rules is the package of validation rules.
const rules = "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"

// schemaStub writes a structural schema as in a manifest.
const schemaStub = `func schemaOf(s *structural.Structural) any {
	if s == nil {
		return nil
	}
	return s.ToKubeOpenAPI()
}`

// Rules are the tables of validation rules.
var Rules = Source{
	Module: "k8s.io/apiextensions-apiserver", Package: rules,
	Stubs:   map[string]string{"schemaOf": schemaStub},
	Imports: map[string]string{"structural": "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"},
	Tables: []Table{
		{Function: "TestCelCostStability", Variable: "cases", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.obj", "Costs": "row.expectCost"}},
		{Function: "TestCelEstimatedCostStability", Variable: "cases", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Costs": "row.expectCost"}},
		{Function: "TestCostEstimation", Variable: "cases", Columns: map[string]string{"Name": `row.name`, "Schema": "schemaOf(row.schemaGenerator(nil))", "Max": "row.expectedCalcCost", "Min": "row.expectCalcCostExceedsLimit"},
			Keep: []string{"setMaxElements", "expectedSetCost", "expectedSetCostExceedsLimit"}}, // for the second read
		{Function: "TestCostEstimation", Variable: "cases", Columns: map[string]string{"Name": `row.name + ", bounded"`, "Schema": "schemaOf(row.schemaGenerator(&row.setMaxElements))", "Max": "row.expectedSetCost", "Min": "row.expectedSetCostExceedsLimit"}},
		{Function: "TestCelCompilation", Variable: "cases", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(&row.input)"}},
		{Function: "TestValidationExpressions", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.obj", "Old": "row.oldObj",
			"Rules": "row.valid", "Errors": "row.errors", "Budget": "row.costBudget", "Root": "row.isRoot", "Cost": "row.expectedCost"}},
		{Function: "TestValidationExpressionsAtSchemaLevels", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.obj", "Old": "row.oldObj", "Texts": "row.errors"}},
		{Function: "TestMessageExpression", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Message": "row.messageExpression", "MessageText": "row.message"}},
		{Function: "TestReasonAndFldPath", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.obj"}},
		{Function: "TestRatcheting", Variable: "cases", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.newObj", "Old": "row.oldObj", "Texts": "row.errors"}},
		{Function: "TestOptionalOldSelf", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(row.schema)", "Obj": "row.obj", "Old": "row.oldObj", "Texts": "row.errors"}},
		{Function: "TestOptionalOldSelfCheckForNull", Variable: "tests", Columns: map[string]string{"Name": "row.name", "Schema": "schemaOf(&row.schema)", "Obj": "row.obj", "Old": "row.oldObj"}},
	},
}

// Libraries are the costs of Kubernetes' functions.
var Libraries = Source{
	Module: "k8s.io/apiserver", Package: "k8s.io/apiserver/pkg/cel/library",
	Stubs: map[string]string{"testCost": `func testCost(_ *recorder, expr string, est checker.CostEstimate, cost uint64) {
	emit(map[string]any{"Rule": expr, "Min": est.Min, "Max": est.Max, "Cost": cost})
}`},
	Imports: map[string]string{"checker": "github.com/google/cel-go/checker"},
	Tables: []Table{{Function: "TestListsCost"}, {Function: "TestIndexOfCost"}, {Function: "TestIncludesCost"}, {Function: "TestURLsCost"}, {Function: "TestIPCost"}, {Function: "TestIPIsCanonicalCost"},
		{Function: "TestCIDRCost"}, {Function: "TestStringLibrary"}, {Function: "TestQuantityCost"}, {Function: "TestNameFormatCost"}, {Function: "TestSetsCost"}, {Function: "TestSemverCost"},
		{Function: "TestTwoVariableComprehensionCost"}},
}
