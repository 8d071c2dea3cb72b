// Package handwritten is a conversion webhook as a Go programmer writes it by hand: encoding/json decodes a whole
// ConversionReview, a function converts each object, and encoding/json encodes the whole response. Tests check it and
// crdeval's webhook alike, and the benchmark compares the two.
package handwritten

import (
	"encoding/json"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Convert changes an object to a version, given as GROUP/VERSION. The webhook sets apiVersion. It returns an error if
// the object cannot be converted.
type Convert func(object map[string]any, to string) error

// Handler returns a webhook. It answers reviews v1 and v1beta1, which have the same fields. If one object cannot be
// converted, the review fails. A request that is not a ConversionReview gets status 400.
func Handler(convert Convert) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, fmt.Sprintf("the body is not a ConversionReview: %v", err), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request, convert)
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
}

func answer(request *apiextensionsv1.ConversionRequest, convert Convert) *apiextensionsv1.ConversionResponse {
	response := &apiextensionsv1.ConversionResponse{
		UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess},
		ConvertedObjects: make([]runtime.RawExtension, len(request.Objects)),
	}
	for i, given := range request.Objects {
		raw, err := convertOne(given.Raw, request.DesiredAPIVersion, convert)
		if err != nil {
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		response.ConvertedObjects[i].Raw = raw
	}
	return response
}

func convertOne(raw []byte, to string, convert Convert) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if err := convert(object, to); err != nil {
		return nil, err
	}
	object["apiVersion"] = to
	if _, ok := object["metadata"]; !ok { // server-side apply sends objects without it and requires it in the response
		object["metadata"] = map[string]any{}
	}
	return json.Marshal(object)
}
