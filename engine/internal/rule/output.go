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
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// writer adds the value of an expression to the run's Doc, and checks that the field can have it.
type writer struct {
	run *Run
	// values has the nodes of cel-go's values. It is nil for those of closures.
	values *interpret.Evaluation

	// After errMismatch: the value that the field cannot have, the type that it needs, nil for a field that it does not
	// have, and the path of the value, from its end.
	shown string
	needs *closure.Type
	path  []string
}

// Bounds of the values that expressions make in one run.
const (
	maxResultBytes = 64 << 20
	nodeBytes      = 64 // that one node counts
	maxShownBytes  = 80 // of a value in an error
)

var (
	// errNoValue is for a value that only the fallback has.
	errNoValue = errors.New("no value")
	// errMismatch is for a value that the field cannot have. The writer describes it.
	errMismatch = errors.New("mismatch")
)

// add adds a node. bytes is the length of its text.
func (w *writer) add(n tree.Node, bytes int) (uint32, error) {
	r := w.run
	if r.written += int64(nodeBytes + bytes); r.written > maxResultBytes {
		return 0, &tree.LimitError{
			Name: "max_expression_result_bytes", Limit: "values that expressions make for one object", Unit: "bytes",
			Maximum: maxResultBytes, Actual: r.written, AtLeast: true, Advice: "bound what the expressions work on",
		}
	}
	r.Doc.Nodes = append(r.Doc.Nodes, n)
	return uint32(len(r.Doc.Nodes) - 1), nil
}

// mismatch describes a value that the field cannot have.
func (w *writer) mismatch(shown string, needs *closure.Type) error {
	w.shown, w.needs = shown, needs
	return errMismatch
}

// below adds the step to a part of a value to the path of its error.
func (w *writer) below(step string, err error) error {
	if errors.Is(err, errMismatch) {
		w.path = append(w.path, step)
	}
	return err
}

// described returns the error of a whole value.
func (w *writer) described(err error) error {
	if !errors.Is(err, errMismatch) {
		return err
	}
	where := ""
	if slices.Reverse(w.path); len(w.path) > 0 {
		where = " at " + strings.TrimPrefix(strings.Join(w.path, ""), ".")
	}
	needs := "the schema has no such field"
	if w.needs != nil {
		needs = "the field needs " + typeText(w.needs)
	}
	return &ExpressionError{fmt.Sprintf("the value%s is %s, and %s", where, violation.Shorten(w.shown, maxShownBytes), needs)}
}

// scalar adds a scalar whose JSON text was appended to the Arena from an offset on, if the field has one of the kinds or
// takes any data.
func (w *writer) scalar(n tree.Node, from int, t *closure.Type, kinds ...closure.Kind) (uint32, error) {
	text := w.run.Doc.Src[tree.Arena][from:]
	if !isAny(t) && !slices.Contains(kinds, t.Kind) {
		return 0, w.mismatch(string(text), t)
	}
	n.Src, n.Off, n.End = tree.Arena, uint32(from), uint32(from+len(text))
	return w.add(n, len(text))
}

// text appends a JSON text to the Arena and returns its offset.
func (w *writer) text(json string) int {
	d := w.run.Doc
	from := len(d.Src[tree.Arena])
	d.Src[tree.Arena] = append(d.Src[tree.Arena], json...)
	return from
}

func (w *writer) null(t *closure.Type) (uint32, error) {
	if !t.Nullable && !isAny(t) {
		return 0, w.mismatch("null", t)
	}
	return w.scalar(tree.Node{Kind: tree.Null}, w.text("null"), anyType)
}

func (w *writer) bool(v bool, t *closure.Type) (uint32, error) {
	if v {
		return w.scalar(tree.Node{Kind: tree.True}, w.text("true"), t, closure.Bool)
	}
	return w.scalar(tree.Node{Kind: tree.False}, w.text("false"), t, closure.Bool)
}

func (w *writer) int(v int64, t *closure.Type) (uint32, error) {
	var buf [20]byte
	from := w.text(string(strconv.AppendInt(buf[:0], v, 10)))
	return w.scalar(tree.Node{Kind: tree.Int, Val: uint64(v)}, from, t, closure.Int, closure.Double, closure.Dyn)
}

func (w *writer) double(v float64, t *closure.Type) (uint32, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, w.mismatch(fmt.Sprint(v)+", which JSON does not have", t)
	}
	text := string(tree.AppendAny(nil, v))
	n := tree.Node{Kind: tree.Float, Val: math.Float64bits(v)}
	if !strings.ContainsAny(text, ".e") {
		n.Flags = tree.Lossy // as parsed, the text is an Int
	}
	return w.scalar(n, w.text(text), t, closure.Double)
}

// string adds a string. Strings are not checked against the format of the field.
func (w *writer) string(s string, t *closure.Type) (uint32, error) {
	if t.Name != "string" && t.Kind != closure.Dyn && !isAny(t) {
		return 0, w.mismatch(string(tree.AppendString(nil, s)), t)
	}
	d := w.run.Doc
	n := tree.Node{Kind: tree.String, Src: tree.Arena, Off: uint32(len(d.Src[tree.Arena]))}
	d.Src[tree.Arena] = tree.AppendString(d.Src[tree.Arena], s)
	n.End = uint32(len(d.Src[tree.Arena]))
	if int(n.End-n.Off) != len(s)+2 {
		n.Flags, n.Val = tree.Escaped, uint64(n.End)<<32|uint64(len(s))
		d.Src[tree.Arena] = append(d.Src[tree.Arena], s...)
	}
	if utf8.RuneCountInString(s) < len(s) {
		n.Flags |= tree.Wide
	}
	return w.add(n, 2*len(s))
}

// container adds a list or an object without members. The caller counts them and links them with link.
func (w *writer) container(kind tree.Kind, t *closure.Type) (uint32, error) {
	if !slices.Contains(nodeTypes[kind], t.Name) && !isAny(t) {
		return 0, w.mismatch(kindTexts[kind], t)
	}
	return w.add(tree.Node{Kind: kind, Src: tree.Arena, Flags: tree.Dirty}, 0)
}

// kindTexts describe containers in errors.
var kindTexts = [...]string{tree.Array: "a list", tree.Object: "an object"}

// link links a node as the next member of a container behind the last one, 0 for none, and returns it.
func (w *writer) link(parent, last, child uint32) uint32 {
	d := w.run.Doc
	if d.Nodes[parent].Live++; last == 0 {
		d.Nodes[parent].First = child
	} else {
		d.Nodes[last].Next = child
	}
	return child
}

// list adds a list of n elements, which add adds.
func (w *writer) list(n int, t *closure.Type, add func(i int, t *closure.Type) (uint32, error)) (uint32, error) {
	made, err := w.container(tree.Array, t)
	last := uint32(0)
	for i := 0; i < n && err == nil; i++ {
		var c uint32
		if c, err = add(i, elemType(t)); err != nil {
			return 0, w.below("["+strconv.Itoa(i)+"]", err)
		}
		last = w.link(made, last, c)
	}
	return made, err
}

// object adds an object with n members, which add adds: 0 for a member that is absent.
func (w *writer) object(
	n int, t *closure.Type, key func(i int) string, add func(i int, t *closure.Type) (uint32, error),
) (uint32, error) {
	made, err := w.container(tree.Object, t)
	last := uint32(0)
	for i := 0; i < n && err == nil; i++ {
		name := key(i)
		of := memberType(t, name)
		if of == nil {
			return 0, w.below(fieldStep(name), w.mismatch("set", nil))
		}
		c, err := add(i, of)
		if err != nil {
			return 0, w.below(fieldStep(name), err)
		}
		if c != 0 {
			w.run.Doc.SetKey(c, name)
			last = w.link(made, last, c)
		}
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
	case closure.Map:
		return w.object(v.Len(), t, v.Key, func(i int, t *closure.Type) (uint32, error) {
			if v.At(i).IsNone() {
				return 0, nil
			}
			return w.closure(v.At(i), t)
		})
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
			return w.string(v.String(), t)
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

// node returns the node of a value of the document, or 0.
func (w *writer) node(v ref.Val) uint32 {
	if w.values == nil {
		return 0
	}
	return w.values.NodeOf(v)
}

// mapResult adds a computed map, sorted by key.
func (w *writer) mapResult(m traits.Mapper, t *closure.Type) (uint32, error) {
	var keys []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		switch key := it.Next().(type) {
		case nil: // upstream's iterators yield nil for members that rules cannot see
		case types.String:
			keys = append(keys, string(key))
		default:
			return 0, &ExpressionError{fmt.Sprintf("a key of the map is %v, and keys must be strings", key.Value())}
		}
	}
	slices.Sort(keys)
	return w.object(len(keys), t, func(i int) string { return keys[i] }, func(i int, t *closure.Type) (uint32, error) {
		v, _ := m.Find(types.String(keys[i]))
		return w.result(v, t)
	})
}

// copy adds a copy of a node of the document. The text of the copy is that of the node.
func (w *writer) copy(node uint32, t *closure.Type) (uint32, error) {
	d := w.run.Doc
	n := d.Nodes[node]
	if fits := n.Kind == tree.Null && t.Nullable || slices.Contains(nodeTypes[n.Kind], typeName(t)); !fits && !isAny(t) {
		return 0, w.mismatch(w.describe(node), t)
	}
	first := n.First
	n.First, n.Next, n.Live, n.KeyLen = 0, 0, 0, 0
	if n.Flags&tree.Slotted != 0 {
		n.Flags, n.Val = n.Flags&^tree.Slotted, 0
	}
	made, err := w.add(n, 0)
	last := uint32(0)
	for i, c := 0, first; c != 0 && err == nil; i, c = i+1, d.Nodes[c].Next {
		of := elemType(t)
		if n.Kind == tree.Object {
			of = memberType(t, d.Key(c))
		}
		var child uint32
		if of == nil {
			err = w.mismatch(w.describe(c), nil)
		} else if child, err = w.copy(c, of); err == nil {
			from, to := &d.Nodes[c], &d.Nodes[child]
			to.KeySrc, to.Key, to.KeyLen = from.KeySrc, from.Key, from.KeyLen
			last = w.link(made, last, child)
			continue
		}
		step := fieldStep(d.Key(c))
		if n.Kind == tree.Array {
			step = "[" + strconv.Itoa(i) + "]"
		}
		return 0, w.below(step, err)
	}
	return made, err
}

// describe returns a node for an error.
func (w *writer) describe(node uint32) string {
	d := w.run.Doc
	if kind := d.Nodes[node].Kind; kind >= tree.Array {
		return kindTexts[kind]
	}
	return string(d.AppendJSON(nil, node))
}

// nodeTypes are the types of fields that can have a kind of node, as typeName has them.
var nodeTypes = [...][]string{
	tree.Null:   {},
	tree.False:  {"boolean"},
	tree.True:   {"boolean"},
	tree.Int:    {"integer", "number", intOrString},
	tree.Float:  {"number"},
	tree.String: {"string", intOrString},
	tree.Array:  {"array"},
	tree.Object: {"object"},
}

const intOrString = "int-or-string"

func typeName(t *closure.Type) string {
	if t.Kind == closure.Dyn {
		return intOrString
	}
	return t.Name
}
