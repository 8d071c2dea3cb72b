package lens

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// findings are the violations of a file, each once.
type findings struct{ found []violation.Violation }

// maxViolations bounds the violations of a file: more do not help to correct it.
const maxViolations = 100

// add adds a violation. Its Field is that of the path in the file. Long texts are shortened.
func (f *findings) add(at tree.Path, err *field.Error) {
	err.Field, err.Detail = at.Dotted(), violation.Shorten(err.Detail, maxShownText)
	if bad, isText := err.BadValue.(string); isText {
		err.BadValue = violation.Shorten(bad, maxShownFile)
	}
	known := func(v violation.Violation) bool { return v.Error.Error() == err.Error() }
	if len(f.found) < maxViolations && !slices.ContainsFunc(f.found, known) {
		f.found = append(f.found, violation.Of(violation.Convert, err, at.Detach()))
	}
}

func (f *findings) invalid(at tree.Path, bad any, format string, args ...any) {
	f.add(at, field.Invalid(nil, bad, fmt.Sprintf(format, args...)))
}
