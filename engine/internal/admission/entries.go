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

	byValue map[string][]labelled // of labels, by value
	passed  map[[2]string]int     // number of errors so far, by value and detail
}

type labelled struct {
	key  string
	node uint32
}

// originOfValue marks errors about a label's value. Errors about keys have another origin.
const originOfValue = "format=k8s-label-value"

// of returns the path of an error, and the node there or the deepest node above it.
func (e *entries) of(err *field.Error) (value.Path, uint32) {
	path := violation.PathOf(err.Field)
	node := e.finder.Deepest(e.root, path)
	bad, isText := err.BadValue.(string)
	if !isText || err.Type != field.ErrorTypeInvalid ||
		err.Field != "metadata.labels" && err.Field != "metadata.annotations" {
		return path, node
	}
	if err.Origin == originOfValue {
		return e.ofValue(path, node, bad, err.Detail)
	}
	if c := e.finder.Field(node, bad); c != 0 {
		return append(path, value.Entry(bad)), c
	}
	return path, node
}

// ofValue assigns errors about one value to the labels with that value, in document order for each detail.
func (e *entries) ofValue(path value.Path, labels uint32, bad, detail string) (value.Path, uint32) {
	if e.byValue == nil {
		e.byValue, e.passed = e.values(labels), map[[2]string]int{}
	}
	k := e.passed[[2]string{bad, detail}]
	if k >= len(e.byValue[bad]) {
		return path, labels
	}
	e.passed[[2]string{bad, detail}]++
	found := e.byValue[bad][k]
	return append(path, value.Entry(found.key)), found.node
}

func (e *entries) values(labels uint32) map[string][]labelled {
	all := map[string][]labelled{}
	for c := e.d.Nodes[labels].First; c != 0; c = e.d.Nodes[c].Next {
		if e.d.Nodes[c].Kind == value.String {
			text := e.d.Str(c)
			all[text] = append(all[text], labelled{strings.Clone(e.d.Key(c)), c})
		}
	}
	return all
}
