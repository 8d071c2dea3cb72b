package oracle

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Field validation directives of a request, as in the API.
const (
	Warn   = "Warn"
	Strict = "Strict"
	Ignore = "Ignore"
)

// Op is the operation on an object.
type Op string

// The operations.
const (
	Create  Op = ""        // a create request
	Read    Op = "read"    // stored bytes, read at Target
	Convert Op = "convert" // converted to Target and coerced
	Prune   Op = "prune"   // metadata coerced, unknown fields removed
	Default Op = "default" // nulls dropped, defaults filled in
	Update  Op = "update"  // an update of Old
	Status  Op = "status"  // an update of Old's status
	Scale   Op = "scale"   // an update of Old's scale
)

// Request is one operation on one object.
type Request struct {
	// Op is the operation. Target is the version for Read and Convert.
	Op     Op
	Target string
	// Old is the stored object that an update replaces.
	Old []byte
	// Version is the endpoint's version.
	Version string
	// Body is the object, JSON or YAML.
	Body []byte
	YAML bool
	// FieldValidation is Warn, Strict or Ignore. The default is Warn.
	FieldValidation string
	// Handler adds what the request handler does to metadata after decoding. Namespace is then the namespace in the
	// URL, or empty for that of the object.
	Handler   bool
	Namespace string
	// Whole sends the request to the API server's own handlers, with Name and Namespace in its URL. Patch is the media
	// type if Body is a patch of Old.
	Whole bool
	Name  string
	Patch string
	// Mutation is a merge patch that mutating admission applies, or nil.
	Mutation []byte
}

// Writes reports whether the request writes an object.
func (r Request) Writes() bool {
	return r.Op == Create || r.Op == Update || r.Op == Status || r.Op == Scale
}

// The media types of patches.
const (
	MergePatch = "application/merge-patch+json"
	JSONPatch  = "application/json-patch+json"
)

// creator creates empty unstructured objects, like unstructuredCreator.
type creator struct{}

func (creator) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// create answers a create request: decode, coerce, default, prepare, validate. Metadata that a server sets (uid, times,
// managed fields, generated names) stays as in the request. Warnings are the distinct headers that a client receives.
func (d *Definition) create(r Request) Answer {
	v := d.versions[r.Version]
	if v == nil || !v.served {
		return Answer{Rejection: &Rejection{Code: 404, Reason: "NotFound", Message: "the server could not find the requested resource"}}
	}
	var headers headers
	headers.add(v.warnings...)
	obj, strict, rejection := d.decode(v, r)
	for _, text := range strict {
		headers.add(yamlWarnings(text)...)
	}
	if rejection != nil {
		rejection.Warnings = headers.sent()
		return *rejection
	}
	if r.Handler {
		if err := d.handle(obj, r, &headers); err != nil {
			return Answer{Rejection: rejectionOf(err), DecodeError: err.Error(), Warnings: headers.sent()}
		}
	}
	answer := Answer{Strict: strict}
	ctx := context.Background()
	v.strategy.PrepareForCreate(ctx, obj)
	if answer.Errors = FieldErrorsOf(rest.ValidateCreate(ctx, tracked(obj, r), v.strategy)); len(answer.Errors) == 0 {
		headers.add(v.strategy.WarningsOnCreate(ctx, obj)...)
	}
	answer.nameNotGenerated(obj)
	answer.Warnings = headers.sent()
	answer.Object, _ = json.Marshal(obj)
	return answer
}

// nameNotGenerated replaces upstream's message about an object with a generateName and no name by crdeval's message. An
// API server generates the name before it validates.
func (a *Answer) nameNotGenerated(obj *unstructured.Unstructured) {
	if obj.GetName() != "" || obj.GetGenerateName() == "" {
		return
	}
	const required = "name or generateName is required"
	const generate = "no name was generated from generateName: set generatedName to the generated name, or completeMetadata"
	for i := range a.Errors {
		if e := &a.Errors[i]; e.Field == "metadata.name" && e.Detail == required {
			e.Detail, e.Message = generate, strings.Replace(e.Message, required, generate, 1)
		}
	}
}

// Answer answers a request.
func (d *Definition) Answer(r Request) Answer {
	var a Answer
	var err error
	if r.Whole {
		return d.serve(r)
	}
	if v := d.versions[r.Version]; d.unserved && r.Writes() && v != nil && v.served {
		return Answer{Rejection: rejectionOf(apierrors.NewInternalError(errors.New("error resolving resource")))}
	}
	if d.unserved && r.Op == Read {
		return Answer{Rejection: &Rejection{Code: 500, Reason: Unworded}}
	}
	switch r.Op {
	case Read:
		a.Object, err = d.Stored(r.Body, r.Target)
	case Convert:
		a.Object, err = d.Converted(r.Body, r.Target)
	case Prune:
		a.Object, a.Strict, err = d.Pruned(r.Body, r.Version)
	case Default:
		a.Object, err = d.Defaulted(r.Body, r.Version)
	case Update, Status:
		return d.update(r)
	default:
		return d.create(r)
	}
	if errors.Is(err, ErrNoMetadata) {
		return Answer{Rejection: &Rejection{Code: 500, Reason: Panic}}
	}
	if err != nil {
		// The answer of an API server would depend on which of its parts receives the request.
		return Answer{Rejection: &Rejection{Code: 500, Reason: Unworded}, DecodeError: err.Error()}
	}
	return a
}

// Panic is the reason of an answer where upstream panics. There is nothing to compare.
const Panic = "Panic"

// Unworded is the reason of a rejection whose text is not compared.
const Unworded = "Unworded"

// decode reproduces the first half of createHandler (apiserver/pkg/endpoints/handlers/create.go).
func (d *Definition) decode(v *version, r Request) (*unstructured.Unstructured, []string, *Answer) {
	typer := crdserverscheme.NewUnstructuredObjectTyper()
	strictly := r.FieldValidation != Ignore
	delegate := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, creator{}, typer,
		jsonserializer.SerializerOptions{Strict: strictly, Yaml: r.YAML})
	decoder := versioning.NewCodec(nil, coercingDecoder{delegate: delegate, coercer: coercer{
		schemas: d.schemas, kind: d.kind, preserveUnknownFields: d.CRD.Spec.PreserveUnknownFields, trackUnknown: strictly,
	}}, runtime.UnsafeObjectConvertor(scheme), scheme, scheme, defaulter{d.schemas, d.kind}, nil, v.gvk.GroupVersion(), "unstructuredNegotiatedSerializer")

	original := &unstructured.Unstructured{}
	original.SetGroupVersionKind(v.gvk)
	obj, gvk, err := decoder.Decode(r.Body, &v.gvk, original)
	var strict []string
	if err != nil {
		strictErr, isStrict := runtime.AsStrictDecodingError(err)
		if isStrict {
			for _, e := range strictErr.Errors() {
				strict = append(strict, e.Error())
			}
		}
		if !isStrict || obj == nil || r.FieldValidation == Strict {
			// Upstream decodes into the object and then reads the kind of this object, so a decoded body determines the
			// message.
			return nil, nil, &Answer{Rejection: rejectionOf(decodeFailure(original, err, gvk, r.Body)), DecodeError: err.Error()}
		}
	}
	if gvk.GroupVersion() != v.gvk.GroupVersion() {
		err := apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%v)",
			gvk.GroupVersion().String(), v.gvk.GroupVersion().String()))
		return nil, strict, &Answer{Rejection: rejectionOf(err), DecodeError: err.Error()}
	}
	return obj.(*unstructured.Unstructured), strict, nil
}

// decodeFailure reproduces transformDecodeError (endpoints/handlers/rest.go).
func decodeFailure(into *unstructured.Unstructured, base error, gvk *schema.GroupVersionKind, body []byte) error {
	kinds, _, err := crdserverscheme.NewUnstructuredObjectTyper().ObjectKinds(into)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	kind := kinds[0].Kind
	if gvk != nil && len(gvk.Kind) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, kind, base))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, base, summary(body, 30)))
}

// summary reproduces summarizeData: the first bytes of a body, as text if it looks like JSON.
func summary(data []byte, limit int) string {
	head, more := data, ""
	if len(data) > limit {
		head, more = data[:limit], " ..."
	}
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{':
		return string(head) + more
	}
	return hex.EncodeToString(head) + more
}
