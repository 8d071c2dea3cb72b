package standalone_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// widgets is a CRD with two versions. Objects are stored in v1.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"color": {Type: "string"}, "size": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
		}}
		whole := &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
		}
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: whole},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v1beta1", false)},
		},
	}
}

// startWebhook starts a webhook. /mutate adds a spec with the color and an unknown field, /validate rejects objects
// named bad.
func startWebhook(t *testing.T) (client func(path string) admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		switch {
		case r.URL.Path == "/mutate":
			patch := `[{"op": "add", "path": "/spec", "value": {"color": "red", "unknown": 1}}]`
			kind := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = []byte(patch), &kind
		case review.Request.Name == "bad":
			response.Allowed, response.Result = false, &metav1.Status{Message: "no bad " + review.Request.Kind.Version + " objects"}
		}
		review.Response = response
		_ = json.NewEncoder(w).Encode(review) // the API server reports a response that it cannot read
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return func(path string) admissionregistrationv1.WebhookClientConfig {
		url := server.URL + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	}
}

// TestWebhooks configures admission webhooks for custom resources and secrets.
func TestWebhooks(t *testing.T) {
	ctx := t.Context()
	config := apiservertest.StartWith(t, apiservertest.Options{Kinds: true}, widgets())
	kinds, err := kubernetes.NewForConfig(config)
	check(t, err)
	objects, err := dynamic.NewForConfig(config)
	check(t, err)
	client, none := startWebhook(t), admissionregistrationv1.SideEffectClassNone
	rules := func(group, version, resource string) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
		}}
	}
	_, err = kinds.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.example.com", ClientConfig: client("/mutate"), Rules: rules("example.com", "v1", "widgets"),
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	check(t, err)
	_, err = kinds.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: client("/validate"),
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			Rules: append(rules("example.com", "v1", "widgets"), rules("", "v1", "secrets")...),
		}},
	}, metav1.CreateOptions{})
	check(t, err)

	create := func(version, name string) (*unstructured.Unstructured, error) {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("example.com/" + version)
		u.SetKind("Widget")
		u.SetName(name)
		gvr := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}
		return objects.Resource(gvr).Namespace("default").Create(ctx, u, metav1.CreateOptions{})
	}
	rejected := func(err error, version string) bool {
		want := `admission webhook "validate.example.com" denied the request: no bad ` + version + " objects"
		return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), want)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) { // the server follows the configurations with a delay
		bad := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}
		_, err := kinds.CoreV1().Secrets("default").Create(ctx, bad, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if rejected(err, "v1") {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("a bad secret: %v", err)
		}
	}
	for _, version := range []string{"v1", "v1beta1"} { // the rules match an equivalent version
		if _, err := create(version, "bad"); !rejected(err, "v1") {
			t.Errorf("a bad object of %s: %v", version, err)
		}
		good, err := create(version, "good-"+version)
		check(t, err)
		text, err := json.Marshal(good.Object["spec"])
		check(t, err)
		if got := string(text); got != `{"color":"red","size":1}` {
			t.Errorf("%s: created %s", version, got)
		}
	}

	broken, webhook := client("/validate"), kinds.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	broken.CABundle = []byte(base64.StdEncoding.EncodeToString([]byte("no certificate")))
	got, err := webhook.Get(ctx, "v", metav1.GetOptions{})
	check(t, err)
	got.Webhooks[0].ClientConfig = broken
	got, err = webhook.Update(ctx, got, metav1.UpdateOptions{})
	check(t, err)
	if got.Generation != 2 || *got.Webhooks[0].TimeoutSeconds != 10 || *got.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail {
		t.Errorf("configuration %+v", got)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, err := create("v1", "bad")
		if apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook") {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("with a broken webhook: %v", err)
		}
	}
}
