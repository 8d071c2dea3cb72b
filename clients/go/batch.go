package crdeval

import (
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// batch returns the number of items for the next call, within the limits of the server.
func batch(items []*crdevalv1.EvaluationItem, limits *crdevalv1.ServerLimits) int {
	return fitting(items, int(limits.GetMaxBatchItems()), limits.GetMaxMessageBytes())
}

// fitting returns the number of elements for the next call: at least one, at most most. Their size is at most half of
// maxMessageBytes, so that the other fields of the request fit too.
func fitting[M proto.Message](elements []M, most int, maxMessageBytes int64) int {
	n, bytes := 0, int64(0)
	for _, e := range elements {
		bytes += int64(proto.Size(e))
		if n > 0 && (n >= most || bytes > maxMessageBytes/2) {
			break
		}
		n++
	}
	return n
}
