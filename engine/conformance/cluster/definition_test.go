//go:build cluster

package cluster

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func readCRD(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// setWebhook lets a webhook convert the objects of a CRD.
func setWebhook(crd *apiextensionsv1.CustomResourceDefinition, w webhook) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1", "v1beta1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &w.url, CABundle: w.ca},
		},
	}
}

// document returns a CRD as JSON for crdeval. Rules need the strategy Webhook, but crdeval calls no webhook then.
func document(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []byte {
	t.Helper()
	crd = crd.DeepCopy()
	setWebhook(crd, webhook{url: "https://127.0.0.1/"})
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
