package api_test

import (
	"context"
	"testing"
	"unicode/utf16"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestFormsOfDocuments: JSON, YAML and the bytes of a YAML file, in UTF-8 or UTF-16, have the same verdict. Bytes that are
// no text have the rejection of an API server.
func TestFormsOfDocuments(t *testing.T) {
	w := start(t, nil).withCronTab()
	const text = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a, namespace: b}\nspec: {image: UPPER}\n"
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	raw := func(text []byte) *crdevalv1.Document {
		return &crdevalv1.Document{Content: &crdevalv1.Document_RawYaml{RawYaml: text}}
	}
	for name, tc := range map[string]struct {
		document *crdevalv1.Document
		code     int32
	}{
		"json": {jsonDocument(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b"},"spec":{"image":"UPPER"}}`), 422},
		"yaml": {yamlDocument(text), 422}, "raw": {raw([]byte(text)), 422}, "raw, UTF-16": {raw(wide), 422},
		"raw, not a text": {raw([]byte("a: \xff\n")), 400},
	} {
		r, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Crd: "crontabs.stable.example.com", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: tc.document}}}},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := r.GetResults()[0].GetVerdict().GetRejection(); got.GetCode() != tc.code {
			t.Errorf("%s: %v", name, r.GetResults()[0])
		}
	}
}
