package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestAnswersThatDoNotFit: results that find no room in the answer fail alone; the others are there, over both faces.
func TestAnswersThatDoNotFit(t *testing.T) {
	w := start(t, nil)
	manifest := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"growers.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"growers","kind":"Grower"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"big":{"type":"string","default":%q}}}}}}}]}}`,
		strings.Repeat("x", 100_000))
	if _, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: jsonDocument(manifest)}); err != nil {
		t.Fatal(err)
	}
	object := jsonDocument(`{"apiVersion":"example.com/v1","kind":"Grower","metadata":{"name":"a"},"spec":{}}`)
	var items []*crdevalv1.WriteItem
	for range 200 {
		items = append(items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}})
	}
	check := func(name string, answer proto.Message, err error, errorOf func(int) (bool, *status.Status)) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fit := 0
		for i := range items {
			fits, st := errorOf(i)
			if fits {
				fit++
			} else if st.Code() != codes.ResourceExhausted || reason(t, st) != "LIMIT_EXCEEDED" || !strings.Contains(st.Message(), "max_message_bytes") {
				t.Errorf("%s: item %d: %v", name, i, st)
			}
		}
		if size := proto.Size(answer); size > maxMessage || size < maxMessage*9/10 || fit == len(items) {
			t.Errorf("%s: %d of %d results fit, in %d bytes of %d", name, fit, len(items), size, maxMessage)
		}
	}
	verdicts, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: items})
	check("Validate", verdicts, err, func(i int) (bool, *status.Status) {
		return verdicts.GetResults()[i].GetVerdict().GetAllowed(), status.FromProto(verdicts.GetResults()[i].GetError())
	})
	objects, err := w.evaluation.Default(context.Background(), &crdevalv1.DefaultRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: objectsOf(items...)})
	check("Default", objects, err, func(i int) (bool, *status.Status) {
		return objects.GetResults()[i].GetTransformed().GetObject() != nil, status.FromProto(objects.GetResults()[i].GetError())
	})
	one := `{"create":{"object":` + string(object.GetJson()) + `}}`
	rest := w.do("POST", "/v1/catalogs/default:validate", `{"items":[`+strings.Repeat(one+",", len(items)-1)+one+`]}`)
	if rest.code != http.StatusOK || !strings.Contains(rest.text, `"allowed":true`) || !strings.Contains(rest.text, `"limit":"max_message_bytes"`) {
		t.Errorf("REST: %d %.300s", rest.code, rest.text)
	}
}
