package tests

import (
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"
)

// crontab is the sample CRD as JSON.
func crontab(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/samples/crds/crontabs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func object(t *testing.T, rest string) *unstructured.Unstructured {
	t.Helper()
	o := received([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default","resourceVersion":"1"},` + rest + `}`))
	if o == nil {
		t.Fatal(rest)
	}
	return o
}

// TestOperations: requests that do not write the object are allowed without evaluation; updates of object and status
// are evaluated as such; field validation follows the request.
func TestOperations(t *testing.T) {
	f := startWebhook(t, admissionregistrationv1.Fail)
	if !f.register(t, "default", crontab(t)) {
		t.Fatal("the CronTab is not accepted")
	}
	old := object(t, `"spec":{"image":"a","replicas":20},"status":{"runs":5}`)
	for _, c := range []struct {
		name     string
		write    write
		warnings int
		rejected string // by validate, or by mutate if that rejects
	}{
		{"a deletion", write{old: old, operation: admission.Delete}, 0, ""},
		{"a connection", write{operation: admission.Connect}, 0, ""},
		{"an update that leaves what was wrong", write{object: object(t, `"spec":{"image":"b","replicas":20}`), old: old, operation: admission.Update}, 0, ""},
		{"an update to what is wrong", write{object: object(t, `"spec":{"image":"b","replicas":21}`), old: old, operation: admission.Update}, 0, "spec.replicas"},
		{"a status", write{object: object(t, `"spec":{"image":"a"},"status":{"runs":4}`), old: old, operation: admission.Update, subresource: "status"}, 0, "the number of runs must not decrease"},
		{"unknown fields", write{object: object(t, `"spec":{"image":"a","x":1}`), operation: admission.Create}, 1, ""},
		{"unknown fields, ignored", write{object: object(t, `"spec":{"image":"a","x":1}`), operation: admission.Create, validation: "Ignore"}, 0, ""},
		{"unknown fields, strictly", write{object: object(t, `"spec":{"image":"a","x":1}`), operation: admission.Create, validation: "Strict"}, 0, `strict decoding error: unknown field "spec.x"`},
		{"no CRD", write{object: object(t, `"spec":{}`), operation: admission.Create, resource: "others"}, 0, "cannot be evaluated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			warnings, err := f.admit(t, c.write)
			if err == nil {
				var more []string
				more, err = f.validate(t, c.write)
				warnings = append(warnings, more...)
			}
			switch {
			case c.rejected == "" && err != nil, c.rejected != "" && (err == nil || !strings.Contains(err.Error(), c.rejected)):
				t.Errorf("%v", err)
			case len(warnings) != c.warnings:
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// TestFailurePolicy: the failure policy decides if the webhook cannot evaluate, and an API server returns the reason.
func TestFailurePolicy(t *testing.T) {
	for _, policy := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore} {
		f := startWebhook(t, policy)
		f.about("nowhere")
		w := write{object: object(t, `"spec":{}`), operation: admission.Create}
		for name, call := range map[string]func(*testing.T, write) ([]string, error){"mutate": f.admit, "validate": f.validate} {
			_, err := call(t, w)
			switch {
			case policy == admissionregistrationv1.Ignore && err != nil:
				t.Errorf("%s: %v", name, err)
			case policy == admissionregistrationv1.Fail && (!apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `crdeval: `) || !strings.Contains(err.Error(), "nowhere")):
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
