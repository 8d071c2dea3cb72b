package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// goTypes are the types and formats that the typeValidator infers from a value's Go type.
var goTypes = [...]struct{ name, format string }{
	tree.Null: {"null", ""}, tree.False: {"boolean", ""}, tree.True: {"boolean", ""},
	tree.Int: {"integer", "int64"}, tree.Float: {"number", "float64"},
	tree.String: {"string", ""}, tree.Array: {"array", ""}, tree.Object: {"object", ""},
}

// typeOf is the typeValidator. Its count is one, or zero for a wrong type.
func (e *explainer) typeOf(n *Node, v *Validation, i uint32) (matches int) {
	kind := e.d.Nodes[i].Kind
	if v.Format == "" && n.Type != "" && kind != tree.Null && n.kinds.has(kind) {
		return 1
	}
	types := n.Types()
	if kind == tree.Null {
		if len(types) > 0 && !slices.Contains(types, "null") && !n.Has(Nullable) {
			e.wrongType(n.typeKeyword(), i, joinTypes(types), "null")
			return 0
		}
		return 1
	}
	typ, format := goTypes[kind].name, goTypes[kind].format
	accepts := slices.Contains(types, typ)
	if !accepts && (n.Has(IntOrString) && quirk.On(quirk.IntOrStringAcceptsWholeFloat) ||
		!n.Has(IntOrString) && quirk.On(quirk.IntegerAcceptsWholeFloat)) {
		accepts = kind == tree.Float && slices.Contains(types, "integer") && nearInteger(e.d.Float(i))
	}
	accepts = accepts || kind == tree.Int && slices.Contains(types, "number")
	sequence := kind == tree.String || kind == tree.Array && quirk.On(quirk.FormattedStringAcceptsArray)
	switch {
	case v.Format == "":
	case kind != tree.String && kind != tree.Array && !accepts && format != v.Format:
		e.wrongType("format", i, v.Format, format)
		return 0
	case sequence && !slices.Contains(types, "number") && !slices.Contains(types, "integer"):
		return 1
	}
	if !accepts {
		e.wrongType(n.typeKeyword(), i, joinTypes(types), typ)
		return 0
	}
	return 1
}

// typeKeyword returns the keyword that declares the types of the node.
func (n *Node) typeKeyword() string {
	if n.Has(IntOrString) {
		return "x-kubernetes-int-or-string"
	}
	if n.Type == "" {
		return "format"
	}
	return "type"
}

func joinTypes(types []string) string {
	if !quirk.On(quirk.IntOrStringTypeErrors) {
		return strings.Join(types, " or ")
	}
	return strings.Join(types, ",")
}

// text is the stringValidator. It reports only the first of maxLength, minLength and pattern that fails. It has no
// count.
func (e *explainer) text(v *Validation, i uint32) {
	if v.MaxLength == nil && v.MinLength == nil && v.Pattern == nil {
		return
	}
	s := e.d.Str(i)
	before := len(e.found)
	if v.MaxLength != nil && int64(utf8.RuneCountInString(s)) > *v.MaxLength {
		err := field.TooLong(nil, "", int(*v.MaxLength))
		if !quirk.On(quirk.TooLongSaysBytes) {
			err = field.TooLongCharacters(nil, "", int(*v.MaxLength))
		}
		at := e.dotted()
		t := e.textAt(at, " in body should be at most ", strconv.FormatInt(*v.MaxLength, 10), " chars long")
		e.report("maxLength", i, nil, at, t, err)
	}
	if v.MinLength != nil && (len(e.found) == before || !quirk.On(quirk.FirstStringErrorOnly)) &&
		int64(utf8.RuneCountInString(s)) < *v.MinLength {
		e.invalid("minLength", i, e.d.Any(i), " in body should be at least ", strconv.FormatInt(*v.MinLength, 10),
			" chars long")
	}
	if v.Pattern != nil && v.Pattern.Source != "" && (len(e.found) == before || !quirk.On(quirk.FirstStringErrorOnly)) {
		pattern := v.Pattern.Source
		matched, ok := v.Pattern.Match(s, e.at.Stop)
		if !ok {
			e.done = true
			return
		}
		if err := v.Pattern.Err(); err != nil {
			pattern = fmt.Sprintf("%s, but pattern is invalid: %s", pattern, err)
		}
		if !matched {
			e.invalid("pattern", i, e.d.Any(i), " in body should match '", pattern, "'")
		}
	}
}

// format is the formatValidator. It has no count.
func (e *explainer) format(v *Validation, i uint32) {
	if s := e.d.Str(i); !v.FormatID.Valid(s) {
		e.wrongType("format", i, v.Format, s)
	}
}

// enum is the basicCommonValidator. It has no count.
func (e *explainer) enum(v *Validation, i uint32) {
	if v.Enum == nil || len(v.Enum.Values) == 0 {
		return
	}
	if kind := e.d.Nodes[i].Kind; (kind == tree.Array || kind == tree.Object) && !v.Enum.compound {
		e.notInEnum(i, e.d.Any(i), v.Enum.Values)
		return
	}
	if e.tick(e.textOf(i) / 64) {
		return
	}
	data := e.d.Any(i)
	for _, want := range v.Enum.Values {
		if enumMatches(data, want) {
			return
		}
	}
	e.notInEnum(i, data, v.Enum.Values)
}

// enumMatches converts the value to the Go type of the enum's value with Go's reflection rules, and compares deeply: a
// float loses its fraction to an integer, an integer becomes the string of that code point. Null equals nothing.
func enumMatches(data, want any) bool {
	if text, isText := data.(string); isText && reflect.TypeOf(want) == reflect.TypeFor[string]() {
		return text == want
	}
	if !quirk.On(quirk.EnumConvertsValue) {
		return data != nil && reflect.DeepEqual(data, want)
	}
	if data == nil || want == nil {
		return data == nil && want == nil && !quirk.On(quirk.NullEnumNeverMatches)
	}
	from, to := reflect.ValueOf(data), reflect.TypeOf(want)
	return from.CanConvert(to) && reflect.DeepEqual(from.Convert(to).Interface(), want)
}
