package compiled

import (
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Invalid returns the Fault of a call with an invalid argument.
func Invalid(format string, args ...any) *admission.Fault {
	return &admission.Fault{Code: admission.InvalidArgument, Text: fmt.Sprintf(format, args...)}
}

// NotNegative returns the Fault of an option that is negative, or nil.
func NotNegative[N ~int | ~int64](option string, n N) error {
	if n < 0 {
		return Invalid("%s is %v: it must not be negative", option, n)
	}
	return nil
}

// Failed returns a Fault with a cause. what begins its text.
func Failed(code admission.Code, what string, err error) *admission.Fault {
	return &admission.Fault{Code: code, Text: what + ": " + err.Error(), Cause: err}
}

// LimitExceeded returns the Fault of a limit. err is the error that has the limit.
func LimitExceeded(text string, limit *tree.LimitError, err error) *admission.Fault {
	return &admission.Fault{Code: admission.LimitExceeded, Text: text, Limit: limit, Cause: err}
}

// TooLate returns the Fault of a context that has ended. err is its error.
func TooLate(err error) *admission.Fault {
	return Failed(admission.Deadline, "the call ended before the object was looked at", err)
}

// unreadableObject returns the Fault of a document that cannot be read, or exceeds a limit. what begins its text.
func unreadableObject(what string, err error) *admission.Fault {
	return unreadable(admission.ObjectUnreadable, what, err)
}

// UnreadableManifest is unreadableObject for a manifest.
func UnreadableManifest(what string, err error) *admission.Fault {
	return unreadable(admission.ManifestUnreadable, what, err)
}

func unreadable(code admission.Code, what string, err error) *admission.Fault {
	var limit *tree.LimitError
	if errors.As(err, &limit) {
		return LimitExceeded(what+": "+limit.Error(), limit, err)
	}
	f := Failed(code, what, err)
	if syntax, ok := errors.AsType[*tree.SyntaxError](err); ok {
		if syntax.Located() {
			f.Text = syntax.Sentence() // callers know which document is at the position
		}
		reason := admission.SyntaxReason(err)
		f.Violations, f.Position = []violation.Violation{reason}, reason.Position
	}
	return f
}

// Within returns a Fault with a text before its own. An error that is not a Fault is an internal one.
func Within(what string, err error) *admission.Fault {
	f := admission.Fault{Code: admission.Internal, Text: "internal error: " + err.Error(), Cause: err}
	if own, ok := errors.AsType[*admission.Fault](err); ok {
		f = *own
	}
	f.Text = what + ": " + f.Text
	return &f
}
