package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/kubeserver"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// rejection returns the Status that an API server would send, with its causes. The API server prefixes the message with
// the name of the webhook.
func (r *Request) rejection(why *crdevalv1.Rejection, violations []*crdevalv1.Violation) *metav1.Status {
	s := &metav1.Status{
		Status: metav1.StatusFailure, Code: why.GetCode(), Reason: metav1.StatusReason(why.GetReason()), Message: why.GetMessage(),
	}
	for _, v := range violations {
		if !kubeserver.IsCause(v.GetType()) {
			continue
		}
		if s.Details == nil {
			s.Details = &metav1.StatusDetails{Name: r.inner.Name, Group: r.inner.Kind.Group, Kind: r.inner.Kind.Kind}
		}
		cause := metav1.StatusCause{Type: metav1.CauseType(v.GetType()), Message: v.GetMessage(), Field: v.GetField()}
		s.Details.Causes = append(s.Details.Causes, cause)
	}
	return s
}

// texts returns the texts of warnings.
func texts(list []*crdevalv1.Warning) (all []string) {
	for _, w := range list {
		all = append(all, w.GetText())
	}
	return all
}

// noDefinition are the reasons of errors that say that the catalog has no CRD for the resource.
var noDefinition = map[string]bool{"CRD_NOT_FOUND": true, "CRD_NOT_ESTABLISHED": true, "VERSION_NOT_FOUND": true, "VERSION_NOT_SERVED": true}

// failed denies a request for a resource that the catalog does not know. For other errors the failurePolicy decides.
//
// The code is 403: clients take 404 for a deleted object, and 422 for one that is invalid.
func (r *Request) failed(catalog string, err *statusv1.Status) (*Answer, error) {
	if !noDefinition[reasonOf(err)] {
		return nil, status.FromProto(err).Err() //nolint:wrapcheck // it is one of our own
	}
	resource := r.inner.Resource
	text := fmt.Sprintf("%s of %s/%s cannot be evaluated: %s; register the CRD in the catalog %s of crdeval, or remove the resource from the rules of the webhook",
		resource.Resource, resource.Group, resource.Version, strings.TrimSuffix(err.GetMessage(), "."), catalog)
	if resource.Group == "" {
		text = fmt.Sprintf("%s of %s cannot be evaluated: they belong to the core group, which no CRD can have; remove the resource from the rules of the webhook", resource.Resource, resource.Version)
	}
	return r.deny(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: text}, "", nil), nil
}

// reasonOf returns the reason of an item's error.
func reasonOf(err *statusv1.Status) string {
	var info errdetails.ErrorInfo
	for _, detail := range err.GetDetails() {
		if detail.MessageIs(&info) && detail.UnmarshalTo(&info) == nil {
			return info.GetReason()
		}
	}
	return ""
}

// The bounds of an API server for warnings, in code points (apiserver's pkg/endpoints/filters/warning.go). Beyond
// maxWarnings in all, it cuts each to maxWarning and drops the rest. It also drops texts with control characters.
const (
	maxWarnings = 4 * 1024
	maxWarning  = 256
)

// bounded returns the warnings for the client, each once and printable. The last one says how many are left out.
func bounded(all []string) []string {
	unique, length := make([]string, 0, len(all)), 0
	seen := make(map[string]bool, len(all))
	for _, w := range all {
		if w = Printable(w); w == "" || seen[w] {
			continue
		}
		seen[w] = true
		unique = append(unique, w)
		length += utf8.RuneCountInString(w)
	}
	if length <= maxWarnings {
		if len(unique) == 0 {
			return nil
		}
		return unique
	}
	const noteLength = 64
	length = 0
	for i, w := range unique {
		unique[i] = Cut(w, maxWarning)
		length += utf8.RuneCountInString(unique[i])
		if length > maxWarnings-noteLength {
			return append(unique[:i], fmt.Sprintf("%d more warnings were left out", len(unique)-i))
		}
	}
	return unique
}

// Printable replaces control characters and invalid UTF-8.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// Cut shortens a text to most code points.
func Cut(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
