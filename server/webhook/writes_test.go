package webhook_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

// TestWrites runs the creations and updates of package writecase through the validating webhook. Each CRD is in a catalog
// of its name.
func TestWrites(t *testing.T) {
	s := serve(t, nil)
	for _, name := range writecase.CRDs(t) {
		s.post(t, "/v1/catalogs", `{"catalog":"`+name+`"}`)
		manifest := writecase.Manifest(name)
		if code, _, text := s.post(t, "/v1/catalogs/"+name+"/crds", manifest, "Content-Type", "application/yaml"); code != http.StatusOK {
			t.Fatalf("%s: HTTP %d: %s", name, code, text)
		}
	}
	writecase.Run(t, 40, writecase.Surface{
		Name: "webhook", Call: "Validate",
		Run: func(t *testing.T, c *writecase.Case) writecase.Result {
			t.Helper()
			review := reviewOf(t, c)
			if review == nil {
				return nil
			}
			body, err := json.Marshal(review)
			if err != nil {
				t.Fatal(err)
			}
			code, _, text := s.post(t, "/webhooks/catalogs/"+c.CRD+"/validate", string(body))
			return answerLines(t, code, text)
		},
		Reports: func(_ *writecase.Case, l writecase.Line) (writecase.Line, bool) {
			isCause := l.Key == "violation" && kubeserver.IsCause(l.Type)
			if l.Key == "warning" {
				l.Type = ""
			}
			if l.Key == "verdict" && strings.HasPrefix(l.Text, "500 ") {
				l.Text = strings.Replace(l.Text, "500  ", "500 InternalError ", 1)
			}
			return writecase.Line{Key: l.Key, Type: l.Type, Text: l.Text}, isCause || l.Key == "verdict" || l.Key == "warning"
		},
	})
}

// reviewOf returns the review of a case, or nil if an API server sends no such review: for documents that it cannot
// decode or evaluate, for patches, which it applies before, and for scales.
func reviewOf(t *testing.T, c *writecase.Case) *admissionv1.AdmissionReview {
	t.Helper()
	operation, text := c.Operation()
	isWhole := c.Call == "Admit" && (operation == "create" || operation == "update")
	if !isWhole || c.File == "errors" || c.YAML || c.OldYAML || c.OldDecoded || c.Subresource == "scale" ||
		c.CompleteMetadata || c.GeneratedName != "" {
		return nil
	}
	var meta metav1.PartialObjectMetadata
	if json.Unmarshal([]byte(text), &meta) != nil || meta.Kind == "" || meta.Name == "" {
		return nil
	}
	resource, group, _ := strings.Cut(c.CRDName(t), ".")
	_, version, _ := strings.Cut(meta.APIVersion, "/")
	if c.Version != "" {
		version = c.Version
	}
	r := &admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Create, Name: c.ObjectName, Namespace: c.Namespace, SubResource: c.Subresource,
		Kind:     metav1.GroupVersionKind{Group: group, Version: version, Kind: meta.Kind},
		Resource: metav1.GroupVersionResource{Group: group, Version: version, Resource: resource},
		Object:   runtime.RawExtension{Raw: []byte(text)},
		Options:  runtime.RawExtension{Raw: []byte(`{"fieldValidation":"` + c.FieldValidation + `"}`)},
	}
	if operation == "update" {
		r.Operation, r.OldObject.Raw = admissionv1.Update, []byte(*c.Old)
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"}, Request: r,
	}
}

// answerLines returns the lines of an answer. A request that cannot be evaluated has the error as its message.
func answerLines(t *testing.T, code int, text []byte) (r writecase.Result) {
	t.Helper()
	if code != http.StatusOK {
		r.Add("error", string(text))
		return r
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	got := answer.Response
	status := got.Result
	if status == nil {
		status = &metav1.Status{}
	}
	if got.Allowed != (status.Code == 0) {
		r.Add("inconsistent", string(text))
	}
	r.AddRejection(status.Code, string(status.Reason), status.Message, "")
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			line := writecase.Line{Key: "violation", Type: string(cause.Type), Text: cause.Message}
			if cause.Field != "" {
				line.Text = cause.Field + ": " + cause.Message
			}
			r = append(r, line)
		}
	}
	for _, w := range got.Warnings {
		r = append(r, writecase.Line{Key: "warning", Text: w})
	}
	return r
}
