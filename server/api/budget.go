package api

import (
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// errorRoom is what a result that is an error may take of an answer.
const errorRoom = 512

// budget is the room of a call's answer, which the results of its items share as they come. An item whose result finds none fails alone: an answer
// that is judged when it is whole is lost whole, with all the time and memory that it took.
type budget struct {
	max    int
	left   atomic.Int64
	wasted atomic.Int64 // bytes of results that were computed and found no room
}

// reset gives room for an answer of at most max bytes with n results, each of which may at least be an error.
func (b *budget) reset(max, n int) { b.resetTo(max, n*errorRoom) }

// resetTo gives room for an answer of at most max bytes, of which so much is kept free; never more than half.
func (b *budget) resetTo(max, free int) {
	b.max = max
	b.left.Store(int64(max - min(free, max/2)))
}

// exhausted says whether to spare the evaluation of what is still to come: as much as a whole answer has been thrown away already.
func (b *budget) exhausted() bool { return b.wasted.Load() > int64(b.max) }

// take takes room for one result. The error is that of the item.
func (b *budget) take(result proto.Message) error {
	size := proto.Size(result)
	need := int64(protowire.SizeTag(1) + protowire.SizeBytes(size))
	if b.left.Add(-need) >= 0 {
		return nil
	}
	b.left.Add(need)
	b.wasted.Add(need)
	return b.none()
}

// takeError takes the room that an error needs beyond errorRoom, which every result has, and says whether there was some.
func (b *budget) takeError(st proto.Message) bool { return b.takeBeyond(st, errorRoom) }

// takeBeyond takes the room that a result needs beyond what is kept free for it, and says whether there was some.
func (b *budget) takeBeyond(result proto.Message, free int) bool {
	more := int64(proto.Size(result) - free + 16) // 16 for the fields around it
	if more <= 0 {
		return true
	}
	if b.left.Add(-more) >= 0 {
		return true
	}
	b.left.Add(more)
	return false
}

// none is the error of an item whose result has no room.
func (b *budget) none() error {
	return &problem{
		reason: crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		message: fmt.Sprintf("the result of this item has no room in the call's answer, of which the limit max_message_bytes is %d: "+
			"send it in another call with fewer items, or ask for less of each with options.view", b.max),
		metadata: map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(b.max)},
	}
}
