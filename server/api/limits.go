package api

import (
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// Limits are what a call may ask for. ServerService.GetServerInfo publishes them, and every error about one names it as it is
// spelled there. A zero field takes its default.
type Limits struct {
	// MaxBatchItems bounds the items of an evaluation call. Default: 1,000.
	MaxBatchItems int
	// MaxMessageBytes bounds a message either way; the transport enforces it for requests. Default: 64 MiB.
	MaxMessageBytes int
	// Documents bound each document; manifests have the same bound of size. Default: value.DefaultLimits.
	Documents engine.Limits
	// DefaultPageSize is that of lists where the request gives none. Default: 100.
	DefaultPageSize int
	// MaxPageSize bounds the page of a list. Default: 1,000.
	MaxPageSize int
	// MaxRegisterCrds bounds the CRDs of one call of RegisterCrds. Default: 1,000.
	MaxRegisterCrds int
	// MaxWatches bounds the calls of WatchCrds under way. Default: 1,000.
	MaxWatches int
	// MaxStreams bounds the calls of AdmitStream and ReadStream under way. Default: 64.
	MaxStreams int
}

// The limits that nobody sets.
const (
	maxInlineCrds   = 16
	maxErrorDetails = 16
	maxErrorBytes   = 4 << 10
	maxYAMLNodes    = 500_000 // the gateway's

	maxStoredVersions = 1000
)

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field     *int
		otherwise int
	}{
		{&l.MaxBatchItems, 1000},
		{&l.MaxMessageBytes, 64 << 20},
		{&l.DefaultPageSize, registry.DefaultPageSize},
		{&l.MaxPageSize, registry.MaxPageSize},
		{&l.MaxRegisterCrds, 1000},
		{&l.MaxWatches, 1000},
		{&l.MaxStreams, 64},
		{&l.Documents.MaxBytes, value.DefaultLimits.MaxBytes},
		{&l.Documents.MaxDepth, value.DefaultLimits.MaxDepth},
		{&l.Documents.MaxAliasFactor, value.DefaultLimits.MaxAliasFactor},
		{&l.Documents.MaxAliasBytes, value.DefaultLimits.MaxAliasBytes},
		{&l.Documents.MaxFindings, value.DefaultLimits.MaxFindings},
		{&l.Documents.MaxFindingBytes, value.DefaultLimits.MaxFindingBytes},
	} {
		if *d.field <= 0 {
			*d.field = d.otherwise
		}
	}
	return l
}

// message spells the limits for GetServerInfo.
func (l Limits) message() *crdevalv1.ServerLimits {
	return &crdevalv1.ServerLimits{
		MaxBatchItems:     int32(l.MaxBatchItems),
		MaxMessageBytes:   int64(l.MaxMessageBytes),
		MaxDocumentBytes:  int64(l.Documents.MaxBytes),
		MaxDocumentDepth:  int32(l.Documents.MaxDepth),
		MaxAliasFactor:    int32(l.Documents.MaxAliasFactor),
		MaxAliasBytes:     int64(l.Documents.MaxAliasBytes),
		MaxCrdBytes:       int64(l.Documents.MaxBytes),
		DefaultPageSize:   int32(l.DefaultPageSize),
		MaxPageSize:       int32(l.MaxPageSize),
		MaxInlineCrds:     maxInlineCrds,
		MaxErrorDetails:   maxErrorDetails,
		MaxErrorBytes:     maxErrorBytes,
		MaxViolations:     int32(l.Documents.MaxFindings),
		MaxViolationBytes: int64(l.Documents.MaxFindingBytes),
		MaxYamlNodes:      maxYAMLNodes,

		MaxTraces:          engine.MaxTraces,
		MaxTraceSteps:      engine.MaxTraceSteps,
		MaxTraceValueBytes: engine.MaxTraceValueBytes,

		MaxRegisterCrds:     int32(l.MaxRegisterCrds),
		MaxWatchesPerCaller: int32(l.MaxWatches),

		MaxStoredVersions: maxStoredVersions,

		MaxStreamItems: maxStreamItems, MaxStreamWindow: streamWindow, MaxStreamsPerCaller: int32(l.MaxStreams),
	}
}

// tooMany is the error of a list beyond its limit. Nobody has counted how far: see Codec.
func tooMany(unit, limit string, maximum int) error {
	return &problem{
		reason:   crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		message:  fmt.Sprintf("there are more %s than the limit %s, which is %d: send them in several calls", unit, limit, maximum),
		metadata: map[string]string{"limit": limit, "maximum": fmt.Sprint(maximum)},
	}
}

// Lists are the limits of the lists in a request, by the name of their field.
func (l Limits) Lists() map[string]ListLimit {
	l = l.withDefaults()
	return map[string]ListLimit{
		"items": {"max_batch_items", l.MaxBatchItems}, "crds": {"max_inline_crds", maxInlineCrds},
		"entries": {"max_register_crds", l.MaxRegisterCrds}, "objects": {"max_batch_items", l.MaxBatchItems},
		"storedVersions": {"max_stored_versions", maxStoredVersions},
	}
}

// ListLimit is a limit of elements and its name.
type ListLimit struct {
	Name    string
	Maximum int
}

// pageSize is the size of a page for what a request asks.
func (l Limits) pageSize(asked int32) (int, error) {
	switch {
	case asked < 0:
		return 0, invalid("page_size", "page_size is %d: give 1 to %d, or none for %d", asked, l.MaxPageSize, l.DefaultPageSize)
	case asked == 0:
		return l.DefaultPageSize, nil
	}
	return min(int(asked), l.MaxPageSize), nil
}
