package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Budget bounds the violations of one document by number and by bytes of text. Upstream has no such bound. Exceeding it
// is an error, so a returned list is always complete. A nil Budget is unbounded. Not for concurrent use.
type Budget struct {
	maxCount, maxBytes int
	violations, bytes  int
	err                *tree.LimitError

	stop  *interrupt.Signal
	asked uint
	ended bool
}

// trials multiplies the bounds while a branch of anyOf or oneOf is tried, because its violations may be dropped.
const trials = 4

// NewBudget returns a Budget with the limits for one document.
func NewBudget(l tree.Limits) *Budget {
	l = l.WithDefaults()
	return &Budget{maxCount: l.MaxViolations, maxBytes: l.MaxViolationBytes}
}

// Until makes Open return false after the signal has fired. It returns b.
func (b *Budget) Until(stop *interrupt.Signal) *Budget {
	b.stop = stop
	return b
}

// Signal returns the signal passed to Until, or nil.
func (b *Budget) Signal() *interrupt.Signal {
	if b == nil {
		return nil
	}
	return b.stop
}

// askEvery is how many calls of Open pass between two checks of the signal: some hundred microseconds.
const askEvery = 64

// Open reports whether the search should continue: the bounds hold and the signal has not fired. Walks call it at each step.
func (b *Budget) Open() bool {
	if b == nil {
		return true
	}
	if b.asked++; b.asked%askEvery == 0 {
		b.ended = b.ended || b.stop.Stopped()
	}
	return b.err == nil && !b.ended
}

// Take adds one violation with the given text size. trial applies the higher bounds for violations that may be dropped.
// It returns false if a bound is exceeded; the caller must then stop, and Err returns the error.
func (b *Budget) Take(bytes int, trial bool) bool {
	if b == nil {
		return true
	}
	b.violations, b.bytes = b.violations+1, b.bytes+bytes
	factor := 1
	if trial {
		factor = trials
	}
	return b.within(factor)
}

// Give removes one dropped violation with the given text size.
func (b *Budget) Give(bytes int) {
	if b != nil {
		b.violations, b.bytes = b.violations-1, b.bytes-bytes
	}
}

// Fits reports whether all violations, including those of trials, are within the bounds. If not, Err returns the error.
func (b *Budget) Fits() bool { return b == nil || b.within(1) }

func (b *Budget) within(factor int) bool {
	const advice = "fix the reported errors, or split the document"
	switch {
	case b.err != nil:
	case b.violations > b.maxCount*factor:
		b.err = &tree.LimitError{Name: "max_violations", Limit: "list of violations", Unit: "violations", Maximum: int64(b.maxCount),
			Actual: int64(b.violations), AtLeast: true, Advice: advice}
	case b.bytes > b.maxBytes*factor:
		b.err = &tree.LimitError{Name: "max_violation_bytes", Limit: "texts of the violations", Unit: "bytes", Maximum: int64(b.maxBytes),
			Actual: int64(b.bytes), AtLeast: true, Advice: advice}
	}
	return b.err == nil
}

// Fail closes the Budget with an error that is not about its bounds.
func (b *Budget) Fail(err *tree.LimitError) {
	if b != nil && b.err == nil {
		b.err = err
	}
}

// Err returns a *tree.LimitError if a bound was exceeded or Fail was called, else nil.
func (b *Budget) Err() error {
	if b == nil || b.err == nil {
		return nil
	}
	return b.err
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
