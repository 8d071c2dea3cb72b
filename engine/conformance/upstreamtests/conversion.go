package upstreamtests

// Conversions are the tables of the converter. Rules are versions: of the CRD, or of the webhook. Rule is the version
// to convert to, Message a part of the error, Old what is expected of Obj.
var Conversions = Source{
	Module: "k8s.io/apiextensions-apiserver", Package: "k8s.io/apiextensions-apiserver/pkg/apiserver/conversion",
	Tables: []Table{
		{Function: "TestConversion", Variable: "tests", Columns: map[string]string{
			"Name": "row.Name", "Rules": "row.ValidVersions", "Rule": "row.ToVersion", "Obj": "row.SourceObject",
			"Old": "row.ExpectedObject", "Message": "row.ExpectedFailure",
		}},
		{Function: "TestRestoreObjectMeta", Variable: "tests", Columns: map[string]string{ // Schema is what is expected
			"Name": "row.name", "Old": "row.original", "Obj": "row.converted", "Schema": "row.expected",
			"Rejected": "row.expectedError",
		}},
		{Function: "TestGetObjectsToConvert", Variable: "testcases", Columns: map[string]string{
			"Name": "row.Name", "Obj": "row.Object", "Rule": "row.APIVersion", "Old": "row.ExpectObjects",
		}},
		{Function: "TestCreateConversionReviewObjects", Variable: "testcases", Columns: map[string]string{
			"Name": "row.Name", "Rules": "row.Versions", "Old": "row.ExpectRequest", "Message": "row.ExpectErr",
		}},
		{Function: "TestGetConvertedObjectsFromResponse", Variable: "testcases", Columns: map[string]string{
			"Name": "row.Name", "Obj": "row.Response", "Old": "row.ExpectObjects", "Message": "row.ExpectErr",
		}},
	},
}

// ConversionWebhooks are the webhooks of the integration test. They run until the program is stopped. Texts has the URL
// and the certificates, Rules the versions of reviews; Schema is the CRD, and Obj an object of each of its versions.
var ConversionWebhooks = Source{
	Module: "k8s.io/apiextensions-apiserver", Package: "k8s.io/apiextensions-apiserver/test/integration/conversion",
	Stubs: map[string]string{"serve": `func serve(handler http.Handler) []string {
	_, config, err := upstream.StartConversionWebhookServer(handler)
	if err != nil {
		panic(err)
	}
	return []string{*config.URL, string(config.CABundle)}
}`},
	Imports: map[string]string{
		"http": "net/http", "io": "io", "testing": "testing",
		"upstream": "k8s.io/apiextensions-apiserver/test/integration/conversion",
	},
	Tables: []Table{{
		Function: "testWebhookConverter", Variable: "tests", Setup: "t := new(testing.T)",
		Columns: map[string]string{
			"Name": "row.group", "Texts": "serve(row.handler)", "Rules": "row.reviewVersions",
			"Schema": "multiVersionFixture",
			"Obj": `[]any{newConversionMultiVersionFixture("default", "x", "v1alpha1"),
	newConversionMultiVersionFixture("default", "x", "v1beta1"),
	newConversionMultiVersionFixture("default", "x", "v1beta2")}`,
		},
	}},
	Needs: []string{"multiVersionFixture", "newConversionMultiVersionFixture"},
	Last:  "_, _ = io.Copy(io.Discard, os.Stdin)",
}
