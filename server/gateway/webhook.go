package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/webhook"
)

// webhookPrefix is how the paths of the webhooks begin: /webhooks/catalogs/{catalog}/{webhook}.
const webhookPrefix = "/webhooks/"

// admissionWebhooks are the webhooks that take an AdmissionReview, by the last segment of their path.
var admissionWebhooks = map[string]func(context.Context, webhook.Evaluator, string, *webhook.Request) (*webhook.Answer, error){
	"mutate": webhook.Mutate, "validate": webhook.Validate,
}

// webhookOf finds which webhook of which catalog a path names.
func webhookOf(path string) (name, catalog string, found bool) {
	s := strings.Split(strings.TrimPrefix(path, webhookPrefix), "/")
	if len(s) != 3 || s[0] != "catalogs" || s[1] == "" {
		return "", "", false
	}
	_, found = admissionWebhooks[s[2]]
	return s[2], s[1], found
}

// webhook answers a request of a kube-apiserver to one of its admission webhooks. Where there is no review to answer with, the answer is an HTTP status and a
// metav1.Status, whose message API servers pass on; the failurePolicy of the webhook decides then.
func (g *gateway) webhook(w http.ResponseWriter, r *http.Request) {
	name, catalog, found := webhookOf(r.URL.Path)
	switch {
	case !found:
		g.refuseWith(w, r, failure(codes.NotFound, crdevalv1.ErrorReason_ERROR_REASON_PATH_NOT_FOUND,
			fmt.Sprintf("there is nothing at %s: webhooks are at /webhooks/catalogs/{catalog}/mutate and /webhooks/catalogs/{catalog}/validate", r.URL.Path), nil), refuseReview)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		g.refuseWith(w, r, failure(codes.Unimplemented, crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED,
			fmt.Sprintf("%s does not take %s: it takes POST", r.URL.Path, r.Method), nil), refuseReview)
		return
	}
	outcome := "error"
	if told := g.options.Reviewed; told != nil {
		defer func() { told(name, outcome) }()
	}
	held := &room{of: g.options.Bodies}
	defer held.giveBack()
	request, err := g.review(w, r, held)
	if err != nil {
		held.giveBack()
		g.refuseWith(w, r, err, refuseReview)
		return
	}
	answer, err := g.answerReview(r, name, catalog, request)
	var text []byte
	if err == nil {
		text, err = answer.JSON()
	}
	if err != nil {
		refuseReview(w, err)
		return
	}
	outcome = string(answer.Outcome)
	writeJSON(w, http.StatusOK, text)
}

// review reads the review that a request brings. Errors are statuses.
func (g *gateway) review(w http.ResponseWriter, r *http.Request, held *room) (*webhook.Request, error) {
	if before := g.options.Before; before != nil {
		if err := before(r); err != nil {
			return nil, err
		}
	}
	if err := checkTimeout(r.Header); err != nil {
		return nil, err
	}
	b, err := readBody(w, r, &g.options, held)
	if err != nil {
		return nil, err
	}
	if b.yaml {
		return nil, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED,
			fmt.Sprintf("Content-Type %q is not supported: an AdmissionReview is application/json", r.Header.Get("Content-Type")), nil)
	}
	request, err := webhook.Read(b.data)
	if err != nil {
		return nil, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, err.Error(), nil)
	}
	return request, nil
}

// answerReview asks the gRPC server, within the time that the API server waits.
func (g *gateway) answerReview(r *http.Request, name, catalog string, request *webhook.Request) (*webhook.Answer, error) {
	ctx := r.Context()
	if given := r.URL.Query().Get("timeout"); given != "" {
		timeout, err := time.ParseDuration(given)
		if err != nil || timeout <= 0 {
			return nil, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
				fmt.Sprintf("the parameter timeout is %q: it is a duration of more than 0, such as 10s", given), nil)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	ctx, err := runtime.AnnotateContext(ctx, g.mux, r, crdevalv1.EvaluationService_Validate_FullMethodName)
	if err != nil {
		return nil, err
	}
	return admissionWebhooks[name](ctx, g.evaluation, catalog, request)
}

// retryAfter is in how many seconds an API server may try again what was refused for want of a place. It does so by itself, within the timeout of the webhook.
const retryAfter = 1

// kubernetesReasons are the reasons that Kubernetes gives with an HTTP status.
var kubernetesReasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
	http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge, http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// refuseReview answers with a status as Kubernetes spells it: our own reason is its cause.
func refuseReview(w http.ResponseWriter, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = status.FromContextError(err).Err()
	}
	st := explained(status.Convert(err))
	code, reason := httpStatus(st), reasonOf(st)
	s := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: kubernetesReasons[code],
		Message: "crdeval: " + st.Message(),
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(strings.TrimPrefix(reason.String(), reasonPrefix)), Message: st.Message()}}},
	}
	switch {
	case reason == crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED:
		s.Details.RetryAfterSeconds = retryAfter
		w.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	case st.Code() == codes.Unauthenticated:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	text, err := json.Marshal(&s)
	if err != nil {
		text = []byte(`{"apiVersion":"v1","kind":"Status","status":"Failure"}`)
	}
	writeJSON(w, code, text)
}
