package responses

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// startWebhook starts a conversion webhook, and returns what replaces WEBHOOK_URL and CA_BUNDLE in a script.
func startWebhook(t *testing.T) *strings.Replacer {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(convert))
	t.Cleanup(s.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return strings.NewReplacer("WEBHOOK_URL", s.URL, "CA_BUNDLE", base64.StdEncoding.EncodeToString(certificate))
}

// convert sets the version of the objects.
func convert(w http.ResponseWriter, r *http.Request) {
	review := apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not a ConversionReview", http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range review.Request.Objects {
		object := map[string]any{}
		if err := json.Unmarshal(o.Raw, &object); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		object["apiVersion"] = review.Request.DesiredAPIVersion
		text, err := json.Marshal(object)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: text})
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the connection may be lost
}
