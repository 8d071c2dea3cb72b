package admission

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// entries finds the paths of errors about ObjectMeta. An error about labels or annotations names only the map and shows
// the key or the value; its path leads to the entry.
type entries struct {
	d      *value.Doc
	finder *value.Finder
	root   uint32

	byValue map[string][]uint32 // labels in document order
	passed  map[[2]string]int   // number of errors so far, by value and detail
}

// originOfValue marks errors about a label's value. Errors about keys have another origin.
const originOfValue = "format=k8s-label-value"

// of returns the path of an error, and the node there or the deepest node above it.
func (e *entries) of(err *field.Error) (value.Path, uint32) {
	path := violation.PathOf(err.Field)
	node, entry := e.finder.Deepest(e.root, path), uint32(0)
	bad, isText := err.BadValue.(string)
	switch {
	case !isText || err.Type != field.ErrorTypeInvalid ||
		err.Field != "metadata.labels" && err.Field != "metadata.annotations":
	case err.Origin == originOfValue:
		entry = e.next(node, bad, err.Detail)
	default:
		entry = e.finder.Field(node, bad)
	}
	if entry == 0 {
		return path, node
	}
	return append(path, value.Entry(strings.Clone(e.d.Key(entry)))), entry
}

// next returns the label for an error about a value: labels with one value are taken in document order for each detail.
func (e *entries) next(labels uint32, bad, detail string) uint32 {
	if e.byValue == nil {
		e.byValue, e.passed = map[string][]uint32{}, map[[2]string]int{}
		for c := e.d.Nodes[labels].First; c != 0; c = e.d.Nodes[c].Next {
			if e.d.Nodes[c].Kind == value.String {
				e.byValue[e.d.Str(c)] = append(e.byValue[e.d.Str(c)], c)
			}
		}
	}
	which := [2]string{bad, detail}
	k := e.passed[which]
	e.passed[which]++
	if list := e.byValue[bad]; k < len(list) {
		return list[k]
	}
	return 0
}
