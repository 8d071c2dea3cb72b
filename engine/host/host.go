// Package host is for programs that run the engine for others, such as crdeval's server: events for metrics and traces,
// hooks for scheduling and memory, and panics as errors.
package host

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// Hooks are functions that the engine calls during compilations and evaluations. It can call them concurrently, and
// shortly after a call of the engine has returned. A nil function is not called.
type Hooks struct {
	// Checkpoint is called about every 10 to 500 microseconds of CPU time, so it must usually return within some
	// nanoseconds. It may block, for example to let other work run. A compilation, or an evaluation in cel-go, can run for
	// longer without a checkpoint.
	Checkpoint func()
	// Background is called before work that has no checkpoints, such as compiling a long rule, and may wait. abandon is
	// called if the caller stops waiting for the work, and end when the work has ended, concurrently with abandon. Both
	// are nil if the context ended first.
	Background func() (abandon, end func())
	// Grow is called before memory for documents grows by n bytes, and with a negative n after it was released. If it
	// returns an error, the work ends with this error.
	Grow func(n int64) error
}

// WithHooks returns a context in which compilations and evaluations call the hooks. It allocates, so use one context
// for many calls.
func WithHooks(ctx context.Context, h *Hooks) context.Context {
	return interrupt.WithHooks(ctx, (*interrupt.Hooks)(h))
}

// LeftBehind returns the number of goroutines that still compile or evaluate rules after their contexts ended, because
// CEL cannot interrupt them. Each ends within seconds.
func LeftBehind() int64 { return interrupt.Abandoned() }

// PanicError is the cause of an engine.Error with ReasonInternal that was a panic.
type PanicError struct {
	// Value is what panic was called with, Stack the stack trace of its goroutine.
	Value any
	Stack []byte
}

// Error returns the panic's value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Recover turns a panic into an *engine.Error with ReasonInternal, whose cause is a *PanicError. Functions that return an
// error defer it, and so do goroutines that work for a caller: a panic in a goroutine would end the process. A panic whose
// value is a *PanicError, raised again in the goroutine of the caller, keeps its stack.
func Recover(err *error) {
	if p := recover(); p != nil {
		cause, again := p.(*PanicError)
		if !again {
			cause = &PanicError{Value: p, Stack: debug.Stack()}
		}
		if *err = cause; compiled.Error != nil { // nil if the program does not have package engine
			*err = compiled.Error(cause)
		}
	}
}
