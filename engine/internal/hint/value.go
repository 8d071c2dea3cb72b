package hint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// suggest returns the hint to use a value instead. The text is the value between prefix and suffix.
func suggest(meant []byte, prefix, suffix string) *violation.Hint {
	return &violation.Hint{Text: prefix + string(meant) + suffix, Replacement: meant}
}

// value suggests a value for one that is of a wrong type or not in the enum. Both violations of a value get the same hint.
func (f *Finder) value(path tree.Path, offset int) *violation.Hint {
	t, node := f.target(path), f.at(path)
	if node == 0 || !t.known() {
		return nil
	}
	return f.ofTarget(t, node, offset)
}

// ofTarget suggests a valid value for a node.
func (f *Finder) ofTarget(t target, node uint32, offset int) *violation.Hint {
	d := f.doc
	if n := &d.Nodes[node]; n.Kind == tree.Array {
		if n.Live != 1 {
			return nil
		}
		element := d.AppendJSON(nil, n.First)
		if !f.allows(t, element) {
			return nil
		}
		return suggest(element, "no list is wanted: did you mean its one element, ", "?")
	}
	if h := f.ofScalar(t, node, offset); h != nil || !t.items().known() || !slices.Contains(t.types(), "array") {
		return h
	}
	element := d.AppendJSON(nil, node)
	if t = t.items(); !f.allows(t, element) {
		h := f.ofScalar(t, node, offset)
		if h == nil {
			return nil
		}
		element = h.Replacement
	}
	return suggest(slices.Concat([]byte{'['}, element, []byte{']'}), "a list is wanted: did you mean ", "?")
}

// ofScalar suggests a valid scalar for one: the same text as another type, or the most similar value of the enum.
func (f *Finder) ofScalar(t target, node uint32, offset int) *violation.Hint {
	if h := f.converted(node, offset, t.types()); h != nil && f.allows(t, h.Replacement) {
		return h
	}
	return f.ofValues(t, node, offset)
}

// ofValues suggests the most similar value of the enum for a node.
func (f *Finder) ofValues(t target, node uint32, offset int) *violation.Hint {
	values := t.enum()
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
			text = string(tree.AppendAny(nil, one))
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
	meant := tree.AppendAny(nil, values[best])
	if !f.allows(t, meant) {
		return nil
	}
	_, isText := values[best].(string)
	switch wasText := f.doc.Nodes[node].Kind == tree.String; {
	case isText && !wasText:
		return suggest(meant, f.misread(node, sent)+"did you mean ", ", in quotes?")
	case wasText && !isText:
		return suggest(meant, "did you mean ", ", without quotes?")
	}
	return suggest(meant, "did you mean ", "?")
}

// misread returns the beginning of a hint about another word than true or false that YAML 1.1 reads as a boolean, or "".
func (f *Finder) misread(node uint32, sent string) string {
	kind, boolean := f.doc.Nodes[node].Kind, booleanOf(sent)
	if kind != tree.True && kind != tree.False || strings.EqualFold(sent, boolean) {
		return ""
	}
	return "YAML takes " + sent + " for " + boolean + ": "
}

// converted suggests a scalar as one of the types.
func (f *Finder) converted(node uint32, offset int, types []string) *violation.Hint {
	sent, ok := f.scalar(node, offset)
	if !ok || len(sent) > maxText {
		return nil
	}
	wants := func(kind string) bool { return slices.Contains(types, kind) }
	kind := f.doc.Nodes[node].Kind
	bare := strings.TrimSpace(sent)
	boolean := booleanOf(bare)
	switch {
	case kind == tree.String && (wants("integer") && isNumber(bare, new(int64)) || wants("number") && isNumber(bare, new(float64))):
		return suggest([]byte(bare), "did you mean the number ", ", without quotes?")
	case kind == tree.String && wants("boolean") && boolean != "":
		return suggest([]byte(boolean), "did you mean ", ", without quotes?")
	case kind == tree.String:
	case wants("string"):
		return suggest(strconv.AppendQuote(nil, sent), f.misread(node, sent)+"did you mean ", ", in quotes?")
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
	case tree.String:
		return d.Str(node), true
	case tree.Array, tree.Object, tree.Null:
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
func (f *Finder) index(p tree.Position) int {
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
