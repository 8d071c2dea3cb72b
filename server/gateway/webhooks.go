package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/webhook"
)

// webhookPrefix begins the paths of the webhooks: /webhooks/catalogs/{catalog}/{webhook}.
const webhookPrefix = "/webhooks/"

// admissionWebhooks are the admission webhooks, by the last segment of their path.
var admissionWebhooks = map[string]func(context.Context, crdevalv1.EvaluationServiceClient, string, *webhook.Request) (*webhook.Answer, error){
	"mutate": webhook.Mutate, "validate": webhook.Validate,
}

// webhook answers an AdmissionReview. If the object was not evaluated, the answer is an HTTP error with a
// metav1.Status, and the failurePolicy of the webhook decides.
func (g *gateway) webhook(w http.ResponseWriter, r *http.Request, name, catalog string) {
	outcome := "error"
	defer func() { g.options.Reviewed(name, outcome) }()
	held := &reservation{of: g.options.Bodies}
	defer held.release()
	request, err := g.readReview(w, r, held)
	if err != nil {
		held.release()
		g.reject(w, r, err)
		return
	}
	answer, err := g.answerReview(r, name, catalog, request)
	var text []byte
	if err == nil {
		text, err = answer.JSON()
	}
	if err != nil {
		writeReviewError(w, err)
		return
	}
	outcome = string(answer.Outcome)
	writeJSON(w, http.StatusOK, text)
}

// readReview reads the review of a request. Errors are statuses.
func (g *gateway) readReview(w http.ResponseWriter, r *http.Request, held *reservation) (*webhook.Request, error) {
	err := g.options.Before(r)
	if err == nil {
		err = checkTimeout(r.Header)
	}
	if err != nil {
		return nil, err
	}
	b, err := readBody(w, r, &g.options, held)
	if err != nil {
		return nil, err
	}
	if b.yaml {
		return nil, unsupported("Content-Type %q is not supported: an AdmissionReview is application/json", r.Header.Get("Content-Type"))
	}
	request, err := webhook.Read(b.data)
	if err != nil {
		return nil, malformed(err.Error(), nil)
	}
	return request, nil
}

// answerReview evaluates the object, within the time that the API server waits.
func (g *gateway) answerReview(r *http.Request, name, catalog string, request *webhook.Request) (*webhook.Answer, error) {
	ctx := r.Context()
	if given := r.URL.Query().Get("timeout"); given != "" {
		timeout, err := time.ParseDuration(given)
		if err != nil || timeout <= 0 {
			return nil, invalid("the parameter timeout is %q: it is a duration of more than 0, such as 10s", given)
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

// retryAfter is in how many seconds an API server may retry an overloaded webhook, within the webhook's timeout.
const retryAfter = 1

// kubernetesReason returns the reason of Kubernetes for an HTTP status.
func kubernetesReason(code int) metav1.StatusReason {
	if code == http.StatusRequestEntityTooLarge {
		return metav1.StatusReasonRequestEntityTooLarge
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, true).ErrStatus.Reason
}

// writeReviewError answers with the metav1.Status of an error, whose cause is our reason.
func writeReviewError(w http.ResponseWriter, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = status.FromContextError(err).Err()
	}
	st := statusOf(err)
	code, reason := httpStatus(st), reasonOf(st)
	s := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: kubernetesReason(code),
		Message: "crdeval: " + st.Message(),
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(reason), Message: st.Message()}}},
	}
	switch {
	case reason == "OVERLOADED":
		s.Details.RetryAfterSeconds = retryAfter
		w.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	case st.Code() == codes.Unauthenticated:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	text, _ := json.Marshal(&s) // texts and numbers always encode
	writeJSON(w, code, text)
}
