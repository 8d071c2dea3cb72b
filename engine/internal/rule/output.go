package rule

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/value"
)

// writer adds the value of an expression to the run's Doc, and checks that the field can have it.
type writer struct {
	run *Run
	// values has the nodes of cel-go's values. It is nil for those of closures.
	values *interpret.Evaluation
	at     []string // the path in the value
}

// Bounds of the values that expressions make in one run.
const (
	maxResultBytes = 64 << 20
	nodeBytes      = 64 // that one node counts
	maxShownBytes  = 80 // of a value in an error
)

// errNoValue is for a value of a closure that only the fallback has.
var errNoValue = errors.New("no value")

// add adds a node. bytes is the length of its text.
func (w *writer) add(n value.Node, bytes int) (uint32, error) {
	r := w.run
	if r.written += int64(nodeBytes + bytes); r.written > maxResultBytes {
		return 0, &value.LimitError{
			Name: "max_expression_result_bytes", Limit: "values that expressions make for one object", Unit: "bytes",
			Maximum: maxResultBytes, Actual: r.written, AtLeast: true, Advice: "bound what the expressions work on",
		}
	}
	r.Doc.Nodes = append(r.Doc.Nodes, n)
	return uint32(len(r.Doc.Nodes) - 1), nil
}

// mismatch returns the error for a value that the field cannot have. shown is the value.
func (w *writer) mismatch(shown string, t *closure.Type) error {
	where := ""
	if len(w.at) > 0 {
		where = " at " + strings.TrimPrefix(strings.Join(w.at, ""), ".")
	}
	if len(shown) > maxShownBytes {
		shown = strings.ToValidUTF8(shown[:maxShownBytes], "") + "..."
	}
	if t == nil {
		return &ExpressionError{fmt.Sprintf("the value%s is %s, and the schema has no such field", where, shown)}
	}
	return &ExpressionError{fmt.Sprintf("the value%s is %s, and the field needs %s", where, shown, typeText(t))}
}

// scalar adds a scalar with its JSON text if the field has one of the kinds or takes any data.
func (w *writer) scalar(n value.Node, text string, t *closure.Type, kinds ...closure.Kind) (uint32, error) {
	if !isAny(t) && !slices.Contains(kinds, t.Kind) {
		return 0, w.mismatch(text, t)
	}
	d := w.run.Doc
	n.Src, n.Off = value.Arena, uint32(len(d.Src[value.Arena]))
	d.Src[value.Arena] = append(d.Src[value.Arena], text...)
	n.End = uint32(len(d.Src[value.Arena]))
	return w.add(n, len(text))
}

func (w *writer) null(t *closure.Type) (uint32, error) {
	if !t.Nullable && !isAny(t) {
		return 0, w.mismatch("null", t)
	}
	return w.scalar(value.Node{Kind: value.Null}, "null", anyType)
}

func (w *writer) bool(v bool, t *closure.Type) (uint32, error) {
	if v {
		return w.scalar(value.Node{Kind: value.True}, "true", t, closure.Bool)
	}
	return w.scalar(value.Node{Kind: value.False}, "false", t, closure.Bool)
}

func (w *writer) int(v int64, t *closure.Type) (uint32, error) {
	var buf [20]byte
	text := strconv.AppendInt(buf[:0], v, 10)
	return w.scalar(value.Node{Kind: value.Int, Val: uint64(v)}, string(text), t, closure.Int, closure.Double, closure.Dyn)
}

func (w *writer) double(v float64, t *closure.Type) (uint32, error) {
	text := string(value.AppendAny(nil, v))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, w.mismatch(fmt.Sprint(v)+", which JSON does not have", t)
	}
	n := value.Node{Kind: value.Float, Val: math.Float64bits(v)}
	if !strings.ContainsAny(text, ".e") {
		n.Flags = value.Lossy // as parsed, the text is an Int
	}
	return w.scalar(n, text, t, closure.Double)
}

// string adds a string. Strings are not checked against the format of the field.
func (w *writer) string(s string, t *closure.Type) (uint32, error) {
	switch {
	case isAny(t):
	case t.Name != "string" && t.Kind != closure.Dyn:
		return 0, w.mismatch(string(value.AppendString(nil, s)), t)
	}
	d := w.run.Doc
	n := value.Node{Kind: value.String, Src: value.Arena, Off: uint32(len(d.Src[value.Arena]))}
	d.Src[value.Arena] = value.AppendString(d.Src[value.Arena], s)
	n.End = uint32(len(d.Src[value.Arena]))
	if int(n.End-n.Off) != len(s)+2 {
		n.Flags, n.Val = value.Escaped, uint64(n.End)<<32|uint64(len(s))
		d.Src[value.Arena] = append(d.Src[value.Arena], s...)
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			n.Flags |= value.Wide
			break
		}
	}
	return w.add(n, 2*len(s))
}

// list adds a list of n elements, which add adds.
func (w *writer) list(n int, t *closure.Type, add func(i int, t *closure.Type) (uint32, error)) (uint32, error) {
	if t.Name != "array" && !isAny(t) {
		return 0, w.mismatch("a list", t)
	}
	return w.container(value.Array, n, func(i int) (uint32, error) {
		w.at = append(w.at, "["+strconv.Itoa(i)+"]")
		return add(i, elemType(t))
	})
}

// container adds a list or an object.
func (w *writer) container(kind value.Kind, n int, add func(i int) (uint32, error)) (uint32, error) {
	made, err := w.add(value.Node{Kind: kind, Src: value.Arena, Flags: value.Dirty, Live: uint32(n)}, 0)
	last, depth := uint32(0), len(w.at)
	for i := 0; i < n && err == nil; i++ {
		var c uint32
		if c, err = add(i); err != nil {
			break
		}
		if w.at = w.at[:depth]; last == 0 {
			w.run.Doc.Nodes[made].First = c
		} else {
			w.run.Doc.Nodes[last].Next = c
		}
		last = c
	}
	return made, err
}

// closure adds a value of a closure.
func (w *writer) closure(v closure.Value, t *closure.Type) (uint32, error) {
	switch v.Kind() {
	case closure.Bool:
		return w.bool(v.Bool(), t)
	case closure.Int:
		return w.int(v.Int(), t)
	case closure.Double:
		return w.double(v.Double(), t)
	case closure.String:
		return w.string(v.Text(), t)
	case closure.Object:
		return w.copy(v.Node(), t)
	case closure.List:
		return w.list(v.Len(), t, func(i int, t *closure.Type) (uint32, error) { return w.closure(v.At(i), t) })
	}
	of, ok := v.Ref()
	if !ok {
		return 0, errNoValue
	}
	return w.result(of, t)
}

// result adds a value of cel-go.
func (w *writer) result(v ref.Val, t *closure.Type) (uint32, error) {
	switch v := v.(type) {
	case types.Null:
		return w.null(t)
	case types.Bool:
		return w.bool(bool(v), t)
	case types.Int:
		return w.int(int64(v), t)
	case types.Double:
		return w.double(float64(v), t)
	case types.String:
		return w.string(string(v), t)
	case types.Bytes:
		if t.Kind == closure.Bytes {
			return w.string(base64.StdEncoding.EncodeToString(v), t)
		}
	case types.Timestamp:
		switch t.Kind {
		case closure.Date:
			return w.string(v.Format(time.DateOnly), t)
		case closure.DateTime:
			return w.string(v.Format(time.RFC3339Nano), t)
		}
	case types.Duration:
		if t.Kind == closure.Duration {
			return w.string(v.Duration.String(), t)
		}
	case *types.Optional:
		if !v.HasValue() && len(w.at) == 0 {
			return 0, nil
		}
		if len(w.at) == 0 {
			return w.result(v.GetValue(), t)
		}
	case traits.Lister:
		if node := w.node(v); node != 0 {
			return w.copy(node, t)
		}
		n, _ := v.Size().(types.Int)
		return w.list(int(n), t, func(i int, t *closure.Type) (uint32, error) { return w.result(v.Get(types.Int(i)), t) })
	case traits.Mapper:
		if node := w.node(v); node != 0 {
			return w.copy(node, t)
		}
		return w.mapResult(v, t)
	}
	return 0, w.mismatch("of the type "+v.Type().TypeName(), t)
}

// node returns the node of a value of the document, 0 if there is none.
func (w *writer) node(v ref.Val) uint32 {
	if w.values == nil {
		return 0
	}
	return w.values.NodeOf(v)
}

// mapResult adds a computed map, sorted by key.
func (w *writer) mapResult(m traits.Mapper, t *closure.Type) (uint32, error) {
	if t.Name != "object" && !isAny(t) {
		return 0, w.mismatch("an object", t)
	}
	var keys []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		switch key := it.Next().(type) {
		case nil:
		case types.String:
			keys = append(keys, string(key))
		default:
			return 0, &ExpressionError{fmt.Sprintf("a key of the map is %v, and keys must be strings", key.Value())}
		}
	}
	slices.Sort(keys)
	return w.container(value.Object, len(keys), func(i int) (uint32, error) {
		key := keys[i]
		w.at = append(w.at, "."+key)
		v, _ := m.Find(types.String(key))
		of := memberType(t, key)
		if of == nil {
			return 0, w.mismatch("set", nil)
		}
		c, err := w.result(v, of)
		if err == nil {
			w.run.Doc.SetKey(c, key)
		}
		return c, err
	})
}

// copy adds a copy of a node of the document. The text of the copy is that of the node.
func (w *writer) copy(node uint32, t *closure.Type) (uint32, error) {
	d := w.run.Doc
	n := d.Nodes[node]
	if fits := n.Kind == value.Null && t.Nullable || slices.Contains(nodeTypes[n.Kind], typeName(t)); !fits && !isAny(t) {
		return 0, w.mismatch(w.shown(node), t)
	}
	if n.Flags&value.Slotted != 0 {
		n.Flags, n.Val = n.Flags&^value.Slotted, 0
	}
	first := n.First
	n.First, n.Next, n.Key, n.KeyLen = 0, 0, 0, 0
	made, err := w.add(n, 0)
	last, depth := uint32(0), len(w.at)
	for i, c := 0, first; c != 0 && err == nil; i, c = i+1, d.Nodes[c].Next {
		of := elemType(t)
		if n.Kind == value.Object {
			w.at = append(w.at, "."+d.Key(c))
			of = memberType(t, d.Key(c))
		} else {
			w.at = append(w.at, "["+strconv.Itoa(i)+"]")
		}
		if of == nil {
			return 0, w.mismatch(w.shown(c), nil)
		}
		var child uint32
		if child, err = w.copy(c, of); err != nil {
			break
		}
		from, to := &d.Nodes[c], &d.Nodes[child]
		to.KeySrc, to.Key, to.KeyLen = from.KeySrc, from.Key, from.KeyLen
		if w.at = w.at[:depth]; last == 0 {
			d.Nodes[made].First = child
		} else {
			d.Nodes[last].Next = child
		}
		last = child
	}
	return made, err
}

// shown returns a node for an error.
func (w *writer) shown(node uint32) string {
	switch d := w.run.Doc; d.Nodes[node].Kind {
	case value.Object:
		return "an object"
	case value.Array:
		return "a list"
	default:
		return string(d.AppendJSON(nil, node))
	}
}

// nodeTypes are the types of fields that can have a kind of node, as typeName has them.
var nodeTypes = [...][]string{
	value.Null:   {},
	value.False:  {"boolean"},
	value.True:   {"boolean"},
	value.Int:    {"integer", "number", intOrString},
	value.Float:  {"number"},
	value.String: {"string", intOrString},
	value.Array:  {"array"},
	value.Object: {"object"},
}

const intOrString = "int-or-string"

func typeName(t *closure.Type) string {
	if t.Kind == closure.Dyn {
		return intOrString
	}
	return t.Name
}
