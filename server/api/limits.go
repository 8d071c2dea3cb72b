package api

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// Limits are the limits of calls. ServerService.GetServerInfo publishes them. Errors use the published names. A field
// that is 0 has its default.
type Limits struct {
	// MaxBatchItems bounds the items of an evaluation call. Default: 1,000.
	MaxBatchItems int
	// MaxMessageBytes bounds a request and a response. The transport enforces it for requests. Default: 64 MiB.
	MaxMessageBytes int
	// Documents bounds each document, and each manifest in bytes. Default: those of engine.Limits.
	Documents engine.Limits
	// MaxRegisterCrds bounds the CRDs of a call of RegisterCrds. Default: 1,000.
	MaxRegisterCrds int
	// MaxWatches bounds the open calls of WatchCrds of all callers. Default: 4,000.
	MaxWatches int
	// MaxWatchesPerCaller bounds the open calls of WatchCrds of one caller. Default: a quarter of MaxWatches, at most
	// 1,000.
	MaxWatchesPerCaller int
	// MaxStreams bounds the open calls of AdmitStream and ReadStream of all callers. Default: 64.
	MaxStreams int
	// MaxItemTime is the time for which an item may hold a seat of Options.Scheduler. 0: no bound.
	MaxItemTime time.Duration
	// MaxStreamsPerCaller bounds the open calls of AdmitStream and ReadStream of one caller. Default: half of MaxStreams.
	MaxStreamsPerCaller int
}

// The limits that are not configurable.
const (
	maxInlineCrds     = 16
	maxStoredVersions = 1000
	// MaxYAMLNodes bounds a YAML body that the gateway converts to JSON.
	MaxYAMLNodes = 500_000
)

// fieldsShare is the part of a message that a large document or page leaves to the other fields: an eighth.
const fieldsShare = 8

// withDefaults sets the fields that are 0.
func (l Limits) withDefaults() Limits {
	set := func(field *int, byDefault int) {
		if *field <= 0 {
			*field = byDefault
		}
	}
	set(&l.MaxBatchItems, 1000)
	set(&l.MaxMessageBytes, 64<<20)
	set(&l.MaxRegisterCrds, 1000)
	set(&l.MaxWatches, 4000)
	set(&l.MaxWatchesPerCaller, min(max(l.MaxWatches/4, 1), 1000))
	set(&l.MaxStreams, 64)
	set(&l.MaxStreamsPerCaller, max(l.MaxStreams/2, 1))
	l.Documents = l.Documents.WithDefaults()
	return l
}

// message returns the limits as GetServerInfo publishes them.
func (l Limits) message() *crdevalv1.ServerLimits {
	d := l.Documents
	m := &crdevalv1.ServerLimits{
		MaxBatchItems: int32(l.MaxBatchItems), MaxMessageBytes: int32(l.MaxMessageBytes), MaxInlineCrds: maxInlineCrds,
		MaxRegisterCrds: int32(l.MaxRegisterCrds), MaxStoredVersions: maxStoredVersions, MaxYamlNodes: MaxYAMLNodes,
		DefaultPageSize: registry.DefaultPageSize, MaxPageSize: registry.MaxPageSize,
		MaxDocumentBytes: int32(d.MaxBytes), MaxDocumentDepth: int32(d.MaxDepth),
		MaxAliasFactor: int32(d.MaxAliasFactor), MaxAliasBytes: int32(d.MaxAliasBytes),
		MaxViolations: int32(d.MaxViolations), MaxViolationBytes: int32(d.MaxViolationBytes),
		MaxErrorDetails: maxErrorDetails, MaxErrorBytes: maxErrorBytes,
		MaxTraces: rules.MaxTraces, MaxTraceSteps: rules.MaxSteps, MaxTraceValueBytes: rules.MaxValueBytes,
		MaxStreams: int32(l.MaxStreams), MaxStreamsPerCaller: int32(l.MaxStreamsPerCaller),
		MaxStreamItems:      maxStreamItems,
		MaxWatchesPerCaller: int32(l.MaxWatchesPerCaller), MaxWatches: int32(l.MaxWatches),
	}
	if l.MaxItemTime > 0 {
		m.MaxItemTime = durationpb.New(l.MaxItemTime)
	}
	return m
}

// A ListLimit is the maximum length of a list, and the published name of that limit.
type ListLimit struct {
	Name    string
	Maximum int
}

// Lists returns the limits of the lists of requests, by the JSON path of the field. Codecs of requests enforce them while
// they read: Codec, and that of the REST API.
func (l Limits) Lists() map[string]ListLimit {
	l = l.withDefaults()
	return map[string]ListLimit{
		"items":          {"max_batch_items", l.MaxBatchItems},
		"objects":        {"max_batch_items", l.MaxBatchItems},
		"context.crds":   {"max_inline_crds", maxInlineCrds},
		"entries":        {"max_register_crds", l.MaxRegisterCrds},
		"storedVersions": {"max_stored_versions", maxStoredVersions},
	}
}

// Exceeded returns the error of a list that is too long. Nothing reads beyond the limit, so the length is not known.
func (l ListLimit) Exceeded(field string) *Error {
	return LimitExceeded(l.Name, l.Maximum, "there are more %s than the limit %s, which is %d: send them in several calls", field, l.Name, l.Maximum)
}

// maxDocumentBytes bounds a document that is the body of a response.
func (l Limits) maxDocumentBytes() int { return l.MaxMessageBytes - l.MaxMessageBytes/fieldsShare }

// checkResponse returns the error of a document that is too large for a response.
func (l Limits) checkResponse(what string, size int) error {
	if size <= l.maxDocumentBytes() {
		return nil
	}
	return LimitExceeded("max_message_bytes", l.MaxMessageBytes, "%s of %d bytes is too large for a response, whose limit max_message_bytes is %d",
		what, size, l.MaxMessageBytes)
}
