package gateway

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// described is the document that is served, as far as the tests look at it.
type described struct {
	Info        struct{ Title, Version string }
	Consumes    []string
	Parameters  map[string]describedParameter
	Paths       map[string]map[string]describedCall
	Definitions map[string]map[string]any
}

type describedCall struct {
	OperationID string `json:"operationId"`
	Summary     string
	Parameters  []describedParameter
	Responses   map[string]struct{ Description string }
}

type describedParameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

func description(t *testing.T) *described {
	t.Helper()
	doc := &described{}
	if err := json.Unmarshal(openAPIV2, doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// parametersOf lists the names of a call's parameters of some place.
func (d *described) parametersOf(c *describedCall, in string) (names []string) {
	for _, p := range c.Parameters {
		if p.Ref != "" {
			p = d.Parameters[strings.TrimPrefix(p.Ref, "#/parameters/")]
		}
		if p.In == in {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestOpenAPIIsValid: the document that is served is OpenAPI 2.0, nothing in it refers to nothing, and each call has a name, a summary and the parameters of its path.
func TestOpenAPIIsValid(t *testing.T) {
	parsed, err := openapiv2.ParseDocument(openAPIV2) // which rejects what OpenAPI does not know
	if err != nil {
		t.Fatal(err)
	}
	if parsed.GetSwagger() != "2.0" {
		t.Errorf("swagger %q", parsed.GetSwagger())
	}
	var tree any
	if err := json.Unmarshal(openAPIV2, &tree); err != nil {
		t.Fatal(err)
	}
	references(tree, func(to string) {
		at := tree
		for key := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
			in, _ := at.(map[string]any)
			at = in[key]
		}
		if at == nil {
			t.Errorf("%s is nowhere", to)
		}
	})
	doc := description(t)
	named := map[string]string{}
	for path, calls := range doc.Paths {
		var inPath []string
		for _, m := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(path, -1) {
			inPath = append(inPath, m[1])
		}
		slices.Sort(inPath)
		for method, call := range calls {
			if other := named[call.OperationID]; other != "" || call.OperationID == "" || call.Summary == "" || len(call.Responses) == 0 {
				t.Errorf("%s %s: id %q, also of %q, summary %q, %d responses", method, path, call.OperationID, other, call.Summary, len(call.Responses))
			}
			named[call.OperationID] = path
			if got := doc.parametersOf(&call, "path"); !slices.Equal(got, inPath) {
				t.Errorf("%s %s: parameters of the path %v", method, path, got)
			}
			if bodies := doc.parametersOf(&call, "body"); len(bodies) > 1 || len(bodies) == 1 && method != "post" {
				t.Errorf("%s %s: bodies %v", method, path, bodies)
			}
		}
	}
}

// references returns every $ref in a document.
func references(v any, tell func(string)) {
	switch v := v.(type) {
	case map[string]any:
		if to, is := v["$ref"].(string); is {
			tell(to)
		}
		for _, child := range v {
			references(child, tell)
		}
	case []any:
		for _, child := range v {
			references(child, tell)
		}
	}
}

// TestOpenAPIHasEveryRoute: what is served is documented, and what is documented is served.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	doc := description(t)
	served := map[string]bool{"get /metrics": true} // a page that the server adds
	for _, r := range routes() {
		served[strings.ToLower(r.method)+" "+strings.ReplaceAll(r.path, "{context.catalog}", "{catalog}")] = true
	}
	for verb := range streamVerbs {
		served["post /v1/catalogs/{catalog}:"+verb] = true
	}
	for name := range reviewers {
		served["post "+webhookPrefix+"catalogs/{catalog}/"+name] = true
	}
	for path := range ownPages {
		served["get "+path] = true
	}
	documented := map[string]bool{}
	for path, calls := range doc.Paths {
		for method := range calls {
			documented[method+" "+path] = true
		}
	}
	for call := range served {
		if !documented[call] {
			t.Errorf("%s is served and not documented", call)
		}
	}
	for call := range documented {
		if !served[call] {
			t.Errorf("%s is documented and not served", call)
		}
	}
}

// TestOpenAPIOfStreams: the parameters of streams are those that are taken.
func TestOpenAPIOfStreams(t *testing.T) {
	doc := description(t)
	for verb, first := range map[string]proto.Message{"admitStream": &crdevalv1.AdmitStreamRequest{}, "readStream": &crdevalv1.ReadStreamRequest{}} {
		call := doc.Paths["/v1/catalogs/{catalog}:"+verb]["post"]
		taken := []string{"bare"}
		for _, p := range parametersOf(first.ProtoReflect().Descriptor(), "{context.catalog}") {
			taken = append(taken, p.json)
		}
		slices.Sort(taken)
		if got := doc.parametersOf(&call, "query"); !slices.Equal(got, taken) {
			t.Errorf("%s: %v\nis documented, taken is\n%v", verb, got, taken)
		}
	}
}

// TestOpenAPI: the document says of values what is true over REST.
func TestOpenAPI(t *testing.T) {
	doc := description(t)
	if doc.Info.Title != "crdeval" || doc.Info.Version != "v1" || len(doc.Consumes) != 2 {
		t.Errorf("%+v, consumes %v", doc.Info, doc.Consumes)
	}
	document, ok := doc.Definitions["v1Document"]
	if !ok || document["type"] != nil || document["properties"] != nil {
		t.Errorf("a Document is %v: it must be any JSON value", document)
	}
	cost := at(doc.Definitions["v1RuleReport"], "properties", "estimatedCost")
	if cost["type"] != "string" || cost["format"] != "uint64" {
		t.Errorf("a cost is %v: it may exceed what a number of JSON holds, and is written as a string", cost)
	}
	for name, d := range doc.Definitions {
		if d["externalDocs"] != nil {
			t.Errorf("%s has externalDocs, which openapi-generator rejects", name)
		}
	}
}

// at returns the object at a path of keys.
func at(v map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		v, _ = v[key].(map[string]any)
	}
	return v
}

// TestOpenAPIV3: the document in OpenAPI 3.1 is valid and has the same operations, with names for clients, required fields and the security scheme.
func TestOpenAPIV3(t *testing.T) {
	if _, err := openapiv3.ParseDocument(openAPIV3); err != nil { // which rejects what OpenAPI 3 does not have
		t.Error(err)
	}
	_, rest := serve(t, Options{})
	code, text, _ := send(t, http.MethodGet, rest.URL+"/openapi/v3.json", nil, nil)
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil || code != http.StatusOK || doc["openapi"] != "3.1.0" {
		t.Fatalf("HTTP %d, openapi %v, %v", code, doc["openapi"], err)
	}
	references(doc, func(to string) {
		if keys := strings.Split(strings.TrimPrefix(to, "#/"), "/"); at(doc, keys...) == nil {
			t.Errorf("%s is nowhere", to)
		}
	})
	for path, calls := range description(t).Paths {
		for method, call := range calls {
			o := at(doc, "paths", path, method)
			if o["operationId"] != call.OperationID || strings.ContainsAny(call.OperationID, "_0123456789") && !strings.Contains(call.OperationID, "V3") {
				t.Errorf("%s %s: %v, %q", method, path, o["operationId"], call.OperationID)
			}
		}
	}
	if at(doc, "components", "securitySchemes", "bearer")["scheme"] != "bearer" || doc["security"] == nil || at(doc, "paths", "/healthz", "get")["security"] == nil {
		t.Error("the security scheme is missing")
	}
	for name, want := range map[string]string{"v1Violation": "message", "v1WriteItem": "", "v1CrdChange": "changeClass"} {
		required, _ := at(doc, "components", "schemas", name)["required"].([]any)
		if slices.Contains(required, any(want)) != (want != "") || want == "" && len(required) > 0 {
			t.Errorf("%s requires %v", name, required)
		}
	}
	body := at(doc, "paths", "/v1/catalogs/{catalog}:validate", "post", "requestBody")
	if body["required"] != true || len(at(body, "content")) != 2 {
		t.Errorf("the body of validate is %v", body)
	}
}
