package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// mirroredManifest is a CRD as another server stores it: it is being deleted, and its schema is not structural.
const mirroredManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fans.example.com, uid: 6ba7b810-9dad-11d1-80b4-00c04fd430c8, resourceVersion: "41", generation: 7,
  creationTimestamp: "2026-01-02T00:00:00Z", deletionTimestamp: "2026-01-03T00:00:00Z", finalizers: [customresourcecleanup.apiextensions.k8s.io]}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: fans, singular: fan, kind: Fan, listKind: FanList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {}}}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {}}}}}
status:
  storedVersions: [v1beta1, v1]
  acceptedNames: {plural: fans, singular: fan, kind: Fan, listKind: FanList}
  conditions:
  - {type: Established, status: "True", lastTransitionTime: "2026-01-02T00:00:00Z", reason: InitialNamesAccepted, message: theirs}
  - {type: Terminating, status: "True", lastTransitionTime: "2026-01-03T00:00:00Z", reason: InstanceDeletionInProgress, message: theirs}
`

// TestAsStored: a CRD of another server keeps its status and metadata, and its creations are rejected while it is deleted.
func TestAsStored(t *testing.T) {
	w := start(t, nil)
	got, err := w.registry.RegisterCrd(t.Context(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(mirroredManifest), AsStored: true, NotOlderThan: 41})
	if c := got.GetCrd(); err != nil || !got.GetAccepted() || !c.GetAsStored() || c.GetNotOlderThan() != 41 || c.GetGeneration() != 7 ||
		!slices.Equal(c.GetStatus().GetStoredVersions(), []string{"v1beta1", "v1"}) {
		t.Fatalf("%v %v", got, err)
	}
	object := w.do("GET", toShow+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fans.example.com", "")
	var crd struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta
		Spec     struct{ Group string }
		Status   struct{ StoredVersions []string }
	}
	if err := json.Unmarshal([]byte(object.text), &crd); err != nil {
		t.Fatal(err, object.text)
	}
	if m := crd.Metadata; crd.Kind != "CustomResourceDefinition" || m.UID != "6ba7b810-9dad-11d1-80b4-00c04fd430c8" || m.ResourceVersion != "41" ||
		m.Generation != 7 || m.CreationTimestamp.IsZero() || m.DeletionTimestamp.IsZero() || len(m.Finalizers) != 1 || crd.Spec.Group != "example.com" || len(crd.Status.StoredVersions) != 2 {
		t.Errorf("%s", object.text)
	}
	if again := w.do("GET", toShow+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fans.example.com", "", "If-None-Match", object.header.Get("ETag")); again.code != http.StatusNotModified {
		t.Errorf("with its ETag: %d %s", again.code, again.text)
	}
	var missing metav1.Status
	none := w.do("GET", toShow+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/no.such", "")
	if err := json.Unmarshal([]byte(none.text), &missing); err != nil || none.code != http.StatusNotFound || missing.Message != `customresourcedefinitions.apiextensions.k8s.io "no.such" not found` {
		t.Errorf("%v %d %s", err, none.code, none.text)
	}
	for _, old := range []*crdevalv1.Document{nil, jsonDocument(`{"apiVersion":"example.com/v1","kind":"Fan","metadata":{"name":"a","namespace":"b","resourceVersion":"7"}}`)} {
		item := creation(`{"apiVersion":"example.com/v1","kind":"Fan","metadata":{"name":"a","namespace":"b"}}`)
		if old != nil {
			item = update(string(old.GetJson()), string(old.GetJson()), "")
		}
		v := w.admit(&crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{item}})[0].GetVerdict()
		if want := int32(http.StatusForbidden); old == nil && v.GetRejection().GetCode() != want || old != nil && !v.GetAllowed() {
			t.Errorf("%v: %v", item, v)
		}
	}
}

// resweptRegistry returns CRDs with another resourceVersion and the same etag, as after a sweep.
type resweptRegistry struct {
	api.Registry
	resourceVersion atomic.Pointer[string]
}

func (r *resweptRegistry) CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error) {
	found, err := r.Registry.CRD(ctx, catalog, name, revision, atLeast)
	if version := r.resourceVersion.Load(); err == nil && version != nil {
		found.Metadata.ResourceVersion = *version
	}
	return found, err
}

// TestCRDObjectETag: the ETag of a CRD object changes with its resourceVersion, also if Crd.etag does not.
func TestCRDObjectETag(t *testing.T) {
	reswept := &resweptRegistry{}
	w := start(t, func(r api.Registry) api.Registry {
		reswept.Registry = r
		return reswept
	})
	w.withCronTab()
	const path = toShow + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com"
	etag := w.do("GET", path, "").header.Get("ETag")
	if got := w.do("GET", path, "", "If-None-Match", etag); got.code != http.StatusNotModified || got.header.Get("ETag") != etag || got.text != "" {
		t.Errorf("unchanged: %d %v %s", got.code, got.header, got.text)
	}
	changed := "1000"
	reswept.resourceVersion.Store(&changed)
	if got := w.do("GET", path, "", "If-None-Match", etag); got.code != http.StatusOK || got.header.Get("ETag") == etag || !strings.Contains(got.text, `"resourceVersion":"1000"`) {
		t.Errorf("changed: %d %v %s", got.code, got.header, got.text)
	}
}

// TestFence: a late writer does not restore an old CRD, and neither deletes a new one.
func TestFence(t *testing.T) {
	w := start(t, nil)
	register := func(notOlderThan int64) string {
		_, err := w.registry.RegisterCrd(t.Context(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(mirroredManifest), AsStored: true, NotOlderThan: notOlderThan})
		if err == nil {
			return ""
		}
		return reason(t, status.Convert(err))
	}
	remove := func(notOlderThan int64) string {
		_, err := w.registry.DeleteCrd(t.Context(), &crdevalv1.DeleteCrdRequest{Catalog: "default", Crd: "fans.example.com", NotOlderThan: notOlderThan})
		if err == nil {
			return ""
		}
		return reason(t, status.Convert(err))
	}
	for i, step := range []struct {
		do   func(int64) string
		at   int64
		want string
	}{
		{register, -1, "INVALID_ARGUMENT"}, {register, 5, ""}, {register, 4, "CRD_OUTDATED"}, {register, 5, ""}, {register, 0, ""},
		{remove, 4, "CRD_OUTDATED"}, {remove, 6, ""}, {register, 5, "CRD_OUTDATED"}, {register, 7, ""},
	} {
		if got := step.do(step.at); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	rules := &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(mirroredManifest), AsStored: true, Conversion: jsonDocument(`{}`)}
	if _, err := w.registry.RegisterCrd(t.Context(), rules); reason(t, status.Convert(err)) != "INVALID_ARGUMENT" {
		t.Errorf("conversion rules as stored: %v", err)
	}
}

// TestDocumentsOfRevision: discovery and OpenAPI documents of one CRD, at one of its revisions.
func TestDocumentsOfRevision(t *testing.T) {
	w := start(t, nil).withLamp().withCronTab()
	register := func(manifest string) *crdevalv1.Crd {
		t.Helper()
		got, err := w.registry.RegisterCrd(t.Context(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(manifest)})
		if err != nil || !got.GetAccepted() {
			t.Fatal(got, err)
		}
		return got.GetCrd()
	}
	first := register(lampManifest)
	register(strings.ReplaceAll(lampManifest, "watts", "volts"))
	for _, c := range []struct {
		path        string
		has, hasNot string
	}{
		{"/openapi/v3/apis/example.com/v1?crd=lamps.example.com", "volts", "watts"},
		{"/openapi/v3/apis/example.com/v1?crd=lamps.example.com&revision=" + first.GetRevision(), "watts", "volts"},
		{"/crds/lamps.example.com:openapiModels?revision=" + first.GetRevision(), "watts", "volts"},
		{"/openapi/v3?crd=lamps.example.com", "example.com", "stable.example.com"},
		{"/apis?crd=lamps.example.com", `"example.com"`, "stable.example.com"},
	} {
		if a := w.do("GET", toShow+c.path, ""); a.code != http.StatusOK || !strings.Contains(a.text, c.has) || strings.Contains(a.text, c.hasNot) {
			t.Errorf("%s: %d %.600s", c.path, a.code, a.text)
		}
	}
	for path, want := range map[string]string{
		"/openapi/v3?revision=" + first.GetRevision():          "INVALID_ARGUMENT",
		"/openapi/v3?crd=lamps.example.com&revision=sha256:00": "REVISION_NOT_FOUND",
		"/openapi/v3?crd=no.such":                              "CRD_NOT_FOUND",
		"/apis?revision=" + first.GetRevision():                "INVALID_ARGUMENT",
	} {
		if a := w.do("GET", toShow+path, ""); reason(t, a.status(t)) != want {
			t.Errorf("%s: %d %s", path, a.code, a.text)
		}
	}
}

// TestStatusOfCRD: the metav1.Status of a rejected CRD, and the warnings of Kubernetes.
func TestStatusOfCRD(t *testing.T) {
	w := start(t, nil)
	bad := strings.Replace(lampManifest, "scope: Namespaced", "scope: Nowhere\n  unknown: 1", 1)
	got, err := w.registry.CheckCrd(t.Context(), &crdevalv1.CheckCrdRequest{Catalog: "default", Manifest: yamlDocument(bad), WithStatus: true})
	if err != nil {
		t.Fatal(err)
	}
	var s metav1.Status
	report := got.GetReport()
	if err := json.Unmarshal(report.GetRejection().GetStatus().GetJson(), &s); err != nil || s.Code != http.StatusUnprocessableEntity || len(s.Details.Causes) != len(report.GetViolations()) || s.Message != report.GetRejection().GetMessage() {
		t.Errorf("%v %v", err, got)
	}
	if k := report.GetKubernetesWarnings(); len(k) != 1 || k[0] != `unknown field "spec.unknown"` {
		t.Errorf("%q", k)
	}
	got, err = w.registry.CheckCrd(t.Context(), &crdevalv1.CheckCrdRequest{Catalog: "default", Manifest: yamlDocument(bad)})
	if err != nil || got.GetReport().GetRejection() == nil || got.GetReport().GetRejection().GetStatus() != nil {
		t.Errorf("without with_status: %v %v", got, err)
	}
}
