package host

import (
	"context"
	"time"
)

// Observer receives events. Its methods are called on the evaluating goroutine. They must be safe for concurrent use
// and return quickly.
type Observer interface {
	// Compiled is called after a version of a CRD was compiled.
	Compiled(ctx context.Context, event CompileEvent)
	// Evaluated is called after an object was evaluated.
	Evaluated(ctx context.Context, event EvaluationEvent)
}

// CompileEvent describes the compilation of one version.
type CompileEvent struct {
	CRD, Revision, Version string
	Duration               time.Duration
	// Bytes is the memory that the compiled version retains, without compiled patterns.
	Bytes int64
}

// EvaluationEvent describes the evaluation of one object.
type EvaluationEvent struct {
	Call         Call
	CRD, Version string
	Duration     time.Duration
	// Bytes is the size of the objects and the patch.
	Bytes int
	// Exact reports whether the object took the exact path instead of the fast path.
	Exact bool
	// Allowed and Violations describe a Verdict. They are zero for other calls.
	Allowed    bool
	Violations int
	// Err is the error that was returned, if any.
	Err error
}

// Call is the name of a method of engine.Definition that evaluates an object. Parts of a write, such as Decode, are an
// Admit.
type Call string

// The calls.
const (
	Validate Call = "Validate"
	Admit    Call = "Admit"
	Prune    Call = "Prune"
	Default  Call = "Default"
	Read     Call = "Read"
	Convert  Call = "Convert"
)
