package hint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// suggest returns the hint to use a value instead. The text is the value between prefix and suffix.
func suggest(meant []byte, prefix, suffix string) *Hint {
	return &Hint{Text: prefix + string(meant) + suffix, Replacement: meant}
}

// enum suggests the value of an enum that is the most similar to the one sent.
func (f *Finder) enum(path value.Path, offset int) *Hint {
	t, node := f.target(path), f.at(path)
	if node == 0 || t.node == nil || t.node.Valid == nil || t.node.Valid.Enum == nil {
		return nil
	}
	return f.ofValues(node, offset, t.node.Valid.Enum.Values)
}

// ofValues suggests the most similar of some values for a node.
func (f *Finder) ofValues(node uint32, offset int, values []any) *Hint {
	if len(values) == 0 {
		return nil
	}
	sent, ok := f.scalar(node, offset)
	if !ok {
		return nil
	}
	var texts []string // strings without quotes
	for _, one := range values {
		text, isText := one.(string)
		if !isText {
			text = string(value.AppendAny(nil, one))
		}
		if f.work += 4 + len(text)/16; f.work >= maxWork {
			return nil
		}
		texts = append(texts, text)
	}
	best, _ := f.nearest(sent, texts)
	if best < 0 {
		return nil
	}
	suffix := "?"
	if sent == texts[best] {
		suffix = ", in quotes?"
		if f.doc.Nodes[node].Kind == value.String {
			suffix = ", without quotes?"
		}
	}
	return suggest(value.AppendAny(nil, values[best]), "did you mean ", suffix)
}

// wrongType suggests a value of a valid type.
func (f *Finder) wrongType(path value.Path, offset int) *Hint {
	t, node := f.target(path), f.at(path)
	if node == 0 || !t.known() {
		return nil
	}
	return f.ofTypes(t, node, offset)
}

// ofTypes suggests a value of a valid type for a node.
func (f *Finder) ofTypes(t target, node uint32, offset int) *Hint {
	d, types := f.doc, t.types()
	if n := &d.Nodes[node]; n.Kind == value.Array {
		if n.Live != 1 || !fits(d.Nodes[n.First].Kind, types) {
			return nil
		}
		return suggest(d.AppendJSON(nil, n.First), "no list is wanted: did you mean its one element, ", "?")
	}
	if h := f.converted(node, offset, types); h != nil || !t.items().known() || !slices.Contains(types, "array") {
		return h
	}
	list := []byte{'['}
	if types = t.items().types(); fits(d.Nodes[node].Kind, types) {
		list = d.AppendJSON(list, node)
	} else if h := f.converted(node, offset, types); h != nil {
		list = append(list, h.Replacement...)
	} else {
		return nil
	}
	return suggest(append(list, ']'), "a list is wanted: did you mean ", "?")
}

// fits reports whether a kind is one of the types; without types any kind is.
func fits(kind value.Kind, types []string) bool {
	return len(types) == 0 || slices.Contains(types, kind.String()) || kind == value.Int && slices.Contains(types, "number")
}

// converted suggests a scalar as one of the types.
func (f *Finder) converted(node uint32, offset int, types []string) *Hint {
	sent, ok := f.scalar(node, offset)
	if !ok || len(sent) > maxText {
		return nil
	}
	wants := func(kind string) bool { return slices.Contains(types, kind) }
	kind := f.doc.Nodes[node].Kind
	bare := strings.TrimSpace(sent)
	boolean := booleanOf(bare)
	switch {
	case kind == value.String && (wants("integer") && isNumber(bare, new(int64)) || wants("number") && isNumber(bare, new(float64))):
		return suggest([]byte(bare), "did you mean the number ", ", without quotes?")
	case kind == value.String && wants("boolean") && boolean != "":
		return suggest([]byte(boolean), "did you mean ", ", without quotes?")
	case kind == value.String:
	case wants("string"):
		prefix := "did you mean "
		if (kind == value.True || kind == value.False) && sent != boolean {
			prefix = "YAML takes " + sent + " for " + boolean + ": " + prefix
		}
		return suggest(strconv.AppendQuote(nil, sent), prefix, ", in quotes?")
	case wants("boolean") && boolean != "":
		return suggest([]byte(boolean), "did you mean ", "?")
	}
	return nil
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

// isNumber reports whether a text is a JSON number that n can hold.
func isNumber(s string, n any) bool { return s != "null" && json.Unmarshal([]byte(s), n) == nil }

// scalar returns the text of a scalar as the document has it: the content of a string, and otherwise the characters of
// the source, which in YAML say more than the value: 1.10, on, 0o17.
func (f *Finder) scalar(node uint32, offset int) (string, bool) {
	d := f.doc
	switch d.Nodes[node].Kind {
	case value.String:
		return d.Str(node), true
	case value.Array, value.Object, value.Null:
		return "", false
	}
	if text := f.source(); 0 <= offset && offset < len(text) {
		if word := plainScalar(anchored(text, offset)); word != "" {
			return word, true
		}
	}
	return string(d.AppendJSON(nil, node)), true
}

// source returns the YAML text to which positions refer, nil if it is JSON.
func (f *Finder) source() []byte {
	switch {
	case f.origin != nil && (f.yaml || f.origin.Converted()):
		return f.origin.Text().Bytes()
	case f.yaml:
		return f.text
	}
	return nil
}

// index returns the index in source of a position.
func (f *Finder) index(p value.Position) int {
	if f.origin == nil {
		return p.Offset
	}
	return f.origin.Text().Index(p)
}

// anchored returns the text from a value at an offset, without its anchor and its tag. For an alias, it is the text from
// the last value before it with that anchor.
func anchored(text []byte, offset int) []byte {
	rest := text[offset:]
	if rest[0] == '*' {
		name := word(rest[1:])
		before := text[:offset]
		for {
			at := bytes.LastIndex(before, append([]byte("&"), name...))
			if at < 0 {
				return nil
			}
			if rest = text[at:]; len(word(rest)) == len(name)+1 {
				break
			}
			before = before[:at]
		}
	}
	for len(rest) > 0 && (rest[0] == '&' || rest[0] == '!') {
		rest = bytes.TrimLeft(rest[len(word(rest)):], " ")
	}
	return rest
}

// word returns the text before white space or a delimiter of flow collections.
func word(text []byte) []byte {
	if end := bytes.IndexAny(text, " \t\r\n,]}"); end >= 0 {
		return text[:end]
	}
	return text
}

// plainScalar returns the plain YAML scalar at the beginning of a text, "" if it is long, quoted, tagged or an alias.
func plainScalar(text []byte) string {
	const longest = 64
	line := text[:min(len(text), longest+1)]
	if end := bytes.IndexAny(line, "\r\n,]}"); end >= 0 {
		line = line[:end]
	}
	line, _, _ = bytes.Cut(line, []byte(" #"))
	word := strings.TrimSpace(string(line))
	if word == "" || len(word) > longest || strings.ContainsAny(word, " \t:\"'") || strings.ContainsAny(word[:1], "&*!|>{[%@`") {
		return ""
	}
	return word
}
