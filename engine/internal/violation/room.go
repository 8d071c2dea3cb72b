package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

// Room bounds the violations of one document: their number, and the bytes of their texts. The reference has no such
// bound, and no API server would answer in time beyond it. What does not fit is an error, never a part of an answer: an
// answer that looks complete is complete. A nil Room has no end. It is used by one goroutine.
type Room struct {
	maxCount, maxBytes int
	violations, bytes  int
	err                *value.LimitError

	done  <-chan struct{}
	asked uint
	ended bool
}

// trials is how many times more may be found while a branch of anyOf or oneOf is tried whose violations may be dropped.
const trials = 4

// NewRoom returns the room that the limits leave for one document.
func NewRoom(l value.Limits) *Room {
	violations, bytes := l.Violations()
	return &Room{maxCount: violations, maxBytes: bytes}
}

// Until has Open look now and then whether the channel is closed, since the call ended.
func (r *Room) Until(done <-chan struct{}) *Room {
	r.done = done
	return r
}

// Done is the channel that Until was given, nil if there is none.
func (r *Room) Done() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.done
}

// askEvery is how many steps go by between two questions of Open whether anybody still waits: some hundred
// microseconds.
const askEvery = 64

// Open reports whether there is a point in looking for more: what was found has room, and somebody waits for it. Walks
// ask at every step.
func (r *Room) Open() bool {
	if r == nil {
		return true
	}
	if r.asked++; r.asked%askEvery == 0 {
		select {
		case <-r.done:
			r.ended = true
		default:
		}
	}
	return r.err == nil && !r.ended
}

// Take makes room for one violation, whose texts take so many bytes. trial: it may be dropped again. False: there is
// not enough left, and Err says so from now on; who gets that ends.
func (r *Room) Take(bytes int, trial bool) bool {
	if r == nil {
		return true
	}
	r.violations, r.bytes = r.violations+1, r.bytes+bytes
	factor := 1
	if trial {
		factor = trials
	}
	return r.within(factor)
}

// Give gives back what was taken for one violation that was dropped.
func (r *Room) Give(bytes int) {
	if r != nil {
		r.violations, r.bytes = r.violations-1, r.bytes-bytes
	}
}

// Fits reports whether what was taken, for trials too, has room now that no trial is under way. False is as with Take.
func (r *Room) Fits() bool { return r == nil || r.within(1) }

func (r *Room) within(factor int) bool {
	const advice = "fix the reported errors, or split the document"
	switch {
	case r.err != nil:
	case r.violations > r.maxCount*factor:
		r.err = &value.LimitError{Name: "max_violations", Limit: "list of violations", Unit: "violations", Maximum: int64(r.maxCount),
			Actual: int64(r.violations), AtLeast: true, Advice: advice}
	case r.bytes > r.maxBytes*factor:
		r.err = &value.LimitError{Name: "max_violation_bytes", Limit: "texts of the violations", Unit: "bytes", Maximum: int64(r.maxBytes),
			Actual: int64(r.bytes), AtLeast: true, Advice: advice}
	}
	return r.err == nil
}

// Fail ends the room for another reason than what was taken.
func (r *Room) Fail(err *value.LimitError) {
	if r != nil && r.err == nil {
		r.err = err
	}
}

// Err is a *value.LimitError if something did not fit, else nil.
func (r *Room) Err() error {
	if r == nil || r.err == nil {
		return nil
	}
	return r.err
}

// Size is about how many bytes the texts of an error take: the place, the message and the value that it shows. A value
// that is neither a text nor a number counts as nothing: the caller adds its size.
func Size(err *field.Error) int {
	size := len(err.Field) + len(err.Detail) + 32
	if text, isText := err.BadValue.(string); isText {
		size += len(text)
	}
	return size
}
