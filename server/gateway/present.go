package gateway

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	mediaText = "text/plain"
	// mediaAggregated is what a client of Kubernetes accepts that wants discovery in one document, and how it knows that it got one.
	mediaAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// shown is what the headers of a request say about the form of its answer.
type shown struct {
	text       bool // text/plain goes first
	aggregated bool
}

// shownKey is that of the *shown in a request's context.
type shownKey struct{}

// shownOf reads the header Accept: the first form in it that there is.
func shownOf(h http.Header) *shown {
	for _, line := range h.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			switch {
			case err != nil:
			case media == mediaText:
				return &shown{text: true}
			case media == mediaJSON && params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && params["v"] == "v2":
				return &shown{aggregated: true}
			case params["as"] != "": // another form of Kubernetes, which nobody here has
			case media == mediaJSON || media == "application/*" || media == "*/*":
				return &shown{}
			}
		}
	}
	return &shown{}
}

// fromKubernetes says whether a path is one that clients of Kubernetes know: discovery or OpenAPI of a catalog.
func (r *route) fromKubernetes() bool {
	const place = 3 // v1, catalogs, {catalog}
	return r.method == http.MethodGet && len(r.segments) > place && (r.segments[place] == "apis" || r.segments[place] == "openapi")
}

// isOpenAPI says whether a path that clients of Kubernetes know is that of an OpenAPI document. The index of documents is JSON to everybody.
func isOpenAPI(path string) bool {
	segments, _ := split(path)
	return segments[3] == "openapi" && (len(segments) > 5 || segments[4] != "v3")
}

// acceptsJSON says whether a client takes JSON, as API servers find it for their OpenAPI documents: parameters say nothing, and nor does how much it likes what.
func acceptsJSON(h http.Header) bool {
	given := h.Values("Accept")
	for _, line := range given {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			if kind, form, _ := strings.Cut(strings.TrimSpace(media), "/"); (kind == "application" || kind == "*") && (form == "json" || form == "*") {
				return true
			}
		}
	}
	return strings.TrimSpace(strings.Join(given, "")) == ""
}

// refuseForm answers who takes no form that there is: an API server has protobuf besides.
func refuseForm(w http.ResponseWriter) {
	w.Header().Set("Vary", "Accept")
	writeJSON(w, http.StatusNotAcceptable, statusOf(&crdevalv1.Rejection{
		Code: http.StatusNotAcceptable, Reason: "NotAcceptable", Message: "only the following media types are accepted: " + mediaJSON,
	}))
}

// asParameters makes parameters of the headers that say the same, and drops those that clients of Kubernetes send and that mean nothing here: how long they
// wait, and which document they expect at the end of a path that the index of OpenAPI documents gave them.
func asParameters(r *http.Request, s *shown) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return // whoever reads the query says so
	}
	given.Del("timeout")
	given.Del("hash")
	if etag := r.Header.Get("If-None-Match"); etag != "" && !given.Has("ifNoneMatch") && !given.Has("if_none_match") {
		given.Set("ifNoneMatch", etag)
	}
	if s.aggregated = s.aggregated && strings.HasSuffix(r.URL.Path, "/apis"); s.aggregated {
		given.Set("aggregated", "true")
	}
	u := *r.URL
	u.RawQuery = given.Encode()
	r.URL = &u
}

// want makes a request ask for the form that its headers ask for.
func (s *shown) want(request any) {
	if r, ok := request.(*crdevalv1.TableRequest); ok && s != nil && s.text && r.GetText() == nil {
		r.Text = &crdevalv1.TableText{}
	}
}

// written is an answer that is not JSON of a message.
type written []byte

// presentHead sets the status and the headers of an answer that is Kubernetes' own.
func presentHead(ctx context.Context, w http.ResponseWriter, answer proto.Message) error {
	s, _ := ctx.Value(shownKey{}).(*shown)
	if s == nil {
		return nil
	}
	h := w.Header()
	message := answer.ProtoReflect().Interface() // what grpc-gateway has wrapped
	if a, ok := message.(warned); ok {
		for _, text := range a.GetWarnings() {
			h.Add("Warning", warningHeader(text))
		}
	}
	if r, ok := message.(refusable); ok && r.GetRejection() != nil {
		w.WriteHeader(int(r.GetRejection().GetCode()))
		return nil
	}
	switch a := message.(type) {
	case *crdevalv1.TableResponse:
		if a.GetTable() == nil {
			h.Set("Content-Type", mediaText+"; charset=utf-8")
		}
	case *crdevalv1.ExplainResponse:
		if s.text {
			h.Set("Content-Type", mediaText+"; charset=utf-8")
		}
	case tagged:
		h.Set("ETag", a.GetEtag())
		h.Set("Vary", "Accept")
		h.Set("Cache-Control", "no-cache, private") // may be kept, and is asked about each time
		switch {
		case a.GetDocument() == nil:
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
		case s.aggregated:
			h.Set("Content-Type", mediaAggregated)
		}
	}
	return nil
}

// mostWarned is how many code points of a warning go into a header, as API servers have it for all together: clients take headers of some KiB.
const mostWarned = 4096

// warningHeader is a warning as API servers send it, and kubectl prints it. What cannot be in a header is a space.
func warningHeader(text string) string {
	var b strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > mostWarned {
			b.WriteString("...")
			break
		}
		switch {
		case unicode.IsControl(r):
			b.WriteByte(' ')
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	return `299 - "` + b.String() + `"`
}

// refusable is an answer that may be what an API server refuses with, warned one with warnings beside what is its body, tagged one with an etag.
type (
	refusable interface{ GetRejection() *crdevalv1.Rejection }
	warned    interface{ GetWarnings() []string }
	tagged    interface {
		GetEtag() string
		GetDocument() *crdevalv1.Document
	}
)

// presentBody is what stands in the body for an answer.
func presentBody(ctx context.Context, answer proto.Message) (any, error) {
	s, _ := ctx.Value(shownKey{}).(*shown)
	if s == nil {
		return answer, nil
	}
	message := answer.ProtoReflect().Interface()
	if r, ok := message.(refusable); ok && r.GetRejection() != nil {
		return statusOf(r.GetRejection()), nil
	}
	switch a := message.(type) {
	case *crdevalv1.TableResponse:
		if a.GetTable() == nil {
			return written(a.GetText()), nil
		}
	case *crdevalv1.ExplainResponse:
		if s.text {
			return written(a.GetText()), nil
		}
	case tagged:
		if a.GetDocument() == nil {
			return written(nil), nil
		}
	}
	return answer, nil
}

// statusOf is the metav1.Status of a refusal. An internal error has what it wraps as its cause, as apimachinery's NewInternalError tells it.
func statusOf(r *crdevalv1.Rejection) written {
	type cause struct {
		Message string `json:"message"`
	}
	type details struct {
		Causes []cause `json:"causes"`
	}
	status := struct {
		Kind       string   `json:"kind"`
		APIVersion string   `json:"apiVersion"`
		Metadata   struct{} `json:"metadata"`
		Status     string   `json:"status"`
		Message    string   `json:"message"`
		Reason     string   `json:"reason,omitempty"`
		Details    *details `json:"details,omitempty"`
		Code       int32    `json:"code"`
	}{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: r.GetMessage(), Reason: r.GetReason(), Code: r.GetCode()}
	if wrapped, ok := strings.CutPrefix(r.GetMessage(), "Internal error occurred: "); ok && r.GetReason() == "InternalError" {
		status.Details = &details{Causes: []cause{{Message: wrapped}}}
	}
	text, _ := json.Marshal(status) // texts and numbers always encode
	return append(text, '\n')
}
