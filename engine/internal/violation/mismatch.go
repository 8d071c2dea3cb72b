package violation

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// mostMismatches is the highest number of violations that Mismatches returns.
const mostMismatches = 100

// Mismatches returns a violation for each value that a Go type cannot hold, such as a number as the value of a label, in
// document order. at is the path of the node. It does not look below a value of the wrong type. encoding/json reports
// only the first one, without its place.
func Mismatches(d *tree.Doc, node uint32, at tree.Path, of reflect.Type) []Violation {
	w := typeWalk{d: d}
	w.walk(node, at, of)
	return w.found
}

type typeWalk struct {
	d     *tree.Doc
	found []Violation
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	times       = map[reflect.Type]bool{
		reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true,
	}
)

func (w *typeWalk) walk(node uint32, at tree.Path, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	kind := w.d.Nodes[node].Kind
	if len(w.found) == mostMismatches || kind == tree.Null && !reflect.PointerTo(of).Implements(unmarshaler) {
		return
	}
	switch {
	case reflect.PointerTo(of).Implements(unmarshaler) || of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		w.leaf(node, at, of)
	case of.Kind() == reflect.Interface:
	case of.Kind() == reflect.Struct:
		if w.is(tree.Object, node, at) {
			for c := w.d.Nodes[node].First; c != 0; c = w.d.Nodes[c].Next {
				if f := member(of, w.d.Key(c)); f != nil {
					w.walk(c, at.With(tree.Name(strings.Clone(w.d.Key(c)))), f)
				}
			}
		}
	case of.Kind() == reflect.Map:
		if w.is(tree.Object, node, at) {
			for c := w.d.Nodes[node].First; c != 0; c = w.d.Nodes[c].Next {
				w.walk(c, at.With(tree.Entry(strings.Clone(w.d.Key(c)))), of.Elem())
			}
		}
	case of.Kind() == reflect.Slice:
		if w.is(tree.Array, node, at) {
			i := 0
			for c := w.d.Nodes[node].First; c != 0; c = w.d.Nodes[c].Next {
				w.walk(c, at.With(tree.At(i)), of.Elem())
				i++
			}
		}
	default:
		w.leaf(node, at, of)
	}
}

// member returns the type of the member with a JSON name, or nil.
func member(of reflect.Type, name string) reflect.Type {
	for i := range of.NumField() {
		f := of.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == name && name != "-" && name != "":
			return f.Type
		case tag == "" && f.Anonymous && (options == "" || strings.Contains(options, "inline")):
			if t := member(f.Type, name); t != nil {
				return t
			}
		}
	}
	return nil
}

// is reports whether a node is of a kind, and reports a mismatch if not.
func (w *typeWalk) is(want tree.Kind, node uint32, at tree.Path) bool {
	if w.d.Nodes[node].Kind == want {
		return true
	}
	w.add(node, at, want.String(), "")
	return false
}

// leaf decodes a value to find out whether its type can hold it.
func (w *typeWalk) leaf(node uint32, at tree.Path, of reflect.Type) {
	kind, want := w.d.Nodes[node].Kind, wantOf(of)
	isBoolean := kind == tree.True || kind == tree.False
	if kind == tree.String && of.Kind() == reflect.String || isBoolean && want == "boolean" {
		return
	}
	if utiljson.Unmarshal(w.d.AppendJSON(nil, node), reflect.New(of).Interface()) == nil {
		return
	}
	detail := ""
	switch isText := kind == tree.String; {
	case times[of]:
		want, detail = "", "must be a time such as 2006-01-02T15:04:05Z"
	case want == "string" && isText:
		detail = "must be text in base64"
	case want == "integer" && kind == tree.Int:
		detail = "must be an integer of " + of.Kind().String()[len("int"):] + " bits"
	case want == "":
		detail = "cannot be of this type"
	}
	w.add(node, at, want, detail)
}

// wantOf returns the JSON type of a Go type, "" if it is not known.
func wantOf(of reflect.Type) string {
	switch kind := of.Kind(); {
	case kind == reflect.String || kind == reflect.Slice:
		return "string"
	case kind == reflect.Bool:
		return "boolean"
	case reflect.Int <= kind && kind <= reflect.Int64:
		return "integer"
	case kind == reflect.Float32 || kind == reflect.Float64:
		return "number"
	}
	return ""
}

func (w *typeWalk) add(node uint32, at tree.Path, want, detail string) {
	if detail == "" {
		detail = WrongType(want, w.d.Nodes[node].Kind)
	}
	name := ""
	if len(at) > 0 {
		name = at.Bracketed()
	}
	v := Reason(Decode, TypeDecode, name, detail, at)
	v.Node, v.Want = node, want
	switch w.d.Nodes[node].Kind {
	case tree.Array, tree.Object:
	default:
		v.BadValue = w.d.Any(node)
	}
	w.found = append(w.found, v)
}

// WrongType returns the message about a value of another JSON type than the one that is wanted.
func WrongType(want string, is tree.Kind) string {
	return "must be " + article(want) + ", not " + article(is.String())
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array":
		return "a list"
	case "object", "integer":
		return "an " + kind
	}
	return "a " + kind
}
