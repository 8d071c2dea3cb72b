package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestOperations(t *testing.T) {
	r := &Resource{Group: "stable.example.com", Version: "v1beta1", Kind: "CronTab", ListKind: "CronTabList", Plural: "crontabs", Namespaced: true, HasStatus: true}
	var got []string
	for _, p := range r.paths() {
		for _, o := range p.operations {
			got = append(got, fmt.Sprintf("%s %s %s: %s", o.method, p.text, o.id(r), o.description))
		}
	}
	want := []string{
		"get /apis/stable.example.com/v1beta1/crontabs listStableExampleComV1beta1CronTabForAllNamespaces: list objects of kind CronTab",
		"get /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs listStableExampleComV1beta1NamespacedCronTab: list objects of kind CronTab",
		"post /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs createStableExampleComV1beta1NamespacedCronTab: create a CronTab",
		"delete /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs deleteStableExampleComV1beta1CollectionNamespacedCronTab: delete collection of CronTab",
		"get /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name} readStableExampleComV1beta1NamespacedCronTab: read the specified CronTab",
		"put /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name} replaceStableExampleComV1beta1NamespacedCronTab: replace the specified CronTab",
		"delete /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name} deleteStableExampleComV1beta1NamespacedCronTab: delete a CronTab",
		"patch /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name} patchStableExampleComV1beta1NamespacedCronTab: partially update the specified CronTab",
		"get /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name}/status readStableExampleComV1beta1NamespacedCronTabStatus: read status of the specified CronTab",
		"put /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name}/status replaceStableExampleComV1beta1NamespacedCronTabStatus: replace status of the specified CronTab",
		"patch /apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name}/status patchStableExampleComV1beta1NamespacedCronTabStatus: partially update status of the specified CronTab",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWords(t *testing.T) {
	for _, tc := range []struct{ noun, article string }{{"Egg", " an "}, {"apple", " an "}, {"CronTab", " a "}, {"Nodes", " "}, {"Glass", " a "}, {"s", " "}} {
		if got := article(tc.noun); got != tc.article {
			t.Errorf("article of %s is %q", tc.noun, got)
		}
	}
	for _, tc := range []struct {
		text    string
		capital bool
		want    string
	}{{"stable.example.com", true, "StableExampleCom"}, {"stable.example.com", false, "stableExampleCom"}, {"3scale.net", true, "ScaleNet"}, {"a3-b_c", false, "a3B_c"}} {
		if got := identifier(tc.text, tc.capital); got != tc.want {
			t.Errorf("identifier(%q, %v) = %q", tc.text, tc.capital, got)
		}
	}
	r := &Resource{Group: "policy.x-k8s.io", Version: "v1"}
	if got := r.model("K"); got != "io.x-k8s.policy.v1.K" {
		t.Errorf("model %s", got)
	}
	r.Group = "apps.k8s.io"
	if got := r.tag(); got != "apps_v1" {
		t.Errorf("tag %s", got)
	}
}

// TestReference: a reference is a URL, so characters outside ASCII are escaped.
func TestReference(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"com.p.v1.XList", "com.p.v1.XList"}, {"com.p.v1.İ", "com.p.v1.%C4%B0"},
		{"com.p.v1.My-KelvinList", "com.p.v1.My-%E2%84%AAelvinList"},
	} {
		if got := V3Form.reference(tc.name); got != "#/components/schemas/"+tc.want {
			t.Errorf("v3 %s, want %s", got, tc.want)
		}
		if got := V2Form.reference(tc.name); got != "#/definitions/"+tc.want {
			t.Errorf("v2 %s, want %s", got, tc.want)
		}
	}
}

// TestStatic checks the embedded static.json, which otherwise fails only with the first document.
func TestStatic(t *testing.T) {
	s := static()
	for _, name := range []string{objectMeta, listMeta, status, patch, deleteOptions, scale} {
		d := s.Definitions[name]
		if d == nil || !json.Valid(d.V2) || !json.Valid(d.V3) {
			t.Errorf("%s is missing", name)
			continue
		}
		for _, f := range []Form{V2Form, V3Form} {
			if wrong := (f ^ 1).prefix(); strings.Contains(string(d.text(f)), wrong) {
				t.Errorf("%s refers to %s in form %d", name, wrong, f)
			}
		}
		for _, dependency := range d.Dependencies {
			if s.Definitions[dependency] == nil {
				t.Errorf("%s needs %s, which is missing", name, dependency)
			}
		}
	}
	for _, action := range []string{"list", "get", "post", "put", "patch", "delete", "deletecollection"} {
		if len(s.Queries[action]) == 0 {
			t.Errorf("%s has no parameters", action)
		}
	}
	if len(s.TypeMeta["kind"]) == 0 || len(s.TypeMeta["apiVersion"]) == 0 {
		t.Error("TypeMeta is missing")
	}
}

func TestDocuments(t *testing.T) {
	build := func(form Form, maxBytes int64, kinds ...string) ([]byte, error) {
		reserved := int64(0)
		d := New(form, maxBytes, func(n int64) error {
			reserved += n
			return nil
		})
		for _, kind := range kinds {
			r := &Resource{Group: "b.a", Version: "v1", Kind: kind, ListKind: kind + "List", Plural: strings.ToLower(kind), HasScale: true}
			if err := d.Add(r); err != nil {
				return nil, err
			}
		}
		text := d.JSON()
		if size := int64(len(text)); reserved > size || reserved < size-256 {
			t.Errorf("%d bytes reserved for %d", reserved, size)
		}
		return text, nil
	}
	v3, err := build(V3Form, 1<<20, "A", "B")
	if err != nil || !json.Valid(v3) {
		t.Fatalf("%v %s", err, v3)
	}
	for _, want := range []string{`"/apis/b.a/v1/a":`, `"/apis/b.a/v1/b/{name}/scale":`, `"a.b.v1.A":`, `"a.b.v1.BList":`, `"` + scale + `":`} {
		if strings.Count(string(v3), want) != 1 {
			t.Errorf("%s is there %d times", want, strings.Count(string(v3), want))
		}
	}
	var conflict *ConflictError
	if _, err := build(V3Form, 1<<20, "A", "A"); !errors.As(err, &conflict) || conflict.Definition != "a.b.v1.A" {
		t.Errorf("two of a kind: %v", err)
	}
	v2, err := build(V2Form, 1<<20, "A", "A")
	if one, _ := build(V2Form, 1<<20, "A"); err != nil || !json.Valid(v2) || string(one) != string(v2) {
		t.Errorf("two of a kind: %v %s", err, v2)
	}
	for _, form := range []Form{V2Form, V3Form} {
		var limit *tree.LimitError
		if _, err := build(form, 1000, "A"); !errors.As(err, &limit) || limit.Maximum != 1000 || limit.Actual < 1000 {
			t.Errorf("too large: %v", err)
		}
		full := errors.New("full")
		if err := New(form, 1<<20, func(int64) error { return full }).Add(&Resource{Kind: "A"}); !errors.Is(err, full) {
			t.Errorf("without memory: %v", err)
		}
	}
	if empty, err := build(V2Form, 1000); err != nil || string(empty) != `{"swagger":"2.0","info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"},"paths":{}}` {
		t.Errorf("of nothing: %v %s", err, empty)
	}
}
