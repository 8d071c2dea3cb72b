package hint

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

func isWrongType(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeTypeInvalid && v.Step == violation.Schema
}

// longestShown is the length, in bytes, of the longest value that a hint repeats.
const longestShown = 256

// wrongType suggests a value of a valid type.
func (f *Finder) wrongType(v *violation.Violation, at value.Position) *Hint {
	if at == (value.Position{}) {
		return nil
	}
	node := f.at(v.Path)
	if node == 0 {
		return nil
	}
	t := f.target(v.Path)
	types := t.types()
	if types == nil {
		types = typesIn(v.Detail)
	}
	wantsList := slices.Contains(types, "array")
	switch f.doc.Nodes[node].Kind {
	case value.Null:
		return nil
	case value.Array:
		return f.onlyElement(node, types)
	case value.Object:
		if wantsList && slices.Contains(t.item().types(), "object") {
			return listOf(f.doc.AppendJSON(nil, node), "a list is wanted: did you mean a list of this one object?")
		}
		return nil
	}
	if meant, text := f.converted(node, at, types); meant != nil {
		return &Hint{Text: text, Replacement: meant}
	}
	if !wantsList {
		return nil
	}
	const text = "a list is wanted: did you mean "
	items := t.item().types()
	if fits(f.doc.Nodes[node].Kind, items) {
		return listOf(f.doc.AppendJSON(nil, node), text)
	}
	if meant, _ := f.converted(node, at, items); meant != nil {
		return listOf(meant, text)
	}
	return nil
}

// typesIn reads the types from the detail of a violation: must be of type integer,string: "boolean".
func typesIn(detail string) []string {
	_, rest, ok := strings.Cut(detail, "must be of type ")
	if !ok {
		return nil
	}
	types, _, _ := strings.Cut(rest, ":")
	return strings.Split(types, ",")
}

// fits reports whether a kind is one of the types; without types any kind is.
func fits(kind value.Kind, types []string) bool {
	return len(types) == 0 || slices.Contains(types, kind.String()) || kind == value.Int && slices.Contains(types, "number")
}

// converted converts a scalar to one of the types and returns it with the text of a hint, or nil.
func (f *Finder) converted(node uint32, at value.Position, types []string) (meant []byte, text string) {
	written, ok := f.scalar(node, at)
	if !ok || len(written) > longestShown {
		return nil, ""
	}
	wants := func(kind string) bool { return slices.Contains(types, kind) }
	kind := f.doc.Nodes[node].Kind
	switch {
	case kind == value.String:
		bare := strings.TrimSpace(written)
		switch {
		case wants("integer") && isInteger(bare), wants("number") && isNumber(bare):
			return []byte(bare), "did you mean the number " + bare + ", without quotes?"
		case wants("boolean") && booleanOf(bare) != "":
			return []byte(booleanOf(bare)), "did you mean " + booleanOf(bare) + ", without quotes?"
		}
	case wants("string"):
		meant = strconv.AppendQuote(nil, written)
		text = "did you mean " + string(meant) + ", in quotes?"
		if name := strconv.FormatBool(kind == value.True); (kind == value.True || kind == value.False) && written != name {
			text = "YAML takes " + written + " for " + name + ": " + text
		}
		return meant, text
	case wants("boolean") && written == "0":
		return []byte("false"), "did you mean false?"
	case wants("boolean") && written == "1":
		return []byte("true"), "did you mean true?"
	}
	return nil, ""
}

// booleanOf returns "true" or "false" for a word that stands for one of them, else "".
func booleanOf(word string) string {
	switch strings.ToLower(word) {
	case "true", "yes", "on", "y", "1":
		return "true"
	case "false", "no", "off", "n", "0":
		return "false"
	}
	return ""
}

// isInteger reports whether a text is a JSON number and an int64.
func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && isNumber(s)
}

// isNumber reports whether a text is a JSON number that a float64 can hold.
func isNumber(s string) bool {
	var n float64
	return s != "" && s != "null" && json.Unmarshal([]byte(s), &n) == nil
}

// listOf returns a hint that a list of one value is meant. It appends the list to a text that does not end in a
// question mark.
func listOf(one []byte, text string) *Hint {
	if len(one) > longestShown {
		return nil
	}
	list := append(append([]byte{'['}, one...), ']')
	if !strings.HasSuffix(text, "?") {
		text += string(list) + "?"
	}
	return &Hint{Text: text, Replacement: list}
}

// onlyElement returns a hint that the only element of a list is meant.
func (f *Finder) onlyElement(list uint32, types []string) *Hint {
	d := f.doc
	if len(types) == 0 || d.Len(list) != 1 || !fits(d.Nodes[d.Nodes[list].First].Kind, types) {
		return nil
	}
	one := d.AppendJSON(nil, d.Nodes[list].First)
	if len(one) > longestShown {
		return nil
	}
	return &Hint{Text: "no list is wanted: did you mean its one element, " + string(one) + "?", Replacement: one}
}
