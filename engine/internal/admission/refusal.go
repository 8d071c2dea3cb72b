package admission

import (
	"encoding/hex"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/crdeval/crdeval/engine/internal/stop"
	"github.com/crdeval/crdeval/engine/violation"
)

// Refusal is the part of the metav1.Status that an API server sends.
type Refusal struct {
	Code    int32
	Reason  string
	Message string
	// Cause is the error that the message wraps, without the request handler's preamble; the message itself if it wraps none.
	Cause string
}

func badRequest(message, cause string) *Refusal {
	s := apierrors.NewBadRequest(message).ErrStatus
	return &Refusal{Code: s.Code, Reason: string(s.Reason), Message: s.Message, Cause: cause}
}

// notFound is the answer to a request that no endpoint is there for.
func notFound() *Refusal {
	const text = "the server could not find the requested resource"
	return &Refusal{Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound), Message: text, Cause: text}
}

// serverError is the answer to what goes wrong behind the request handler.
func serverError(text string) *Refusal {
	return &Refusal{Code: 500, Reason: string(metav1.StatusReasonInternalError), Message: text, Cause: text}
}

// invalid is the answer to an object with findings. The text has each finding's message once, in brackets if there are several.
// The caller looks whether stop ended it before its end.
func invalid(kind schema.GroupKind, name string, found []violation.Violation, stop *stop.Signal) *Refusal {
	text := violation.Message(kind, name, violation.Errors(found), stop.Stopped)
	return &Refusal{Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: text, Cause: text}
}

// undecodable is the answer to a body that could not be decoded. kind is what the endpoint holds, of what the body says it is:
// nil if that could not be read.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError.
func undecodable(kind string, of *schema.GroupVersionKind, cause error, body []byte) *Refusal {
	if of != nil && of.Kind != "" {
		return badRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", of.Kind, of.Version, kind, cause), cause.Error())
	}
	return badRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, cause, summary(body)), cause.Error())
}

// summaryBytes is how much of a body a refusal shows.
const summaryBytes = 30

// summary shows the beginning of a body: as text if it looks like JSON, else in hexadecimal.
func summary(body []byte) string {
	if len(body) == 0 {
		return "<empty>"
	}
	more := ""
	head := body
	if len(body) > summaryBytes {
		head, more = body[:summaryBytes], " ..."
	}
	if body[0] == '{' {
		return string(head) + more
	}
	return hex.EncodeToString(head) + more
}

// decodeUpstream decodes a body as the API server's own serializer does, for its verdict on apiVersion and kind and for its
// words. It is asked only when the tree shows, or its parser says, that something is odd.
func decodeUpstream(r *Request, endpoint schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	s := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, unstructuredscheme.NewUnstructuredCreator(),
		unstructuredscheme.NewUnstructuredObjectTyper(), jsonserializer.SerializerOptions{Yaml: r.YAML, Strict: r.FieldValidation != Ignore})
	_, of, err := s.Decode(r.Body, &endpoint, &unstructured.Unstructured{})
	if runtime.IsStrictDecodingError(err) {
		err = nil // duplicates are the caller's
	}
	return of, err
}
