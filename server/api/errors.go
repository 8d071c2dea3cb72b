package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
)

const (
	domain       = "crdeval.dev"   // of every ErrorInfo
	reasonPrefix = "ERROR_REASON_" // of enum values, not of ErrorInfo.reason

	maxErrorDetails = 16
	maxErrorBytes   = 4 << 10
	maxQuotedBytes  = 256 // of a value of the request in an error text

	// defaultRetryDelay is the mean retry delay of OVERLOADED errors without RetryDelay.
	defaultRetryDelay = time.Second
)

// codeOf has the gRPC code of each reason, as error_reason.proto documents it.
var codeOf = codesByName(map[codes.Code]string{
	codes.InvalidArgument: "INVALID_ARGUMENT MALFORMED_BODY MANIFEST_UNREADABLE TOKEN_INVALID MEDIA_TYPE_NOT_SUPPORTED " +
		"OBJECT_UNREADABLE CRD_REJECTED",
	codes.NotFound: "CATALOG_NOT_FOUND CRD_NOT_FOUND VERSION_NOT_FOUND REVISION_NOT_FOUND PATH_NOT_FOUND " +
		"GROUP_VERSION_NOT_FOUND",
	codes.AlreadyExists:      "CATALOG_EXISTS CRD_EXISTS",
	codes.FailedPrecondition: "CATALOG_NOT_EMPTY CATALOG_PROTECTED CRD_NOT_ESTABLISHED VERSION_NOT_SERVED CONVERSION_FAILED",
	codes.Aborted:            "ETAG_MISMATCH CRD_OUTDATED",
	codes.Unavailable:        "REPLICA_BEHIND STORE_UNAVAILABLE CONVERSION_UNAVAILABLE OVERLOADED",
	codes.OutOfRange:         "WATCH_EXPIRED",
	codes.ResourceExhausted:  "LIMIT_EXCEEDED QUOTA_EXCEEDED",
	codes.DeadlineExceeded:   "ITEM_DEADLINE DEADLINE",
	codes.Canceled:           "CANCELLED",
	codes.Unauthenticated:    "UNAUTHENTICATED",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.Unimplemented:      "METHOD_NOT_ALLOWED",
	codes.Internal:           "INTERNAL",
})

func codesByName(names map[codes.Code]string) map[string]codes.Code {
	all := map[string]codes.Code{}
	for code, list := range names {
		for name := range strings.FieldsSeq(list) {
			all[name] = code
		}
	}
	return all
}

// Error is an error with its reason. gRPC converts it to a status with an ErrorInfo and, if the reason is OVERLOADED,
// a RetryInfo.
type Error struct {
	Reason       crdevalv1.ErrorReason
	Message      string
	Metadata     map[string]string
	Violations   []engine.Violation // of a document or a body that cannot be read
	RetryDelay   time.Duration      // of OVERLOADED, with jitter; 0: about a second
	report       *registry.Report   // of a rejected CRD; nil otherwise
	shuttingDown bool               // OVERLOADED because the server shuts down
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// GRPCStatus returns the status. gRPC calls it.
func (e *Error) GRPCStatus() *status.Status { return status.FromProto(e.status()) }

// invalid returns an INVALID_ARGUMENT about a field.
func invalid(field, format string, args ...any) error {
	return &Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, Message: fmt.Sprintf(format, args...),
		Metadata: map[string]string{"field": field},
	}
}

// LimitExceeded returns a LIMIT_EXCEEDED. It names the limit in its metadata.
func LimitExceeded(limit string, maximum int, format string, args ...any) *Error {
	return &Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, Message: fmt.Sprintf(format, args...),
		Metadata: map[string]string{"limit": limit, "maximum": strconv.Itoa(maximum)},
	}
}

// overloaded returns an OVERLOADED because of a limit.
func overloaded(limit string, maximum int, format string, args ...any) *Error {
	p := LimitExceeded(limit, maximum, format, args...)
	p.Reason = crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED
	return p
}

// shuttingDown returns an OVERLOADED because of a shutdown.
func shuttingDown(advice string) *Error {
	return &Error{
		Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, Message: "the server is shutting down: " + advice, shuttingDown: true,
	}
}

// isAboutVersion reports whether an error of the engine is about a version, and returns that error.
func isAboutVersion(err error) (*engine.Error, bool) {
	var e *engine.Error
	ok := errors.As(err, &e) && (e.Reason == engine.ReasonVersionNotFound || e.Reason == engine.ReasonVersionNotServed)
	return e, ok
}

// classify returns the problem that an error is, or nil for an internal error.
func classify(err error) *Error {
	var known *Error
	var fromRegistry *registry.Error
	var fromEngine *engine.Error
	var slow *flow.ItemTimeError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &slow):
		return &Error{
			Reason:   crdevalv1.ErrorReason_ERROR_REASON_ITEM_DEADLINE,
			Message:  slow.Error(),
			Metadata: map[string]string{"limit": "max_item_time", "maximum": slow.Limit.String()},
		}
	case lacksMemory(err):
		return memoryProblem(err)
	case errors.As(err, &fromRegistry):
		return &Error{
			Reason: reasonNamed(string(fromRegistry.Reason)), Message: fromRegistry.Message,
			Metadata: fromRegistry.Metadata, report: fromRegistry.Report,
		}
	case errors.As(err, &fromEngine) && fromEngine.Reason == engine.ReasonInternal:
		return nil
	case errors.As(err, &fromEngine):
		return engineProblem(fromEngine)
	case errors.Is(err, context.Canceled):
		return &Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_CANCELLED, Message: "the call was cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_DEADLINE, Message: "the deadline of the call expired"}
	case errors.Is(err, cache.ErrClosed):
		return shuttingDown("try again or call another replica")
	}
	return nil
}

// reasonNamed returns the reason that the engine or the registry names.
func reasonNamed(name string) crdevalv1.ErrorReason {
	if name == string(engine.ReasonNotACRD) {
		return crdevalv1.ErrorReason_ERROR_REASON_MANIFEST_UNREADABLE
	}
	if number, ok := crdevalv1.ErrorReason_value[reasonPrefix+name]; ok {
		return crdevalv1.ErrorReason(number)
	}
	return crdevalv1.ErrorReason_ERROR_REASON_INTERNAL
}

// limitNames maps limits of the engine to the published limit that sets them.
var limitNames = map[string]string{"max_table_bytes": "max_message_bytes", "max_openapi_bytes": "max_message_bytes"}

// engineProblem converts an error of the engine.
func engineProblem(e *engine.Error) *Error {
	p := &Error{
		Reason: reasonNamed(string(e.Reason)), Message: e.Message, Metadata: map[string]string{}, Violations: e.Violations,
	}
	if e.Reason == engine.ReasonObjectRejected { // an old object that no API server could have stored
		p.Reason, p.Metadata["field"] = crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "old_object"
	}
	var limit *document.LimitError
	if errors.As(e, &limit) {
		name := cmp.Or(limitNames[limit.Name], limit.Name)
		p.Metadata["limit"] = name
		p.Message += " (the limit " + name + ")"
	}
	if c := (*conversionwebhook.Error)(nil); errors.As(e, &c) {
		p.Message = strings.Replace(p.Message, c.Preamble, "", 1) // no webhook was called
		for name, text := range map[string]string{"crd": c.CRD, "from": c.From, "to": c.To, "rule": c.Rule, "path": c.Path} {
			if text != "" {
				p.Metadata[name] = text
			}
		}
	}
	numbers := map[string]int64{"maximum": e.Limit, "actual": e.Actual}
	if e.Position != nil {
		numbers["line"], numbers["column"] = int64(e.Position.Line), int64(e.Position.Column)
	}
	for name, n := range numbers {
		if n != 0 {
			p.Metadata[name] = strconv.FormatInt(n, 10)
		}
	}
	return p
}

// faults converts errors to statuses and logs internal errors.
type faults struct {
	log        *slog.Logger
	itemFailed func(reason string) // called for each item with an error
	rejected   func()              // called for each call that ends with OVERLOADED, except by shutdown
}

// problem returns the problem that an error is. It logs an internal error.
func (f faults) problem(ctx context.Context, err error) *Error {
	if p := classify(err); p != nil {
		return p
	}
	attributes := []any{slog.Any("error", err)}
	if p, is := errors.AsType[*host.PanicError](err); is {
		attributes = append(attributes, slog.String("stack", string(p.Stack)))
	}
	f.log.ErrorContext(ctx, "internal error", attributes...)
	return &Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_INTERNAL, Message: "internal error: see the log of the server"}
}

// status returns the status of an error.
func (f faults) status(ctx context.Context, err error) *statusv1.Status {
	return f.problem(ctx, err).status()
}

// item returns the status of an item, and counts it.
func (f faults) item(ctx context.Context, err error) *statusv1.Status {
	p := f.problem(ctx, err)
	f.itemFailed(p.reasonName())
	return p.status()
}

// reasonName returns the reason for an ErrorInfo.
func (e *Error) reasonName() string { return strings.TrimPrefix(e.Reason.String(), reasonPrefix) }

// status returns the status: its code, bounded text and details.
func (e *Error) status() *statusv1.Status {
	st := &statusv1.Status{Code: int32(cmp.Or(codeOf[e.reasonName()], codes.Internal)), Message: bounded(e.Message, maxErrorBytes)}
	info := &errdetails.ErrorInfo{Reason: e.reasonName(), Domain: domain, Metadata: make(map[string]string, len(e.Metadata))}
	for k, v := range e.Metadata {
		info.Metadata[k] = bounded(v, maxErrorBytes/8)
	}
	details := []proto.Message{info}
	if e.report != nil {
		st.Message = bounded(e.Message, maxErrorBytes/4) // the report has the violations
		excerpt, omitted := reportExcerpt(e.report)
		info.Metadata["omitted_violations"] = strconv.Itoa(omitted)
		details = append(details, excerpt)
	}
	if len(e.Violations) > 0 {
		details = append(details, violationExcerpt(e.Violations))
	}
	if e.Reason == crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED {
		delay := cmp.Or(e.RetryDelay, Jitter(defaultRetryDelay))
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	}
	for _, m := range details {
		if detail, err := anypb.New(m); err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	return st
}

// violationExcerpt returns the first violations of a document that cannot be read, with bounded texts.
func violationExcerpt(all []engine.Violation) *crdevalv1.ViolationList {
	list := slices.Clone(all[:min(len(all), maxErrorDetails)])
	for i := range list {
		for _, text := range []*string{&list[i].Field, &list[i].Message, &list[i].Detail, &list[i].Pointer} {
			*text = bounded(*text, maxErrorBytes/8)
		}
	}
	return &crdevalv1.ViolationList{Violations: violations(list)}
}

// call returns the status of a whole call as an error. Errors of gRPC are statuses already.
func (f faults) call(ctx context.Context, err error) error {
	if _, is := err.(interface{ GRPCStatus() *status.Status }); err == nil || is && classify(err) == nil {
		return err
	}
	p := f.problem(ctx, err)
	if p.Reason == crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED && !p.shuttingDown {
		f.rejected()
	}
	return p.GRPCStatus().Err()
}

// Jitter returns a random duration between 0.5 and 1.5 times d, so that rejected callers do not retry at the same time.
func Jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(max(d, 1)) //nolint:gosec // no secret
}

// RetryDelayOf returns the delay of the RetryInfo of a status, and whether it has one.
func RetryDelayOf(st *statusv1.Status) (delay time.Duration, ok bool) {
	info := &errdetails.RetryInfo{}
	for _, detail := range st.GetDetails() {
		if detail.MessageIs(info) && detail.UnmarshalTo(info) == nil {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// ErrorInfoOf returns the first detail of a status if it is an ErrorInfo, else nil.
func ErrorInfoOf(st *statusv1.Status) *errdetails.ErrorInfo {
	info := &errdetails.ErrorInfo{}
	if len(st.GetDetails()) == 0 || st.GetDetails()[0].UnmarshalTo(info) != nil {
		return nil
	}
	return info
}

// required returns the error of an empty field.
func required(name, value string) error {
	if value == "" {
		return invalid(name, "%s is required", name)
	}
	return nil
}

// bounded cuts text to maximum bytes and says how many it left out. It replaces invalid UTF-8, for use in messages.
func bounded(text string, maximum int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= maximum {
		return text
	}
	const noteBytes = 40
	cut := maximum - noteBytes
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes left out)", text[:cut], len(text)-cut)
}

// quoted returns a value of a request for an error text.
func quoted(text string) string { return strconv.Quote(bounded(text, maxQuotedBytes)) }

// violationsIn returns the violations of an error of the engine.
func violationsIn(err error) []*crdevalv1.Violation {
	var e *engine.Error
	if errors.As(err, &e) {
		return violations(e.Violations)
	}
	return nil
}

// rejectionIn returns what an API server would answer instead, if an error of the engine says so; nil otherwise.
func rejectionIn(err error) *crdevalv1.Rejection {
	var e *engine.Error
	if errors.As(err, &e) {
		return rejection(e.Rejection)
	}
	return nil
}
