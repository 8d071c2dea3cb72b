package admission

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Refusal is the part of the metav1.Status that an API server sends.
type Refusal struct {
	Code    int32
	Reason  string
	Message string
	// Cause is the error that the message wraps, without the request handler's preamble; the message itself if it wraps none.
	Cause string
	// Details are those of the Status, nil for none; their causes only if Request.WantStatus asks for them.
	Details *metav1.StatusDetails
}

// Status is what an API server answers for the refusal, as JSON.
//
// Upstream: endpoints/handlers/responsewriters/status.go, ErrorToAPIStatus.
func (r *Refusal) Status() ([]byte, error) {
	return json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: r.Code, Reason: metav1.StatusReason(r.Reason), Message: r.Message, Details: r.Details,
	})
}

// refusalOf is the Refusal of an error that apimachinery makes.
func refusalOf(err *apierrors.StatusError) *Refusal {
	s := err.ErrStatus
	if !utf8.ValidString(s.Message) {
		s.Message = string([]rune(s.Message)) // as JSON has it: each byte that is none is U+FFFD
	}
	return &Refusal{Code: s.Code, Reason: string(s.Reason), Message: s.Message, Cause: s.Message, Details: s.Details}
}

func badRequest(message, cause string) *Refusal {
	r := refusalOf(apierrors.NewBadRequest(message))
	r.Cause = cause
	return r
}

// notFound is the answer to a request for a subresource that the version does not have.
//
// Upstream: customresource_handler.go, ServeHTTP.
func (d *Definition) notFound(name string) *Refusal {
	return refusalOf(apierrors.NewNotFound(d.resource(), name))
}

func (d *Definition) resource() schema.GroupResource {
	return schema.GroupResource{Group: d.Group, Resource: d.Plural}
}

// serverError is the answer to what goes wrong behind the request handler.
func serverError(text string) *Refusal {
	return &Refusal{Code: 500, Reason: string(metav1.StatusReasonInternalError), Message: text, Cause: text}
}

// unexplained is the answer to what goes wrong between the strategy and the storage: an error that has no Status of its own.
func unexplained(text string) *Refusal {
	return &Refusal{Code: http.StatusInternalServerError, Message: text, Cause: text}
}

// invalid is the answer to an object with findings. The text has each finding's message once, in brackets if there are several.
// The caller looks whether stop ended it before its end.
func invalid(kind schema.GroupKind, name string, found []violation.Violation, stop *interrupt.Signal) *Refusal {
	text := violation.Message(kind, name, violation.Errors(found), stop.Stopped)
	return &Refusal{
		Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: text, Cause: text,
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name},
	}
}

// causes are the findings as a Status lists them: each, also those that its message leaves out as repeated.
func causes(found []violation.Violation) []metav1.StatusCause {
	list := make([]metav1.StatusCause, len(found))
	for i := range found {
		e := found[i].Error
		list[i] = metav1.StatusCause{Type: metav1.CauseType(e.Type), Message: string(violation.AppendBody(nil, e)), Field: e.Field}
	}
	return list
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
func decodeUpstream(r *Request, endpoint *schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	s := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, unstructuredscheme.NewUnstructuredCreator(),
		unstructuredscheme.NewUnstructuredObjectTyper(), jsonserializer.SerializerOptions{Yaml: r.YAML, Strict: r.FieldValidation != Ignore})
	_, of, err := s.Decode(r.Body, endpoint, &unstructured.Unstructured{})
	if runtime.IsStrictDecodingError(err) {
		err = nil // duplicates are the caller's
	}
	return of, err
}
