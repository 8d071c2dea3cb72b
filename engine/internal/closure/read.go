package closure

import (
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// nodeKinds are the kinds of nodes that a type allows, as bits. Nulls and formats are checked separately.
var nodeKinds = [...]uint16{
	Opaque: 0,
	Bool:   1<<tree.False | 1<<tree.True,
	Int:    1 << tree.Int,
	Double: 1<<tree.Int | 1<<tree.Float,
	String: 1 << tree.String, Bytes: 1 << tree.String, Duration: 1 << tree.String,
	Date: 1 << tree.String, DateTime: 1 << tree.String,
	Dyn:  1<<tree.Int | 1<<tree.String,
	List: 1 << tree.Array,
	Map:  1 << tree.Object, Object: 1 << tree.Object,
}

// formatted reports whether reading a node of an allowed kind can fail.
func formatted(k Kind) bool { return k >= Bytes && k <= DateTime }

// read returns the value of a node, as upstream's UnstructuredToVal (k8s.io/apiserver/pkg/cel/common). It is false
// where that returns an error.
func (f *Frame) read(node uint32, t *Type) (val, bool) {
	n := &f.Doc.Nodes[node]
	if n.Kind == tree.Null {
		return val{}, t.Nullable
	}
	if nodeKinds[t.Kind]>>n.Kind&1 == 0 {
		return val{}, false
	}
	switch t.Kind {
	case Bool:
		return boolVal(n.Kind == tree.True), true
	case Int:
		return val{kind: kindInt, word: n.Val}, true
	case Double:
		return doubleVal(f.Doc.Number(node)), true
	case String, Dyn:
		if n.Kind == tree.Int {
			return val{kind: kindInt, word: n.Val}, true
		}
		return textVal(kindString, f.Doc.Str(node), n.Flags&tree.Wide != 0), true
	case List, Map, Object:
		return nodeVal(node, t), true
	}
	return parse(f.Doc.Str(node), t.Kind)
}

// parse reads a string whose format has a CEL type.
func parse(s string, k Kind) (val, bool) {
	switch k {
	case Duration:
		d, err := strfmt.ParseDuration(s)
		return durationVal(d), err == nil
	case Date:
		d, err := time.Parse(strfmt.RFC3339FullDate, s)
		return refVal(types.Timestamp{Time: d}), err == nil
	case DateTime:
		d, err := strfmt.ParseDateTime(s)
		return refVal(types.Timestamp{Time: time.Time(d)}), err == nil
	case Bytes:
		var b strfmt.Base64
		err := b.UnmarshalText([]byte(s))
		return textVal(kindBytes, string(b), false), err == nil
	}
	return val{}, false
}
