package diff

import (
	"errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// invalid returns the error of a call with an invalid argument.
func invalid(format string, args ...any) error {
	return compiled.Error(compiled.Invalid(format, args...))
}

// within returns an error with a text before its message.
func within(what string, err error) error {
	e := engine.Error{Reason: engine.ReasonInternal, Message: "internal error: " + err.Error(), Err: err}
	if own := (*engine.Error)(nil); errors.As(err, &own) {
		e = *own
	}
	e.Message = what + ": " + e.Message
	return &e
}
