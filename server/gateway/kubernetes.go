package gateway

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/webhook"
)

// mediaAggregated is what clients of Kubernetes accept for discovery in one document.
const mediaAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// aggregatedMarshaler writes discovery in one document.
type aggregatedMarshaler struct{ marshaler }

// ContentType implements runtime.Marshaler.
func (aggregatedMarshaler) ContentType(any) string { return mediaAggregated }

// kubernetesPath reports whether the path of a route is that of an API server below that of a catalog.
func kubernetesPath(template string) bool {
	return strings.Contains(template, "/{catalog}/apis") || strings.Contains(template, "/{catalog}/openapi/")
}

// acceptsAggregated reports whether the first supported form in the header Accept is aggregated discovery.
func acceptsAggregated(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		switch {
		case err != nil:
		case media == mediaJSON && params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && params["v"] == "v2":
			return true
		case params["as"] != "": // another form of Kubernetes
		case media == mediaJSON || media == "application/*" || media == "*/*":
			return false
		}
	}
	return false
}

// acceptsJSON reports whether a client accepts JSON. Like API servers for OpenAPI documents, it ignores parameters.
func acceptsJSON(h http.Header) bool {
	given := strings.Join(h.Values("Accept"), ",")
	for part := range strings.SplitSeq(given, ",") {
		media, _, _ := strings.Cut(part, ";")
		kind, form, _ := strings.Cut(strings.TrimSpace(media), "/")
		if (kind == "application" || kind == "*") && (form == "json" || form == "*") {
			return true
		}
	}
	return strings.Trim(given, ", ") == ""
}

// rejectForm answers a client that does not accept JSON for an OpenAPI document. An API server has protobuf as well.
func rejectForm(w http.ResponseWriter) {
	w.Header().Set("Vary", "Accept")
	writeJSON(w, http.StatusNotAcceptable, kubernetesStatus(&crdevalv1.Rejection{
		Code: http.StatusNotAcceptable, Reason: "NotAcceptable", Message: "only the following media types are accepted: " + mediaJSON,
	}))
}

// prepareKubernetes returns the request of a client of Kubernetes with its headers as parameters of the message. It drops
// the parameters of such clients that have no meaning here: their timeout, and the hash of the document that they expect.
// It returns false if the request is answered already.
func prepareKubernetes(w http.ResponseWriter, r *http.Request, params map[string]string) (*http.Request, bool) {
	_, openAPI := params["spec"]
	if index := params["spec"] == "v3" && params["group"] == ""; openAPI && !index && !acceptsJSON(r.Header) {
		rejectForm(w)
		return r, false
	}
	return withParameters(r), true
}

func withParameters(r *http.Request) *http.Request {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return r // grpc-gateway reports the error
	}
	given.Del("timeout")
	given.Del("hash")
	if etag := strings.Join(r.Header.Values("If-None-Match"), ","); etag != "" && !given.Has("ifNoneMatch") && !given.Has("if_none_match") {
		given.Set("ifNoneMatch", etag)
	}
	r = r.Clone(r.Context())
	if strings.HasSuffix(r.URL.Path, "/apis") && acceptsAggregated(r.Header) {
		given.Set("aggregated", "true")
		r.Header.Set("Accept", mediaAggregated) // selects the marshaler with this media type
	} else {
		r.Header.Del("Accept")
	}
	r.URL.RawQuery = given.Encode()
	return r
}

// rejectable answers may be an API server's rejection, warned ones have warnings in headers, tagged ones an etag.
type (
	rejectable interface{ GetRejection() *crdevalv1.Rejection }
	warned     interface{ GetWarnings() []*crdevalv1.Warning }
	tagged     interface {
		GetEtag() string
		GetDocument() *crdevalv1.Document
	}
)

// rejectionOf returns the rejection of an answer, nil for an answer without one.
func rejectionOf(message any) *crdevalv1.Rejection {
	if r, ok := message.(rejectable); ok {
		return r.GetRejection()
	}
	return nil
}

// writeHead sets the status and the headers of an answer of PresentationService.
func writeHead(_ context.Context, w http.ResponseWriter, answer proto.Message) error {
	message := answer.ProtoReflect().Interface() // which grpc-gateway has wrapped
	if a, ok := message.(warned); ok {
		for _, one := range a.GetWarnings() {
			w.Header().Add("Warning", warningHeader(one.GetText()))
		}
	}
	if rejection := rejectionOf(message); rejection != nil {
		w.WriteHeader(int(rejection.GetCode()))
		return nil
	}
	if a, ok := message.(tagged); ok {
		h := w.Header()
		h.Set("ETag", a.GetEtag())
		h.Set("Vary", "Accept")
		h.Set("Cache-Control", "no-cache, private") // may be stored, and is revalidated each time
		if a.GetDocument() == nil {
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
		}
	}
	return nil
}

// rawBody is a response body that is written as it is.
type rawBody []byte

// rewriteBody returns what an answer of PresentationService has as its body.
func rewriteBody(_ context.Context, answer proto.Message) (any, error) {
	message := answer.ProtoReflect().Interface()
	if rejection := rejectionOf(message); rejection != nil {
		return rawBody(append(kubernetesStatus(rejection), '\n')), nil
	}
	if a, ok := message.(tagged); ok && a.GetDocument() == nil {
		return rawBody(nil), nil
	}
	return answer, nil
}

// maxWarning bounds a warning in a header, in code points. API servers have this bound for all warnings of a response.
const maxWarning = 4096

// warningHeader returns a warning as API servers send it. Control characters become spaces.
func warningHeader(text string) string {
	text = webhook.Printable(text)
	if short := webhook.Cut(text, maxWarning); short != text {
		text = short + "..."
	}
	header, _ := utilnet.NewWarningHeader(299, "-", text) // rejects only texts that are not printable
	return header
}

// notFound returns the metav1.Status for a path of an API server at which the catalog has nothing, nil for other errors.
// An API server answers with a text if the group is unknown; its clients show it as this Status.
func notFound(path string, err error) []byte {
	const crds = "/apis/" + apiextensionsv1.GroupName + "/v1/customresourcedefinitions/"
	_, name, isCRD := strings.Cut(path, crds)
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: "the server could not find the requested resource", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
	}
	switch reason := reasonOf(statusOf(err)); {
	case reason == "CRD_NOT_FOUND" && isCRD:
		missing := apierrors.NewNotFound(apiextensionsv1.Resource("customresourcedefinitions"), name).ErrStatus
		status.Message, status.Details = missing.Message, missing.Details
	case reason != "GROUP_VERSION_NOT_FOUND":
		return nil
	}
	text, _ := json.Marshal(&status) // texts and numbers always encode
	return text
}

// kubernetesStatus returns the metav1.Status of a rejection. NewInternalError makes the wrapped error a cause.
func kubernetesStatus(r *crdevalv1.Rejection) []byte {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: r.GetMessage(), Reason: metav1.StatusReason(r.GetReason()), Code: r.GetCode(),
	}
	if wrapped, ok := strings.CutPrefix(r.GetMessage(), "Internal error occurred: "); ok && status.Reason == metav1.StatusReasonInternalError {
		status.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: wrapped}}}
	}
	text, _ := json.Marshal(&status) // texts and numbers always encode
	return text
}
