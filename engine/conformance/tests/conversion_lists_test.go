package tests

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	upstreamconversion "k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
)

// TestConversionOfLists compares calls with several objects. The handlers of an API server convert the objects of a
// list one by one; its converter can also convert a list in one call, as the engine does.
func TestConversionOfLists(t *testing.T) {
	h := startFake(t)
	manifest := conversionCRD(t, "foo.example.com", "Widget", h.conversion("v1"), "v1", "v2")
	s := newSession(t, manifest, nil)
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	factory, err := upstreamconversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	upstream, _, err := factory.NewConverter(&crd)
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) jsonObject {
		return jsonObject{"apiVersion": "foo.example.com/v1", "kind": "Widget",
			"metadata": jsonObject{"name": name, "generation": int64(1)}}
	}
	list := &unstructured.UnstructuredList{Object: jsonObject{"apiVersion": "foo.example.com/v1", "kind": "WidgetList"}}
	var docs []engine.Document
	for _, name := range []string{"a", "b", "c"} {
		list.Items = append(list.Items, unstructured.Unstructured{Object: object(name)})
		docs = append(docs, engine.JSON([]byte(encoded(t, object(name)))))
	}
	for name, change := range map[string]func([]any) []any{
		"honest":   func(list []any) []any { return list },
		"reversed": func(list []any) []any { slices.Reverse(list); return list },
		"none":     func([]any) []any { return nil },
		"one less": func(list []any) []any { return list[:2] },
		"one more": func(list []any) []any { return append(list, list[0]) },
		"repeated": func(list []any) []any { return []any{list[0], list[0], list[2]} },
		"null":     func(list []any) []any { return []any{list[0], nil, list[2]} },
		"kind":     func(list []any) []any { list[1].(jsonObject)["kind"] = "Other"; return list },
		"version":  func(list []any) []any { list[2].(jsonObject)["apiVersion"] = "foo.example.com/v1"; return list },
		"metadata": func(list []any) []any { delete(list[0].(jsonObject), "metadata"); return list },
	} {
		t.Run(name, func(t *testing.T) {
			h.answer = func(review jsonObject) any {
				request, _ := review["request"].(jsonObject)
				all, _ := request["objects"].([]any)
				if len(all) != 3 {
					t.Errorf("%d objects in a call", len(all))
				}
				for _, o := range all {
					o.(jsonObject)["apiVersion"] = request["desiredAPIVersion"]
				}
				return respond(change(all)...)(review)
			}
			_, theirs := upstream.ConvertToVersion(list, schema.GroupVersion{Group: "foo.example.com", Version: "v2"})
			_, ours := publish.TableOf(t.Context(), s.Engine(), "v2", docs, publish.TableOptions{})
			if want, got := reasonOf(theirs), reasonOf(ours); want != got || (want == "") != (name == "honest") {
				t.Errorf("upstream %q, ours %q\n%v\n%v", want, got, theirs, ours)
			}
		})
	}
}

// reasonOf returns what an error says about the response, without what locates it: an API server names the kind of the
// list, and the index in the text.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if own := (*engine.Error)(nil); errors.As(err, &own) && own.Rejection != nil {
		text = own.Rejection.Message
	}
	starts := []string{
		" must have ", "invalid groupVersion ", "invalid kind ", "missing metadata ", "returned ", "unexpected end ",
	}
	for _, start := range starts {
		counts := start != "returned " || strings.Contains(text, " objects, expected ")
		if at := strings.Index(text, start); at >= 0 && counts {
			return text[at:]
		}
	}
	return text
}
