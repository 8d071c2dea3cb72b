package violation

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// PathOf parses the path of a field error, for example metadata.ownerReferences[0].uid. A name that contains dots or
// brackets makes the text ambiguous; only the document can resolve it.
func PathOf(field string) (path value.Path) {
	for field != "" {
		switch field[0] {
		case '.':
			field = field[1:]
		case '[':
			inner, rest, _ := strings.Cut(field[1:], "]")
			if i, err := strconv.Atoi(inner); err == nil {
				path = append(path, value.At(i))
			} else {
				path = append(path, value.Entry(inner))
			}
			field = rest
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			path = append(path, value.Name(field[:end]))
			field = field[end:]
		}
	}
	return path
}
