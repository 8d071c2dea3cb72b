package admission

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Code says why a request could not be evaluated.
type Code string

// The codes of a Fault.
const (
	InvalidArgument       Code = "INVALID_ARGUMENT"
	ManifestUnreadable    Code = "MANIFEST_UNREADABLE"
	NotACRD               Code = "NOT_A_CRD"
	ObjectUnreadable      Code = "OBJECT_UNREADABLE"
	VersionNotFound       Code = "VERSION_NOT_FOUND"
	VersionNotServed      Code = "VERSION_NOT_SERVED"
	LimitExceeded         Code = "LIMIT_EXCEEDED"
	Deadline              Code = "ITEM_DEADLINE"
	ObjectRejected        Code = "OBJECT_REJECTED"
	ConversionUnavailable Code = "CONVERSION_UNAVAILABLE"
	ConversionFailed      Code = "CONVERSION_FAILED"
	Internal              Code = "INTERNAL"
)

// Fault is the error of a request that could not be evaluated. It says nothing about the object.
type Fault struct {
	Code Code
	Text string
	// Limit is set for LimitExceeded.
	Limit *tree.LimitError
	// Rejection and Violations are set for ObjectRejected. Violations are also set for a document that is not JSON or
	// YAML.
	Rejection  *Rejection
	Violations []violation.Violation
	// Warnings go with Rejection.
	Warnings []violation.Warning
	// Position is where the error is in the document, the zero Position if that is not known.
	Position tree.Position
	Cause    error
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// exceeded returns the Fault of an object that exceeds a limit. err is a *tree.LimitError.
func exceeded(err error) *Fault {
	var limit *tree.LimitError
	if !errors.As(err, &limit) {
		return internal(err)
	}
	return &Fault{Code: LimitExceeded, Text: "object: " + limit.Error(), Limit: limit, Cause: err}
}

func internal(err error) *Fault {
	return &Fault{Code: Internal, Text: "internal error: " + err.Error(), Cause: err}
}

// expired returns the Fault of a context that has ended, or nil.
func expired(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	text := "the call was cancelled before the object was evaluated"
	if errors.Is(err, context.DeadlineExceeded) {
		text = "the deadline passed before the object was evaluated: allow more time, or send a smaller object"
	}
	return &Fault{Code: Deadline, Text: text, Cause: err}
}

func (d *Definition) noVersion(what, version string) *Fault {
	names := d.names(func(*Version) bool { return true })
	return &Fault{Code: VersionNotFound, Text: fmt.Sprintf("%s %q is not a version of %s: it has %s",
		what, version, d.Name, names)}
}

// names lists the names of versions.
func (d *Definition) names(include func(*Version) bool) string {
	var names []string
	for _, v := range d.Versions {
		if include(v) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ", ")
}

// endpoint returns a version that is served. what names the origin of the version in errors.
func (d *Definition) endpoint(what, name string) (*Version, error) {
	v := d.Find(name)
	switch {
	case v == nil:
		return nil, d.noVersion(what, name)
	case !v.Served:
		served := cmp.Or(d.names(func(v *Version) bool { return v.Served }), "none")
		return nil, &Fault{Code: VersionNotServed, Text: fmt.Sprintf(
			"version %q of %s is not served: served versions: %s", v.Name, d.Name, served)}
	}
	return v, nil
}

// about returns a copy of a Fault whose text starts with what instead of "object: ".
func about(f *Fault, what string) error {
	other := *f
	other.Text = what + strings.TrimPrefix(f.Text, "object: ")
	return &other
}

// Rejection is the part of a metav1.Status that API servers send.
type Rejection struct {
	// Code is the HTTP status code, usually 400 or 422.
	Code int32
	// Reason is the metav1.StatusReason: BadRequest, Invalid.
	Reason string
	// Message is the text of the Status.
	Message string
	// Cause is the error in Message without the request handler's preamble, or Message itself.
	Cause string
	// Details are those of the Status, or nil. They include causes only if the Status was asked for.
	Details *metav1.StatusDetails
}

// Status returns the metav1.Status as JSON.
//
// Upstream: endpoints/handlers/responsewriters/status.go, ErrorToAPIStatus.
func (r *Rejection) Status() ([]byte, error) {
	return json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: r.Code, Reason: metav1.StatusReason(r.Reason), Message: r.Message, Details: r.Details,
	})
}

// rejectionOf returns the Rejection of an apimachinery error.
func rejectionOf(err *apierrors.StatusError) *Rejection {
	s := err.ErrStatus
	if !utf8.ValidString(s.Message) {
		s.Message = string([]rune(s.Message)) // JSON encodes an invalid byte as U+FFFD
	}
	return &Rejection{Code: s.Code, Reason: string(s.Reason), Message: s.Message, Cause: s.Message, Details: s.Details}
}

func badRequest(message, cause string) *Rejection {
	r := rejectionOf(apierrors.NewBadRequest(message))
	r.Cause = cause
	return r
}

// otherVersion returns the answer to a body of another version than the endpoint's.
func otherVersion(got, want string) *Rejection {
	text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got, want)
	return badRequest(text, text)
}

// notFound returns the answer to a request for a subresource that the version does not have.
//
// Upstream: customresource_handler.go, ServeHTTP.
func (d *Definition) notFound(name string) *Rejection {
	return rejectionOf(apierrors.NewNotFound(d.resource(), name))
}

func (d *Definition) resource() schema.GroupResource {
	return schema.GroupResource{Group: d.Group, Resource: d.Plural}
}

// serverError returns the answer to an error after the request handler.
func serverError(text string) *Rejection {
	return &Rejection{Code: 500, Reason: string(metav1.StatusReasonInternalError), Message: text, Cause: text}
}

// statusless returns the answer to an error between strategy and storage that has no Status of its own.
func statusless(text string) *Rejection {
	return &Rejection{Code: http.StatusInternalServerError, Message: text, Cause: text}
}

// invalid returns the answer to an object with violations. The message has each distinct text once. If stop fires, the
// message is incomplete.
func invalid(kind schema.GroupKind, name string, found []violation.Violation, stop *interrupt.Signal) *Rejection {
	text := violation.Message(kind, name, violation.Errors(found), stop.Stopped)
	return &Rejection{
		Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: text, Cause: text,
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name},
	}
}

// causes returns all violations as causes of a Status, including repeated ones.
func causes(found []violation.Violation) []metav1.StatusCause {
	list := make([]metav1.StatusCause, len(found))
	for i := range found {
		e := found[i].Error
		list[i] = metav1.StatusCause{Type: metav1.CauseType(e.Type), Message: string(violation.AppendBody(nil, e)),
			Field: e.Field}
	}
	return list
}

// undecodable returns the answer to a body that could not be decoded. kind is that of the endpoint; of is the type that
// the body declares, or nil.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError.
func undecodable(kind string, of *schema.GroupVersionKind, cause error, body []byte) *Rejection {
	if of != nil && of.Kind != "" {
		return badRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", of.Kind, of.Version, kind,
			cause), cause.Error())
	}
	return badRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, cause,
		summary(body)), cause.Error())
}

// summaryBytes bounds the part of a body in a message.
const summaryBytes = 30

// summary returns the beginning of a body, as text if it looks like JSON, else in hexadecimal.
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

// decodeUpstream decodes a body with the API server's own serializer, for its error texts. It is called only for
// unusual bodies.
func decodeUpstream(r *Request, endpoint *schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	s := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory,
		unstructuredscheme.NewUnstructuredCreator(),
		unstructuredscheme.NewUnstructuredObjectTyper(),
		jsonserializer.SerializerOptions{Yaml: r.YAML, Strict: r.FieldValidation != Ignore})
	_, of, err := s.Decode(r.Body, endpoint, &unstructured.Unstructured{})
	if runtime.IsStrictDecodingError(err) {
		err = nil // the caller reports duplicates
	}
	return of, err
}
