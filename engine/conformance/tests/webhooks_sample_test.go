package tests

import (
	"bytes"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestSample: the webhook configurations in deploy/ call existing webhooks. server/loadtest/deploy checks the other objects.
func TestSample(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	add := func(c admissionregistrationv1.WebhookClientConfig, versions []string, effects *admissionregistrationv1.SideEffectClass) {
		paths = append(paths, *c.Service.Path)
		if strings.Join(versions, "") != "v1" || *effects != admissionregistrationv1.SideEffectClassNone {
			t.Errorf("%s: %v, %v", *c.Service.Path, versions, *effects)
		}
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatal(err)
		}
		switch about.Kind {
		case "MutatingWebhookConfiguration":
			var c admissionregistrationv1.MutatingWebhookConfiguration
			err = yaml.UnmarshalStrict(document, &c)
			for _, w := range c.Webhooks {
				add(w.ClientConfig, w.AdmissionReviewVersions, w.SideEffects)
			}
		case "ValidatingWebhookConfiguration":
			var c admissionregistrationv1.ValidatingWebhookConfiguration
			err = yaml.UnmarshalStrict(document, &c)
			for _, w := range c.Webhooks {
				add(w.ClientConfig, w.AdmissionReviewVersions, w.SideEffects)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", about.Kind, err)
		}
	}
	if got := strings.Join(paths, " "); got != "/webhooks/catalogs/default/mutate /webhooks/catalogs/default/validate" {
		t.Error(got)
	}
}
