package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/webhook"
)

// webhookPrefix begins the paths of the webhooks: /webhooks/catalogs/{catalog}/{webhook}.
const webhookPrefix = "/webhooks/"

// A reviewer answers the body of a review with the parts of a JSON text. A status is its error.
type reviewer func(g *gateway, ctx context.Context, catalog string, body []byte) (webhook.Outcome, [][]byte, error)

// reviewers are the webhooks, by the last segment of their path.
var reviewers = map[string]reviewer{
	"mutate": admission(webhook.Mutate), "validate": admission(webhook.Validate), "convert": (*gateway).convert,
}

// webhook answers a review. If the objects were not evaluated, the answer is an HTTP error with a metav1.Status. Then
// the failurePolicy of an admission webhook decides, and a conversion fails.
func (g *gateway) webhook(w http.ResponseWriter, r *http.Request, name, catalog string) {
	outcome := webhook.Outcome("error")
	defer func() { g.options.Reviewed(name, string(outcome)) }()
	b := g.receive(w, r, isJSON)
	if b == nil {
		return
	}
	reviewing, cancel, err := g.reviewContext(r)
	defer cancel()
	var done webhook.Outcome
	var answer [][]byte
	if err == nil {
		done, answer, err = reviewers[name](g, reviewing, catalog, b.data)
	}
	if err != nil {
		writeReviewError(w, err)
		return
	}
	outcome = done
	writeParts(w, answer)
}

// reviewContext returns the context of a review, which ends when the API server stops waiting.
func (g *gateway) reviewContext(r *http.Request) (ctx context.Context, cancel context.CancelFunc, err error) {
	ctx, cancel = r.Context(), func() {}
	if given := r.URL.Query().Get("timeout"); given != "" {
		timeout, err := time.ParseDuration(given)
		if err != nil || timeout <= 0 {
			return ctx, cancel, invalid("the parameter timeout is %q: it is a duration of more than 0, such as 10s", given)
		}
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	ctx, err = runtime.AnnotateContext(ctx, g.mux, r, crdevalv1.EvaluationService_Validate_FullMethodName)
	return ctx, cancel, err
}

// admission returns the reviewer of an admission webhook.
func admission(
	answer func(context.Context, crdevalv1.EvaluationServiceClient, string, *webhook.Request) (*webhook.Answer, error),
) reviewer {
	return func(g *gateway, ctx context.Context, catalog string, body []byte) (webhook.Outcome, [][]byte, error) {
		request, err := webhook.Read(body)
		if err != nil {
			return "", nil, malformed(err.Error())
		}
		a, err := answer(ctx, g.evaluation, catalog, request)
		if err != nil {
			return "", nil, err
		}
		text, err := a.JSON()
		return a.Outcome, [][]byte{text}, err
	}
}

// convert is the reviewer of the conversion webhook.
func (g *gateway) convert(
	ctx context.Context, catalog string, body []byte,
) (webhook.Outcome, [][]byte, error) {
	request, err := readConversion(body)
	if err != nil {
		return "", nil, err
	}
	lease := call.Of(ctx).Lease
	request.Catalog, request.Reserve = catalog, func(n int64) error {
		if err := lease.TryGrow(call.Response, n); err != nil {
			return g.options.Bodies.noMemory(err)
		}
		return nil
	}
	var answer *webhook.Converted
	err = g.options.Entry.Run(ctx, webhook.ConvertLabel, access.Evaluates, catalog, func(ctx context.Context) error {
		answer, err = g.options.Convert(ctx, request)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	return answer.Outcome, answer.JSON, nil
}

// writeParts answers with the parts of a JSON text.
func writeParts(w http.ResponseWriter, parts [][]byte) {
	parts = append(parts, []byte{'\n'})
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("Content-Length", strconv.Itoa(size))
	for i, p := range parts {
		if _, err := w.Write(p); err != nil {
			return
		}
		parts[i] = nil // a large answer takes less memory while it is sent
	}
}

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
	s.Details.RetryAfterSeconds = setRetryAfter(w, st)
	if st.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	text, _ := json.Marshal(&s) // texts and numbers always encode
	writeJSON(w, code, text)
}
