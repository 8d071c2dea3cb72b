package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// Code says why a request could not be evaluated.
type Code string

// The codes of a Fault.
const (
	InvalidArgument       Code = "INVALID_ARGUMENT"
	VersionNotFound       Code = "VERSION_NOT_FOUND"
	VersionNotServed      Code = "VERSION_NOT_SERVED"
	LimitExceeded         Code = "LIMIT_EXCEEDED"
	Deadline              Code = "ITEM_DEADLINE"
	ObjectRejected        Code = "OBJECT_REJECTED"
	ConversionUnavailable Code = "CONVERSION_UNAVAILABLE"
	Internal              Code = "INTERNAL"
)

// Fault is the error of a request that could not be evaluated. It says nothing about the object.
type Fault struct {
	Code Code
	Text string
	// Limit is set for LimitExceeded.
	Limit *value.LimitError
	// Rejection is set for ObjectRejected.
	Rejection *Rejection
	Cause     error
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// exceeded returns the Fault of an object that exceeds a limit. err is a *value.LimitError.
func exceeded(err error) *Fault {
	var limit *value.LimitError
	if !errors.As(err, &limit) {
		return internal(err)
	}
	return &Fault{Code: LimitExceeded, Text: "object: " + limit.Error(), Limit: limit, Cause: err}
}

func internal(err error) *Fault {
	return &Fault{Code: Internal, Text: "internal error: " + err.Error(), Cause: err}
}

// expired returns the Fault of a context that has ended, or nil.
func expired(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	text := "the call was cancelled before the object was evaluated"
	if errors.Is(err, context.DeadlineExceeded) {
		text = "the deadline passed before the object was evaluated: allow more time, or send a smaller object"
	}
	return &Fault{Code: Deadline, Text: text, Cause: err}
}

func (d *Definition) noVersion(what, version string) *Fault {
	names := make([]string, len(d.Versions))
	for i, v := range d.Versions {
		names[i] = v.Name
	}
	return &Fault{Code: VersionNotFound, Text: fmt.Sprintf("%s %q is not a version of %s: it has %s", what, version,
		d.Name, strings.Join(names, ", "))}
}

// endpoint returns a version that is served. what names the origin of the version in errors.
func (d *Definition) endpoint(what, name string) (*Version, error) {
	v := d.Find(name)
	switch {
	case v == nil:
		return nil, d.noVersion(what, name)
	case !v.Served:
		return nil, &Fault{Code: VersionNotServed, Text: fmt.Sprintf(
			"version %q of %s is not served: ask for one that is", v.Name, d.Name)}
	}
	return v, nil
}

// about returns a copy of a Fault whose text starts with what instead of "object: ".
func about(f *Fault, what string) error {
	other := *f
	other.Text = what + strings.TrimPrefix(f.Text, "object: ")
	return &other
}
