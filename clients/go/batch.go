package crdeval

import (
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// batch is how many of the items go into the next call: no more than the server takes.
func batch(items []*crdevalv1.EvaluationItem, limits *crdevalv1.ServerLimits) int {
	return fitting(items, int(limits.GetMaxBatchItems()), limits.GetMaxMessageBytes())
}

// fitting is how many of the elements go into the next call: at least one, no more than most, and no more bytes than half a message,
// which leaves room for what is not elements.
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
