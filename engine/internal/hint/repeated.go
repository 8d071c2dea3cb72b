package hint

import (
	"fmt"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Repeated returns a hint about a key that is set again, or nil if the first one is not known.
func Repeated(at *tree.DuplicatePlace) *violation.Hint {
	if len(at.Path) == 0 || at.Before == (tree.Position{}) {
		return nil
	}
	key := strconv.Quote(at.Path[len(at.Path)-1].Key())
	switch {
	case at.Written == "":
		return &violation.Hint{Text: fmt.Sprintf(
			"the %s of line %d is lost, since the last one counts: merge them, or remove one", key, at.Before.Line)}
	case at.SameText:
		return &violation.Hint{Text: fmt.Sprintf("%s of line %d and %s are the same key in JSON, so that one value is lost: "+
			"merge them, or remove one", at.WrittenBefore, at.Before.Line, at.Written)}
	}
	return &violation.Hint{Text: fmt.Sprintf("YAML 1.1 reads %s of line %d and %s as the same key, %s, so that one value is lost: "+
		"quote the keys, or remove one", at.WrittenBefore, at.Before.Line, at.Written, key)}
}
