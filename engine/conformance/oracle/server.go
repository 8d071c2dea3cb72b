package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// server is the API server's own handler of custom resources for one CRD. Its storage contains what the request
// specifies. So its answers are upstream's: routing, decoding, coercion, patching, admission, strategies, conversion,
// encoding, and the metav1.Status of a rejection.
type server struct{ handler http.Handler }

// newServer returns the server of a definition.
func newServer(crd *apiextensionsv1.CustomResourceDefinition) (*server, error) {
	handler, err := served.Handler(crd, open, witness{})
	if err != nil {
		return nil, err
	}
	if err := untrack(handler, crd); err != nil {
		return nil, err
	}
	return &server{handler: filters.WithWarningRecorder(handler)}, nil
}

// addressed is the target of a request.
func (r Request) addressed(crd *apiextensionsv1.CustomResourceDefinition) (method string, info *request.RequestInfo) {
	info = &request.RequestInfo{
		IsResourceRequest: true, APIPrefix: "apis", APIGroup: crd.Spec.Group, APIVersion: r.Version, Namespace: r.Namespace, Resource: crd.Spec.Names.Plural,
		Subresource: r.subresource(), Name: r.Name, Verb: "create",
	}
	if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		info.Namespace = ""
	}
	parts := []string{"", "apis", crd.Spec.Group, r.Version}
	if info.Namespace != "" {
		parts = append(parts, "namespaces", info.Namespace)
	}
	parts = append(parts, info.Resource)
	method = http.MethodPost
	switch {
	case r.Patch != "":
		method, info.Verb = http.MethodPatch, "patch"
	case r.Old != nil:
		method, info.Verb = http.MethodPut, "update"
	default:
		info.Name = ""
	}
	if info.Name != "" {
		parts = append(parts, info.Name)
	}
	if info.Subresource != "" {
		parts = append(parts, info.Subresource)
	}
	info.Path = strings.Join(parts, "/")
	return method, info
}

// contentType is the media type of the body.
func (r Request) contentType() string {
	switch {
	case r.Patch != "":
		return r.Patch
	case r.YAML:
		return "application/yaml"
	}
	return "application/json"
}

func (r Request) subresource() string {
	switch r.Op {
	case Status:
		return "status"
	case Scale:
		return "scale"
	}
	return ""
}

// serve sends a request to the handlers.
func (s *server) serve(crd *apiextensionsv1.CustomResourceDefinition, r Request) Answer {
	method, info := r.addressed(crd)
	query := ""
	if r.FieldValidation != "" {
		query = "?" + url.Values{"fieldValidation": {r.FieldValidation}}.Encode()
	}
	c := &cell{held: r.Old, revision: r.revision()}
	a := &witnessed{mutation: r.Mutation}
	ctx := context.WithValue(context.WithValue(audit.WithAuditContext(context.Background()), cellKey{}, c), witnessKey{}, a)
	q := httptest.NewRequestWithContext(request.WithRequestInfo(ctx, info), method, "http://server/"+query, bytes.NewReader(r.Body))
	q.URL.Path = info.Path
	q.Header.Set("Content-Type", r.contentType())
	q.Header.Set("Accept", "application/json")
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, q)
	answer := answerOf(r, c, a, response)
	if base := generatedFrom(a.mutated); r.Old == nil && base != "" {
		return answer.named(base)
	}
	return answer
}

// generatedFrom returns the generateName of an object without a name, or "".
func generatedFrom(object []byte) string {
	var o struct {
		Metadata struct{ Name, GenerateName any }
	}
	if json.Unmarshal(object, &o) != nil {
		return ""
	}
	if name, _ := o.Metadata.Name.(string); name != "" {
		return ""
	}
	base, _ := o.Metadata.GenerateName.(string)
	return base
}

// revision returns the resourceVersion of the stored object. Stored bytes usually lack it; then it is the one that the
// client sends.
func (r Request) revision() uint64 {
	read := r.Body
	if r.Patch != "" {
		read = nil // a patch applies to the stored object
	}
	for _, text := range [][]byte{r.Old, read} {
		var o struct {
			Metadata struct{ ResourceVersion string }
		}
		if json.Unmarshal(text, &o) == nil && revisionOf(o.Metadata.ResourceVersion) != 0 {
			return revisionOf(o.Metadata.ResourceVersion)
		}
	}
	return 1
}

// answerOf converts a response.
func answerOf(r Request, c *cell, a *witnessed, response *httptest.ResponseRecorder) Answer {
	var answer Answer
	written, _ := utilnet.ParseWarningHeaders(response.Header()["Warning"])
	for _, w := range written {
		answer.Warnings = append(answer.Warnings, w.Text)
	}
	body := bytes.TrimSpace(response.Body.Bytes())
	answer.Decoded, answer.OldDecoded = a.object, a.old
	if a.old != nil && resourceVersionOf(r.Old) == "" {
		answer.OldDecoded = edited(a.old, func(metadata map[string]any) { delete(metadata, "resourceVersion") })
	}
	if response.Code == http.StatusInternalServerError && c.read != nil {
		// Kubernetes writes the object, takes an object with a field items for a list, and fails to encode it.
		body = printed(c.read)
	} else if response.Code == http.StatusInternalServerError && c.deleted {
		answer.Deletes = true // Object stays empty: the storage did not return the deleted object
		return answer
	} else if response.Code >= http.StatusBadRequest {
		var status metav1.Status
		if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" {
			answer.Rejection = &Rejection{Code: int32(response.Code), Reason: "NotFound", Message: "the server could not find the requested resource"}
			return answer
		}
		if r.Old == nil && len(body) > 0 {
			body = unstamped(&status)
		}
		answer.Rejection = &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}
		answer.Status = body
		return answer
	}
	answer.Object, answer.Deletes = asSent(body, c, r.Old == nil), c.deleted
	if c.written != nil {
		answer.Stored = asSent(c.written, c, r.Old == nil)
		answer.Unchanged = r.Old != nil && reflect.DeepEqual(inStorage(r.Old), inStorage(c.written))
	}
	return answer
}

// inStorage returns an object without managed fields and what the storage sets, with its numbers as texts. It returns nil
// for an object with duplicate fields or invalid UTF-8: no storage encodes such an object. The storage compares bytes, so
// each update of it is a change.
//
// Upstream: storage/etcd3/store.go, GuaranteedUpdate.
func inStorage(text []byte) (object map[string]any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		panic(fmt.Sprintf("oracle: an object in the storage cannot be decoded: %v", err))
	}
	if duplicates, err := kjson.UnmarshalStrict(text, new(any), kjson.DisallowDuplicateFields); err != nil || len(duplicates) > 0 || replacesText(text, object) {
		return nil
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
		delete(metadata, "selfLink")
	}
	return object
}

// replacesText reports whether decoding has replaced invalid UTF-8 or an unpaired surrogate.
func replacesText(text []byte, object map[string]any) bool {
	const replacement = "\ufffd"
	decoded, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("oracle: an object that was decoded cannot be encoded: %v", err))
	}
	given := bytes.Count(text, []byte(replacement)) + len(escapedReplacement.FindAll(text, -1))
	return bytes.Count(decoded, []byte(replacement)) > given
}

var escapedReplacement = regexp.MustCompile(`(?i)\\ufffd`)

// stamps matches the uid and the time of a creation in field errors that print the whole object.
var stamps = regexp.MustCompile(fmt.Sprintf(`"creationTimestamp":"(?:%d|%d)-[-:0-9TZ]+",|,"uid":"[-0-9a-f]{36}"`,
	time.Now().UTC().Year(), time.Now().UTC().Year()+1)) // a run can begin on New Year's Eve

// unstamped removes the stamps from a Status.
func unstamped(s *metav1.Status) []byte {
	s.Message = stamps.ReplaceAllString(s.Message, "")
	if s.Details != nil {
		for i := range s.Details.Causes {
			s.Details.Causes[i].Message = stamps.ReplaceAllString(s.Details.Causes[i].Message, "")
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("oracle: a Status that was decoded cannot be encoded: %v", err))
	}
	return text
}

// asSent removes from an object what only a server can set: managed fields, and after a creation its uid and time.
// It also removes resourceVersion and selfLink, which the storage sets, from what was stored.
func asSent(text []byte, c *cell, created bool) json.RawMessage {
	return edited(text, func(metadata map[string]any) {
		delete(metadata, "managedFields")
		if created {
			delete(metadata, "uid")
			delete(metadata, "creationTimestamp")
		}
		if c.written != nil {
			delete(metadata, "resourceVersion")
			delete(metadata, "selfLink")
		}
	})
}
