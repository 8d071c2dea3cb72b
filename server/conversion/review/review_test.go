package review

import (
	"encoding/json"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// TestNew compares the JSON of requests with that of an API server, which includes an empty response.
func TestNew(t *testing.T) {
	const request = `{"request":{"uid":"u","desiredAPIVersion":"example.com/v2","objects":[{"a":1}]},` +
		`"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}`
	for _, c := range []struct {
		versions []string
		want     string // type of the response; "" if no version is known
	}{
		{[]string{"v1", "v1beta1"}, "*v1.ConversionReview"},
		{[]string{"v2", "v1beta1", "v1"}, "*v1beta1.ConversionReview"},
		{[]string{"v2"}, ""},
	} {
		sent, empty, err := New(conversionwebhook.Request{
			DesiredAPIVersion: "example.com/v2", Objects: [][]byte{[]byte(`{"a":1}`)},
			Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: c.versions},
		}, "u")
		if c.want == "" {
			if err == nil {
				t.Errorf("%v: no error", c.versions)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(sent)
		if err != nil || string(text) != request {
			t.Errorf("%v: %s, %v", c.versions, text, err)
		}
		if got := fmt.Sprintf("%T", empty); got != c.want {
			t.Errorf("%v: the response is a %s, want %s", c.versions, got, c.want)
		}
	}
}
