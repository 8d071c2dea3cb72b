package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

// Room bounds the violations of one document by number and by bytes of text. Upstream has no such bound. Exceeding it
// is an error, so a returned list is always complete. A nil Room is unbounded. A Room must not be used concurrently.
type Room struct {
	maxCount, maxBytes int
	violations, bytes  int
	err                *value.LimitError

	done  <-chan struct{}
	asked uint
	ended bool
}

// trials multiplies the bounds while a branch of anyOf or oneOf is tried, because its violations may be dropped.
const trials = 4

// NewRoom returns a Room with the limits for one document.
func NewRoom(l value.Limits) *Room {
	violations, bytes := l.Violations()
	return &Room{maxCount: violations, maxBytes: bytes}
}

// Until makes Open return false after the channel is closed. It returns r.
func (r *Room) Until(done <-chan struct{}) *Room {
	r.done = done
	return r
}

// Done returns the channel passed to Until, or nil.
func (r *Room) Done() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.done
}

// askEvery is how many calls of Open pass between two checks of the channel: some hundred microseconds.
const askEvery = 64

// Open reports whether the search should continue: the bounds hold and the channel is open. Walks call it at each step.
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

// Take adds one violation with the given text size. trial applies the higher bounds for violations that may be dropped.
// It returns false if a bound is exceeded; the caller must then stop, and Err returns the error.
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

// Give removes one dropped violation with the given text size.
func (r *Room) Give(bytes int) {
	if r != nil {
		r.violations, r.bytes = r.violations-1, r.bytes-bytes
	}
}

// Fits reports whether all violations, including those of trials, are within the bounds. If not, Err returns the error.
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

// Fail closes the Room with an error that is not about its bounds.
func (r *Room) Fail(err *value.LimitError) {
	if r != nil && r.err == nil {
		r.err = err
	}
}

// Err returns a *value.LimitError if a bound was exceeded or Fail was called, else nil.
func (r *Room) Err() error {
	if r == nil || r.err == nil {
		return nil
	}
	return r.err
}

// Size returns the approximate size of an error's texts in bytes: path, message and bad value. A bad value that is
// neither a string nor a number counts as 0, and the caller adds its size.
func Size(err *field.Error) int {
	size := len(err.Field) + len(err.Detail) + 32
	if text, isText := err.BadValue.(string); isText {
		size += len(text)
	}
	return size
}
