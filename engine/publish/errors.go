package publish

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// invalid returns the error of a call with an invalid argument.
func invalid(format string, args ...any) error {
	return compiled.Error(compiled.Invalid(format, args...))
}

// failed returns an error with a cause. what begins its message.
func failed(code admission.Code, what string, err error) error {
	return compiled.Error(compiled.Failed(code, what, err))
}

// limitExceeded returns the error of a limit. err is the error that has the limit.
func limitExceeded(message string, limit *tree.LimitError, err error) error {
	return compiled.Error(compiled.LimitExceeded(message, limit, err))
}
