package tests

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// TestServedGet requests paths that are served, that are rejected, and for which the storage panics.
func TestServedGet(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "crontabs.stable.example.com"}}
	crd.Spec.Group, crd.Spec.Scope = "stable.example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Singular: "crontab", Kind: "CronTab", ListKind: "CronTabList"}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}}
	crd.Status.AcceptedNames, crd.Status.StoredVersions = crd.Spec.Names, []string{"v1"}
	var opened []string
	handler, err := served.Handler(crd, func(o served.Opened) storage.Interface {
		opened = append(opened, o.NewObject().GetObjectKind().GroupVersionKind().String())
		return emptyStorage{}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const group = "/apis/stable.example.com/"
	body, rejection, err := served.Get(handler, group+"v1/crontabs", nil, "application/json")
	if err != nil || rejection != nil || !strings.Contains(string(body), `"kind":"CronTabList"`) {
		t.Errorf("list: %s %v %v", body, rejection, err)
	}
	if body, rejection, err = served.Get(handler, group+"v1/crontabs", url.Values{"fieldSelector": {"spec.x=y"}}, "application/json"); err != nil || rejection == nil || rejection.Code != http.StatusBadRequest {
		t.Errorf("list by an unknown field: %s %v %v", body, rejection, err)
	}
	if body, rejection, err = served.Get(handler, group+"v1/namespaces/default/crontabs/one", nil, "application/json"); err != nil || rejection == nil || rejection.Message != served.Panicked {
		t.Errorf("a storage that panics: %s %v %v", body, rejection, err)
	}
	if body, rejection, err = served.Get(handler, group+"v2/crontabs", nil, "application/json"); err == nil { // not a Status: the handler behind it answers
		t.Errorf("another version: %s %v", body, rejection)
	}
	if len(opened) != 1 || opened[0] != "stable.example.com/v1, Kind=CronTab" {
		t.Errorf("storages of %q", opened)
	}
}

// emptyStorage is an empty storage that panics on a GET of one object.
type emptyStorage struct{ storage.Interface }

// Versioner implements storage.Interface.
func (emptyStorage) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (emptyStorage) ReadinessCheck() error { return nil }

// GetList implements storage.Interface.
func (emptyStorage) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	return nil
}
