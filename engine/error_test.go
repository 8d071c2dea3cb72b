package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// A Fault's code becomes a Reason by its text alone.
func TestEveryFaultHasAReason(t *testing.T) {
	for code, want := range map[admission.Code]Reason{
		admission.VersionNotFound:       ReasonVersionNotFound,
		admission.VersionNotServed:      ReasonVersionNotServed,
		admission.LimitExceeded:         ReasonLimitExceeded,
		admission.Deadline:              ReasonItemDeadline,
		admission.ObjectRejected:        ReasonObjectRejected,
		admission.ConversionUnavailable: ReasonConversionUnavailable,
		admission.ConversionFailed:      ReasonConversionFailed,
		admission.Internal:              ReasonInternal,
	} {
		cause := errors.New("cause")
		err := faultError(fmt.Errorf("wrapped: %w", &admission.Fault{Code: code, Text: "text", Cause: cause}))
		if got := ReasonOf(fmt.Errorf("wrapped again: %w", err)); got != want || err.Error() != "text" || !errors.Is(err, cause) {
			t.Errorf("%s: %s, %v", code, got, err)
		}
	}
	if got := ReasonOf(faultError(errors.New("no fault"))); got != ReasonInternal {
		t.Errorf("anything else: %s", got)
	}
	if ReasonOf(nil) != "" || ReasonOf(context.Canceled) != "" {
		t.Error("what is no Error has a reason")
	}
}
