package tests

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

const name = "crontabs.crdeval.dev" // of the webhooks

// fixture is a server with its webhooks, and an API server's plugins that call them.
type fixture struct {
	registry   crdevalv1.RegistryServiceClient
	catalog    atomic.Pointer[string] // for which the webhooks are called
	mutating   *mutating.Plugin
	validating *validating.Plugin
}

func startWebhook(t *testing.T, policy admissionregistrationv1.FailurePolicyType) *fixture {
	t.Helper()
	conn, handler := serve(t, api.Limits{})
	f := &fixture{registry: crdevalv1.NewRegistryServiceClient(conn)}
	f.about("default")
	rest := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "/catalogs/current/", "/catalogs/"+*f.catalog.Load()+"/", 1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(rest.Close)
	f.plugins(t, rest, policy)
	return f
}

func (f *fixture) about(catalog string) { f.catalog.Store(&catalog) }

// plugins creates the API server's plugins, configured like the samples in deploy/.
func (f *fixture) plugins(t *testing.T, rest *httptest.Server, policy admissionregistrationv1.FailurePolicyType) {
	t.Helper()
	config := func(webhook string) admissionregistrationv1.WebhookClientConfig {
		url := rest.URL + "/webhooks/catalogs/current/" + webhook
		return admissionregistrationv1.WebhookClientConfig{
			URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rest.Certificate().Raw}),
		}
	}
	scope, equivalent, none, seconds := admissionregistrationv1.AllScopes, admissionregistrationv1.Equivalent, admissionregistrationv1.SideEffectClassNone, int32(300)
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*", "*/*"}, Scope: &scope},
	}}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })

	m, err := mutating.NewMutatingWebhook(nil)
	if err != nil {
		t.Fatal(err)
	}
	client, informers := webhooktesting.NewFakeMutatingDataSource("default", []admissionregistrationv1.MutatingWebhook{{
		Name: name, ClientConfig: config("mutate"), Rules: rules, MatchPolicy: &equivalent, SideEffects: &none, TimeoutSeconds: &seconds,
		FailurePolicy: &policy, AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
	}}, stop)
	m.SetServiceResolver(webhookutil.NewDefaultServiceResolver())
	m.SetExternalKubeClientSet(client)
	m.SetExternalKubeInformerFactory(informers)
	if err := m.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	informers.Start(stop)
	informers.WaitForCacheSync(stop)

	v, err := validating.NewValidatingAdmissionWebhook(nil)
	if err != nil {
		t.Fatal(err)
	}
	client, informers = webhooktesting.NewFakeValidatingDataSource("default", []admissionregistrationv1.ValidatingWebhook{{
		Name: name, ClientConfig: config("validate"), Rules: rules, MatchPolicy: &equivalent, SideEffects: &none, TimeoutSeconds: &seconds,
		FailurePolicy: &policy, AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
	}}, stop)
	v.SetServiceResolver(webhookutil.NewDefaultServiceResolver())
	v.SetExternalKubeClientSet(client)
	v.SetExternalKubeInformerFactory(informers)
	if err := v.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	informers.Start(stop)
	informers.WaitForCacheSync(stop)
	for !m.WaitForReady() || !v.WaitForReady() { // each call gives up after ten seconds
	}
	f.mutating, f.validating = m, v
}

// register creates a catalog with the CRD of the webhooks. It reports whether the CRD is accepted.
func (f *fixture) register(t *testing.T, catalog string, manifest []byte) bool {
	t.Helper()
	if catalog != "default" {
		if _, err := f.registry.CreateCatalog(t.Context(), &crdevalv1.CreateCatalogRequest{Catalog: catalog}); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := f.registry.RegisterCrd(t.Context(), &crdevalv1.RegisterCrdRequest{
		Catalog: catalog, Manifest: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: manifest}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.about(catalog)
	return answer.GetAccepted()
}

// write is one write to an API server.
type write struct {
	object, old *unstructured.Unstructured
	resource    string // default: crontabs
	subresource string
	operation   admission.Operation
	validation  string // of fields
}

func (w write) attributes() admission.Attributes {
	gv := schema.GroupVersion{Group: "stable.example.com", Version: "v1"}
	if w.resource == "" {
		w.resource = "crontabs"
	}
	var object, old, options runtime.Object
	if w.object != nil {
		object = w.object
	}
	if w.old != nil {
		old = w.old
	}
	switch w.operation {
	case admission.Create:
		options = &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{Kind: "CreateOptions", APIVersion: "meta.k8s.io/v1"}, FieldValidation: w.validation}
	case admission.Update:
		options = &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{Kind: "UpdateOptions", APIVersion: "meta.k8s.io/v1"}, FieldValidation: w.validation}
	}
	name, namespace := "x", "default"
	if w.object != nil {
		name, namespace = w.object.GetName(), w.object.GetNamespace()
	}
	return admission.NewAttributesRecord(object, old, gv.WithKind("CronTab"), namespace, name, gv.WithResource(w.resource), w.subresource, w.operation, options, false,
		&user.DefaultInfo{Name: "admin", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"k": {"v"}}})
}

// recorded returns the warnings that a client receives.
type recorded struct {
	mu  sync.Mutex
	all []string
}

func (r *recorded) AddWarning(_, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, text)
}

func (f *fixture) admit(t *testing.T, w write) (warnings []string, err error) {
	t.Helper()
	r := &recorded{}
	err = f.mutating.Admit(warning.WithWarningRecorder(t.Context(), r), w.attributes(), webhooktesting.NewObjectInterfacesForTest())
	return r.all, err
}

func (f *fixture) validate(t *testing.T, w write) (warnings []string, err error) {
	t.Helper()
	r := &recorded{}
	err = f.validating.Validate(warning.WithWarningRecorder(t.Context(), r), w.attributes(), webhooktesting.NewObjectInterfacesForTest())
	return r.all, err
}

// received returns an object as an API server passes it to webhooks, or nil if it would have been rejected before.
func received(body []byte) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if o.UnmarshalJSON(body) != nil || o.GetKind() != "CronTab" || o.GetAPIVersion() != "stable.example.com/v1" || o.GetName() == "" || o.GetNamespace() == "" {
		return nil
	}
	return o
}

func parsed(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWebhooks: for every CRD and object, the result of the webhook is the object that a server passes to mutating
// admission, and the webhook rejects what Validate rejects, with the same message.
func TestWebhooks(t *testing.T) {
	f := startWebhook(t, admissionregistrationv1.Fail)
	groups := testenv.Volume(20)
	mutated, patched := 0, 0
	for n := range groups {
		g := generate.Random(generate.New("webhooks", 1, uint64(n)))
		if !f.register(t, fmt.Sprintf("c%d", n), g.CRD) {
			continue
		}
		d, _, err := engine.Compile(t.Context(), engine.JSON(g.CRD), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range g.Objects {
			object := received(o.Body)
			if object == nil || o.YAML {
				continue
			}
			label := fmt.Sprintf("%s, object %d", g.Name, i)
			sent, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			f.checkValidate(t, label, d, object, sent)
			if f.checkMutate(t, label, d, object, sent) {
				patched++
			}
			mutated++
			if t.Failed() {
				t.Fatalf("%s\n%s", g.CRD, sent)
			}
		}
	}
	if mutated < groups || patched < groups/4 {
		t.Errorf("%d objects, of which %d were patched: too few to show anything", mutated, patched)
	}
}

// checkMutate lets the plugin change the object and reports whether it did.
func (f *fixture) checkMutate(t *testing.T, label string, d *engine.Definition, object *unstructured.Unstructured, sent []byte) (changed bool) {
	t.Helper()
	item := engine.Create{Version: "v1", Object: engine.JSON(sent), Name: object.GetName(), Namespace: object.GetNamespace()}
	want, failed := d.Decode(t.Context(), item, engine.AdmitOptions{})
	if failed != nil {
		t.Fatalf("%s: %v", label, failed)
	}
	if _, err := f.admit(t, write{object: object, operation: admission.Create}); !want.Allowed || err != nil {
		if want.Allowed == (err != nil) {
			t.Errorf("%s: %v, want %v", label, err, want.Rejection)
		}
		return false
	}
	got, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed(t, got), parsed(t, want.Object)) {
		t.Errorf("%s\nis   %s\nwant %s", label, got, want.Object)
	}
	return !reflect.DeepEqual(parsed(t, got), parsed(t, sent))
}

func (f *fixture) checkValidate(t *testing.T, label string, d *engine.Definition, object *unstructured.Unstructured, sent []byte) {
	t.Helper()
	want, err := d.Validate(t.Context(), engine.Create{Version: "v1", Object: engine.JSON(sent), Name: object.GetName(), Namespace: object.GetNamespace()}, engine.ValidateOptions{})
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	warnings, err := f.validate(t, write{object: object, operation: admission.Create})
	if want.Allowed != (err == nil) {
		t.Fatalf("%s: %v, want %v", label, err, want.Rejection)
	}
	texts := engine.KubernetesWarnings(want.Warnings)
	if len(texts) < 10 && !reflect.DeepEqual(warnings, slices.Compact(texts)) && len(warnings)+len(texts) > 0 {
		t.Errorf("%s: warnings %q, want %q", label, warnings, texts)
	}
	if err == nil {
		return
	}
	var got apierrors.APIStatus
	if got, _ = err.(apierrors.APIStatus); got == nil {
		t.Errorf("%s: %v", label, err)
		return
	}
	s := got.Status()
	if s.Code != want.Rejection.Code || string(s.Reason) != want.Rejection.Reason || s.Message != fmt.Sprintf("admission webhook %q denied the request: %s", name, want.Rejection.Message) {
		t.Errorf("%s: %d %s %s\nwant %+v", label, s.Code, s.Reason, s.Message, want.Rejection)
	}
	causes := 0
	if s.Details != nil {
		causes = len(s.Details.Causes)
	}
	reasons := 0
	for i := range want.Violations {
		if kubeserver.IsCause(want.Violations[i].Type) {
			reasons++
		}
	}
	if causes != reasons {
		t.Errorf("%s: %d causes of %d", label, causes, reasons)
	}
}
