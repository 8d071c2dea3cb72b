package api

import (
	"context"
	"fmt"
	"sync/atomic"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Beside a document there is its form on the wire, which is a copy. What is made of CRDs for discovery takes about discoveryBytes for each of their versions.
const (
	copies         = 2
	discoveryBytes = 4 << 10
)

// documentMessages is how many messages of the largest size documents about catalogs may take together, as REST bodies may by default.
const documentMessages = 4

// documentRoom bounds the memory of documents about whole catalogs that are made or sent at one time: one may be as large as a message can be, and takes a
// request of some bytes to ask for. It is safe for concurrent use.
type documentRoom struct {
	max   int64
	taken atomic.Int64
}

// take takes room until the call ends. The error is that of the call.
func (r *documentRoom) take(ctx context.Context, n int64) error {
	if now := r.taken.Add(n); now > r.max {
		r.taken.Add(-n)
		return &problem{
			reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			message: fmt.Sprintf("there is no room for the document: the documents about catalogs that are being made or sent would have %d bytes in memory, and the server keeps %d for them, "+
				"%d times max_message_bytes: try again later", now, r.max, documentMessages),
			metadata: map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(r.max)},
		}
	}
	context.AfterFunc(ctx, func() { r.taken.Add(-n) }) // gRPC ends a call's context when its answer is on its way
	return nil
}
