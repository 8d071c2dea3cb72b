// Package jsonpath evaluates the JSONPaths of printer columns over a document tree. Results match client-go's
// util/jsonpath, which also parses the paths.
package jsonpath

import (
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Path is a parsed JSONPath of a column.
type Path struct {
	// Names holds the names of a path that only consists of members, like .spec.replicas. It is nil for any other path.
	Names []string
	// blocks holds the parts of the template: {…} or text in between. Most paths have one.
	blocks []jsonpath.Node
	// Ranges is set if the path can have the words range or end. Its evaluation then depends on a RangeState.
	Ranges bool
}

// Parse parses the JSONPath of a column. The error is upstream's.
func Parse(name, text string) (*Path, error) {
	if names := PlainNames(text); names != nil {
		return &Path{Names: names}, nil
	}
	parsed, err := jsonpath.Parse(name, "{"+text+"}")
	if err != nil {
		return nil, err
	}
	return &Path{blocks: parsed.Root.Nodes, Ranges: strings.Contains(text, "range") || strings.Contains(text, "end")}, nil
}

// PlainNames returns the names of a path like .spec.replicas, or nil for any other path.
func PlainNames(text string) []string {
	if text == "" || text[0] != '.' {
		return nil
	}
	var names []string
	for from, i := 1, 1; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == '.':
			if i == from {
				return nil
			}
			names = append(names, text[from:i])
			from = i + 1
		case text[i] == '_' || text[i] == '-' || text[i] == '/' || '0' <= text[i] && text[i] <= '9' || 'a' <= text[i]|0x20 && text[i]|0x20 <= 'z':
		default:
			return nil
		}
	}
	return names
}

// Value is an intermediate or final value of a path: a node of the tree, or a value made by the path.
type Value struct {
	Node    uint32
	made    uint32        // 0 for a node
	literal jsonpath.Node // of madeLiteral
}

// Values of Value.made. A byte b of a string is madeByte+b.
const (
	madeNothing = 1 + iota // an invalid reflect.Value: null becomes this inside a range
	madeLiteral
	madeByte
)

// IsNode reports whether a value is a node of the tree.
func (v Value) IsNode() bool { return v.made == 0 }

// Scalar is a value that can be compared.
type Scalar struct {
	Kind  Kind
	Int   int64
	Float float64
	Text  string
	Bool  bool
}

// Kind is the kind of a Scalar.
type Kind uint8

// The kinds of scalars that upstream's comparisons distinguish.
const (
	NoScalar Kind = iota // null, a list, an object
	Bool
	Int
	Uint // a byte of a string
	Float
	String
)

// Scalar returns the comparable form of a value.
func (w *Evaluation) Scalar(v Value) Scalar {
	switch n := v.literal.(type) {
	case *jsonpath.IntNode:
		return Scalar{Kind: Int, Int: int64(n.Value)}
	case *jsonpath.FloatNode:
		return Scalar{Kind: Float, Float: n.Value}
	case *jsonpath.BoolNode:
		return Scalar{Kind: Bool, Bool: n.Value}
	case *jsonpath.TextNode:
		return Scalar{Kind: String, Text: n.Text}
	}
	switch {
	case v.made >= madeByte:
		return Scalar{Kind: Uint, Int: int64(v.made - madeByte)}
	case v.made == madeNothing:
		return Scalar{}
	}
	switch kind := w.d.Nodes[v.Node].Kind; kind {
	case tree.False, tree.True:
		return Scalar{Kind: Bool, Bool: kind == tree.True}
	case tree.Int:
		return Scalar{Kind: Int, Int: w.d.Int(v.Node)}
	case tree.Float:
		return Scalar{Kind: Float, Float: w.d.Float(v.Node)}
	case tree.String:
		return Scalar{Kind: String, Text: w.d.Str(v.Node)}
	}
	return Scalar{}
}
