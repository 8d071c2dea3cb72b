package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOpenAPI: the document that is served has every path of the API, and says of documents what is true over REST.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		Info        struct{ Title, Version string }
		Consumes    []string
		Paths       map[string]map[string]any
		Definitions map[string]map[string]any
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Info.Title != "crdeval" || doc.Info.Version != "v1" || len(doc.Consumes) != 2 {
		t.Errorf("%+v, consumes %v", doc.Info, doc.Consumes)
	}
	document, ok := doc.Definitions["v1Document"]
	if !ok || document["type"] != nil || document["properties"] != nil {
		t.Errorf("a Document is %v: it must be any JSON value", document)
	}
	methods := 0
	for path, operations := range doc.Paths {
		for method := range operations {
			methods++
			if found, _ := newRouter().find(strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path)); found == nil {
				t.Errorf("%s %s is documented and not served", method, path)
			}
		}
	}
	if methods != len(newRouter()) {
		t.Errorf("%d calls are documented and %d are served", methods, len(newRouter()))
	}
	if strings.Contains(string(openAPI), `"type": "string",
          "format": "int64"`) {
		t.Error("a 64-bit integer is documented as a string: it is written as a number")
	}
}
