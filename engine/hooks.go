package engine

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// Hooks are functions that the engine calls during compilations and evaluations. It can call them concurrently, and
// shortly after a call of the engine has returned. A nil function is not called.
//
// Checkpoint is called about every 10 to 500 microseconds of CPU time, so it must usually return within some
// nanoseconds. It may block, for example to let other work run. A compilation, or an evaluation in cel-go, can run for
// longer without a checkpoint.
type Hooks = interrupt.Hooks

// WithHooks returns a context in which compilations and evaluations call the hooks. It allocates, so use one context
// for many items.
func WithHooks(ctx context.Context, h *Hooks) context.Context { return interrupt.WithHooks(ctx, h) }
