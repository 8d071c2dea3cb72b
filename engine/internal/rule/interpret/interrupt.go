package interpret

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Sizes from which on an evaluation polls its signal or runs calls in the background.
const (
	largeDocument = 1 << 16 // bytes of a document
	longText      = 1 << 13 // bytes of a text
	longList      = 1 << 10 // elements of a list
	pollEvery     = 128     // elements between two polls, about ten microseconds
)

// errInterrupted is the panic of an interrupted evaluation, which cel-go turns into the evaluation's error.
var errInterrupted = interpreter.EvalCancelledError{
	Message: "operation interrupted", Cause: interpreter.ContextCancelled,
}

// interruptible runs work and reports whether it was not interrupted.
func interruptible(work func()) (ok bool) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errInterrupted:
			ok = false
		default:
			panic(r)
		}
	}()
	work()
	return true
}

// poll interrupts the evaluation if its signal has fired. It costs next to nothing.
func (e *Evaluation) poll() {
	if e.polls++; e.polls%pollEvery == 0 {
		e.pollNow()
	}
}

// pollNow is poll before something long.
func (e *Evaluation) pollNow() {
	if e.Stop.Stopped() {
		panic(errInterrupted)
	}
}

// limit bounds what one call in a rule may make or work on. cel-go and upstream have no such bounds.
type limit struct {
	name, what, unit string
	maximum          int64
}

const (
	maxTextBytes    = 64 << 20
	maxListElements = 8 << 20
	// maxPatternBytes bounds computed patterns: megabytes take seconds and hundreds of megabytes of memory to compile.
	maxPatternBytes = 1 << 16
)

var (
	textLimit     = limit{"max_rule_text_bytes", "text made by a rule", "bytes", maxTextBytes}
	listLimit     = limit{"max_rule_list_elements", "elements of a list made by a rule", "elements", maxListElements}
	patternLimit  = limit{"max_rule_pattern_bytes", "pattern computed by a rule", "bytes", maxPatternBytes}
	digitsLimit   = limit{"max_quantity_digits", "digits of a quantity", "digits", closure.MaxQuantityDigits}
	exponentLimit = limit{"max_quantity_exponent", "exponent of a quantity", "powers of ten", closure.MaxQuantityExponent}
)

// require ends the evaluation if a size exceeds a limit.
func (e *Evaluation) require(l limit, size float64) {
	if size <= float64(l.maximum) {
		return
	}
	e.bound = &tree.LimitError{
		Name: l.name, Limit: l.what, Unit: l.unit, Maximum: l.maximum, Actual: int64(min(size, math.MaxInt64/2)),
		AtLeast: true,
		Advice:  "an API server has no such bound, and would run out of memory or time: bound what the rule works on",
	}
	panic(errInterrupted)
}

// unpolledSlots bounds the work in the background that does not poll and may take seconds.
var unpolledSlots = make(interrupt.Slots, 2)

// inBackground runs work on immutable values and interrupts the evaluation if its signal fires first. Abandoned work
// ends soon if it uses values that poll.
func inBackground[T any](e *Evaluation, slots interrupt.Slots, work func() T) T {
	result, ok := interrupt.Run(e.Stop, slots, work)
	if !ok {
		panic(errInterrupted)
	}
	return result
}

// takesLong reports whether a call may take long: for a long text or list, or for any container of a large document.
func (c call) takesLong() bool {
	for _, arg := range c.args {
		if n, _ := textLength(arg); n > longText {
			return true
		}
		switch v := arg.(type) {
		case traits.Lister, traits.Mapper:
			if c.large || closure.SizeOf(v) > longList {
				return true
			}
		default:
			if c.large && v.Type() == types.UnknownType { // preserved unknown data
				return true
			}
		}
	}
	return false
}
