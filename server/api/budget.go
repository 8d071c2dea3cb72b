package api

import (
	"errors"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// reservedErrorBytes is the part of a response that is reserved for each result, so that it can at least be an error.
const reservedErrorBytes = 512

// A budget bounds the size of a response. The results of the items share it. A result that does not fit makes its item fail, not
// the call.
type budget struct {
	max       int
	left      atomic.Int64
	discarded atomic.Int64 // bytes of results that did not fit
}

// reset starts a response of at most max bytes, of which some are reserved. At most half can be reserved.
func (b *budget) reset(max, reserved int) {
	b.max = max
	b.left.Store(int64(max - min(reserved, max/2)))
	b.discarded.Store(0)
}

// used returns the size of the results.
func (b *budget) used() int64 { return int64(b.max) - b.left.Load() }

// exhausted reports whether results of the size of a whole response were discarded. Further items are then not evaluated.
func (b *budget) exhausted() bool { return b.discarded.Load() > int64(b.max) }

// encodedSize is the size of a result in a list.
func encodedSize(result proto.Message) int64 {
	return int64(protowire.SizeTag(1) + protowire.SizeBytes(proto.Size(result)))
}

// take takes the size of a result. The error is that of the item.
func (b *budget) take(result proto.Message) error {
	need := encodedSize(result)
	if b.left.Add(-need) >= 0 {
		return nil
	}
	b.left.Add(need)
	b.discarded.Add(need)
	return b.exceeded()
}

// takeBeyond takes what a result needs beyond its reserved bytes, and reports whether it fits.
func (b *budget) takeBeyond(result proto.Message, reserved int) bool {
	const fields = 16 // tags and lengths around the result
	more := int64(proto.Size(result) - reserved + fields)
	if more <= 0 || b.left.Add(-more) >= 0 {
		return true
	}
	b.left.Add(more)
	return false
}

// exceeded returns the error of an item whose result does not fit.
func (b *budget) exceeded() error {
	return LimitExceeded("max_message_bytes", b.max, "the result of this item does not fit in the response, whose limit max_message_bytes is %d: "+
		"send it in another call with fewer items, or set options.view to receive less of each", b.max)
}

// isBudgetError reports whether an error is that of budget.exceeded.
func isBudgetError(err error) bool {
	var p *Error
	return errors.As(err, &p) && p.Reason == crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED && p.Metadata["limit"] == "max_message_bytes"
}
