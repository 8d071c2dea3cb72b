package rule

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// Sizes from which a call may take longer than a cancellation may wait.
const (
	longText  = 1 << 13 // bytes of a text
	watchFrom = 1 << 10 // elements of a list
)

// long reports whether the call may take long: for a text, for a list, or for anything with parts where the object is large.
func (c call) long() bool {
	for _, arg := range c.args {
		switch v := arg.(type) {
		case types.String:
			if len(v) > longText {
				return true
			}
		case types.Bytes:
			if len(v) > longText {
				return true
			}
		case traits.Lister:
			if c.s.large || size(v) > watchFrom {
				return true
			}
		case traits.Mapper:
			if c.s.large || sizeOf(v) > watchFrom {
				return true
			}
		default:
			if c.s.large && v.Type() == types.UnknownType { // preserved unknown data
				return true
			}
		}
	}
	return false
}

// watched runs the function, and ends the evaluation if nobody waits for it any more.
func (c call) watched() ref.Val {
	if c.s == nil || !c.long() {
		return c.run(c.args...)
	}
	return waitFor(c.s, func() ref.Val { return c.run(c.args...) })
}

// waitFor does work on immutable values alone, and ends the evaluation when nobody waits for it any more. What is left behind ends by itself: soon
// if it looks at values that keep watch, else when it is done.
func waitFor[T any](s *stopper, work func() T) T {
	if s == nil {
		return work()
	}
	result, ok := interrupt.Run(s.signal.Done(), nil, work)
	if !ok {
		panic(ended)
	}
	return result
}

// working bounds how much work may be under way, or left behind, that does not look whether to go on.
var working = make(interrupt.Slots, 2)

// alone is waitFor for work that does not look whether to go on and may take seconds.
func alone[T any](s *stopper, work func() T) T {
	if s == nil || s.signal.Done() == nil {
		return work()
	}
	result, ok := interrupt.Run(s.signal.Done(), working, work)
	if !ok {
		panic(ended)
	}
	return result
}
