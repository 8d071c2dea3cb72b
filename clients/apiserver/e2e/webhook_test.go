package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// startWebhook starts the conversion webhook of the page: hostPort of v1beta1 is host and port of v1. Its address and
// certificate are variables of the script.
func startWebhook(env *testscript.Env) {
	s := httptest.NewTLSServer(http.HandlerFunc(convertCrontabs))
	env.Defer(s.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	env.Setenv("WEBHOOK_URL", s.URL+"/crdconvert")
	env.Setenv("CA_BUNDLE", base64.StdEncoding.EncodeToString(certificate))
}

func convertCrontabs(w http.ResponseWriter, r *http.Request) {
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
		if joined, ok := object["hostPort"].(string); ok {
			object["host"], object["port"], _ = strings.Cut(joined, ":")
			delete(object, "hostPort")
		} else if host, ok := object["host"].(string); ok {
			object["hostPort"] = host + ":" + object["port"].(string)
			delete(object, "host")
			delete(object, "port")
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
	_ = json.NewEncoder(w).Encode(review)
}
