package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// domain is that of every ErrorInfo of the service.
const domain = "crdeval.dev"

// reasonPrefix is what the names of the enum have and the reasons on the wire have not.
const reasonPrefix = "ERROR_REASON_"

// codeOf has the gRPC code of each reason, as error_reason.proto documents it.
var codeOf = map[crdevalv1.ErrorReason]codes.Code{
	crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT:         codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY:           codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_MANIFEST_UNREADABLE:      codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_FOUND:        codes.NotFound,
	crdevalv1.ErrorReason_ERROR_REASON_CATALOG_EXISTS:           codes.AlreadyExists,
	crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_EMPTY:        codes.FailedPrecondition,
	crdevalv1.ErrorReason_ERROR_REASON_CATALOG_PROTECTED:        codes.FailedPrecondition,
	crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND:            codes.NotFound,
	crdevalv1.ErrorReason_ERROR_REASON_CRD_EXISTS:               codes.AlreadyExists,
	crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_ESTABLISHED:      codes.FailedPrecondition,
	crdevalv1.ErrorReason_ERROR_REASON_VERSION_NOT_FOUND:        codes.NotFound,
	crdevalv1.ErrorReason_ERROR_REASON_VERSION_NOT_SERVED:       codes.FailedPrecondition,
	crdevalv1.ErrorReason_ERROR_REASON_REVISION_NOT_FOUND:       codes.NotFound,
	crdevalv1.ErrorReason_ERROR_REASON_ETAG_MISMATCH:            codes.Aborted,
	crdevalv1.ErrorReason_ERROR_REASON_REPLICA_BEHIND:           codes.Unavailable,
	crdevalv1.ErrorReason_ERROR_REASON_TOKEN_INVALID:            codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_WATCH_EXPIRED:            codes.OutOfRange,
	crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:           codes.ResourceExhausted,
	crdevalv1.ErrorReason_ERROR_REASON_ITEM_DEADLINE:            codes.DeadlineExceeded,
	crdevalv1.ErrorReason_ERROR_REASON_DEADLINE:                 codes.DeadlineExceeded,
	crdevalv1.ErrorReason_ERROR_REASON_CANCELLED:                codes.Canceled,
	crdevalv1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE:        codes.Unavailable,
	crdevalv1.ErrorReason_ERROR_REASON_CONVERSION_UNAVAILABLE:   codes.Unavailable,
	crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED:               codes.Unavailable,
	crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:          codes.Unauthenticated,
	crdevalv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:        codes.PermissionDenied,
	crdevalv1.ErrorReason_ERROR_REASON_INTERNAL:                 codes.Internal,
	crdevalv1.ErrorReason_ERROR_REASON_PATH_NOT_FOUND:           codes.NotFound,
	crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED:       codes.Unimplemented,
	crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED: codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_OBJECT_UNREADABLE:        codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_CRD_REJECTED:             codes.InvalidArgument,
	crdevalv1.ErrorReason_ERROR_REASON_GROUP_VERSION_NOT_FOUND:  codes.NotFound,
}

// problem is an error that already knows what it will be on the wire.
type problem struct {
	reason   crdevalv1.ErrorReason
	message  string
	metadata map[string]string
	report   *engine.Report // of a refused CRD, nil for all else
	leaving  bool           // the server shuts down: that it is OVERLOADED is how callers are told to go elsewhere
}

// Error returns the message.
func (p *problem) Error() string { return p.message }

// invalid is the problem of a field with a value that it cannot have.
func invalid(field, format string, args ...any) error {
	return &problem{
		reason: crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, message: fmt.Sprintf(format, args...), metadata: map[string]string{"field": field},
	}
}

// classify finds what an error is. Errors that nobody foresaw are faults: their text goes to the log and not to the caller.
func classify(err error) *problem {
	var known *problem
	var fromRegistry *registry.Error
	var fromEngine *engine.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &fromRegistry):
		return &problem{
			reason: reasonNamed(string(fromRegistry.Reason)), message: fromRegistry.Message, metadata: fromRegistry.Metadata, report: fromRegistry.Report,
		}
	case errors.As(err, &fromEngine) && fromEngine.Reason == engine.ReasonInternal:
		return nil
	case errors.As(err, &fromEngine):
		var about *versionError
		if errors.As(err, &about) {
			return fromTheEngine(fromEngine, about.metadata)
		}
		return fromTheEngine(fromEngine, nil)
	case errors.Is(err, context.Canceled):
		return &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_CANCELLED, message: "the call was cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_DEADLINE, message: "the call's deadline came before an answer"}
	case errors.Is(err, cache.ErrClosed):
		return &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, message: "the server is shutting down: call another replica, or again", leaving: true}
	}
	return nil
}

// reasonNamed finds the reason that engine or registry names.
func reasonNamed(name string) crdevalv1.ErrorReason {
	if name == string(engine.ReasonNotACRD) {
		return crdevalv1.ErrorReason_ERROR_REASON_MANIFEST_UNREADABLE
	}
	if number, ok := crdevalv1.ErrorReason_value[reasonPrefix+name]; ok {
		return crdevalv1.ErrorReason(number)
	}
	return crdevalv1.ErrorReason_ERROR_REASON_INTERNAL
}

// limitNames are the engine's limits that the service has set by another of its own.
var limitNames = map[string]string{"max_table_bytes": "max_message_bytes", "max_openapi_bytes": "max_message_bytes"}

func fromTheEngine(e *engine.Error, metadata map[string]string) *problem {
	p := &problem{reason: reasonNamed(string(e.Reason)), message: e.Message, metadata: map[string]string{}}
	maps.Copy(p.metadata, metadata)
	if e.Reason == engine.ReasonObjectRejected { // of objects it is an answer; here it is about one that should be stored already
		p.reason, p.metadata["field"] = crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "old_object"
	}
	var limit *value.LimitError
	if errors.As(e, &limit) {
		name := cmp.Or(limitNames[limit.Name], limit.Name)
		p.metadata["limit"] = name
		p.message += " (the limit " + name + ")"
	}
	if e.Limit != 0 {
		p.metadata["maximum"] = strconv.FormatInt(e.Limit, 10)
	}
	if e.Actual != 0 {
		p.metadata["actual"] = strconv.FormatInt(e.Actual, 10)
	}
	if e.Position != nil {
		for name, at := range map[string]int{"line": e.Position.Line, "column": e.Position.Column} {
			if at > 0 { // the YAML library knows lines alone
				p.metadata[name] = strconv.Itoa(at)
			}
		}
	}
	return p
}

// faults turns errors into statuses and logs those that are nobody's but ours.
type faults struct {
	log     *slog.Logger
	item    func(reason string) // told of each item with an error; nil: nobody is
	refused func()              // told of each call that ends with OVERLOADED, unless the server shuts down; nil: nobody is
}

// failedItem tells of an item that is answered with that error.
func (f faults) failedItem(st *statusv1.Status) {
	if f.item == nil {
		return
	}
	var info errdetails.ErrorInfo
	for _, detail := range st.GetDetails() {
		if detail.MessageIs(&info) && detail.UnmarshalTo(&info) == nil {
			f.item(info.GetReason())
			return
		}
	}
}

// status returns what the caller is told of err, in full: code, bounded text, ErrorInfo.
func (f faults) status(ctx context.Context, err error) *statusv1.Status {
	p := classify(err)
	if p == nil {
		attributes := []any{slog.Any("error", err)}
		var panicked *engine.PanicError
		if errors.As(err, &panicked) {
			attributes = append(attributes, slog.String("stack", string(panicked.Stack)))
		}
		f.log.ErrorContext(ctx, "internal error", attributes...)
		p = &problem{reason: crdevalv1.ErrorReason_ERROR_REASON_INTERNAL, message: "internal error: the server's log has more"}
	}
	code, ok := codeOf[p.reason]
	if !ok {
		code = codes.Internal
	}
	st := &statusv1.Status{Code: int32(code), Message: bounded(p.message, maxErrorBytes)}
	var findings *crdevalv1.CrdReport
	if p.report != nil {
		st.Message = bounded(p.message, maxErrorBytes/4) // the findings come apart
		var omitted int
		findings, omitted = excerpt(p.report)
		p = p.with("omitted_violations", strconv.Itoa(omitted))
	}
	info := &errdetails.ErrorInfo{Reason: strings.TrimPrefix(p.reason.String(), reasonPrefix), Domain: domain}
	if len(p.metadata) > 0 {
		info.Metadata = maps.Clone(p.metadata)
		for k, v := range info.Metadata {
			info.Metadata[k] = bounded(v, maxErrorBytes/8)
		}
	}
	if detail, err := anypb.New(info); err == nil {
		st.Details = []*anypb.Any{detail}
	}
	if findings != nil {
		if detail, err := anypb.New(findings); err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	return st
}

// with is the problem with one more entry of metadata.
func (p *problem) with(key, value string) *problem {
	more := *p
	more.metadata = map[string]string{key: value}
	maps.Copy(more.metadata, p.metadata)
	return &more
}

// call is status as the error of a whole call.
func (f faults) call(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if p := classify(err); f.refused != nil && p != nil && p.reason == crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED && !p.leaving {
		f.refused()
	}
	return status.FromProto(f.status(ctx, err)).Err()
}

// bounded cuts text to max bytes and says how much was left out. It also makes it UTF-8, which messages demand.
func bounded(text string, max int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= max {
		return text
	}
	const room = 40 // for the note
	cut := max - room
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes left out)", text[:cut], len(text)-cut)
}

// refused returns what the API server would answer to an object that it cannot decode, nil for every other error.
func refused(err error) *engine.Rejection {
	var e *engine.Error
	if errors.As(err, &e) && e.Reason == engine.ReasonObjectRejected {
		return e.Rejection
	}
	return nil
}
