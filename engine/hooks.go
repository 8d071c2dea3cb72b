package engine

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// Hooks are functions of the caller that compilations and evaluations call while they run. The functions can be called
// concurrently, and shortly after the call of the engine has returned. A nil function is not called.
//
// Checkpoint is called about every 10 to 500 microseconds of CPU time, so it must usually return within some
// nanoseconds. It may block, for example to let other work run. A compilation, or an evaluation in cel-go, can run for
// longer without a checkpoint.
type Hooks = interrupt.Hooks

// WithHooks returns a context whose compilations and evaluations call the hooks. It costs an allocation, so use it for
// many items.
func WithHooks(ctx context.Context, h *Hooks) context.Context { return interrupt.WithHooks(ctx, h) }
