package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Error is an error in a suite.
type Error struct {
	File    string
	Line    int // 0: unknown
	Message string
}

// Error returns the message with file and line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// document is a YAML document of a file.
type document struct {
	file   string
	origin *tree.Origin
	json   []byte
	errs   []error
	// inTests counts the errors of tests.
	inTests int
}

// node is a value in a document. The zero value is that of a missing field.
type node struct {
	*document
	pointer string // JSON pointer
	raw     []byte // JSON, nil for a missing field
}

// limits bound a document of a suite.
var limits = tree.Limits{MaxBytes: 64 << 20}

// parse returns the root of a document.
func parse(file string, d tree.YAMLDocument) (node, error) {
	whole := tree.NewText(d.Text, tree.Position{Line: d.Line})
	text, converted, err := tree.ConvertPart(whole, 0, len(d.Text), limits)
	if err != nil {
		return node{}, syntaxError(file, d.Line-1, err)
	}
	if end, more := tree.IgnoredText(d.Text); more {
		return node{}, &Error{file, whole.Position(end).Line, "the document ends before this line: --- begins another one"}
	}
	root := node{&document{file: file, origin: converted.At(nil), json: text}, "", text}
	for _, k := range converted.DuplicatesOutside(nil) { // a key can override a merged one, as in manifests
		name := k.Path[len(k.Path)-1].Key()
		root.errs = append(root.errs, &Error{file, k.Position.Line, fmt.Sprintf("key %q already set in map", name)})
	}
	return root, nil
}

// syntaxError returns the error for a text that begins after a number of lines. Errors of YAML name a line.
func syntaxError(file string, before int, err error) error {
	text, line := err.Error(), 0
	if _, rest, found := strings.Cut(text, "line "); found {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		if n, err := strconv.Atoi(digits); err == nil {
			line = before + n
			if text = rest[len(digits):]; strings.HasPrefix(text, ": ") {
				text = text[2:]
			}
		}
	}
	return &Error{file, line, text}
}

// line returns the line of the value in the file, or that of its deepest existing ancestor.
func (n node) line() int { return n.origin.Follow(n.pointer).Line }

// lineOf returns the line of a value below this one.
func (n node) lineOf(pointer string) int {
	n.pointer += pointer
	return n.line()
}

// depth returns how many tokens of a JSON pointer exist in a JSON value.
func depth(at any, pointer string) (n int) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch of := at.(type) {
		case map[string]any:
			at = of[tree.UnescapePointer(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(of) {
				return n
			}
			at = of[i]
		default:
			return n
		}
		if at == nil {
			return n
		}
		n++
	}
	return n
}

func (n node) present() bool { return n.raw != nil }

func (n node) wrong(format string, args ...any) {
	n.errs = append(n.errs, &Error{n.file, n.line(), fmt.Sprintf(format, args...)})
}

func (n *node) isKind(first byte) bool { return len(n.raw) > 0 && bytes.TrimSpace(n.raw)[0] == first }

// fields returns the fields of a mapping that are not null, and the keys that are not valid. It is an error if the
// value is not a mapping.
func (n node) fields(valid ...string) (fields map[string]node, unknown []string) {
	fields = map[string]node{}
	if !n.present() {
		return fields, nil
	}
	var members map[string]json.RawMessage
	if !n.isKind('{') || json.Unmarshal(n.raw, &members) != nil {
		n.wrong("%s must be a mapping", n.title())
		return fields, nil
	}
	for key, raw := range members {
		switch child := (node{n.document, n.pointer + "/" + tree.EscapePointer(key), raw}); {
		case !slices.Contains(valid, key):
			unknown = append(unknown, key)
		case !child.isKind('n'):
			fields[key] = child
		}
	}
	slices.Sort(unknown)
	return fields, unknown
}

// strictFields is fields, and each invalid key is an error.
func (n node) strictFields(valid ...string) map[string]node {
	fields, unknown := n.fields(valid...)
	for _, key := range unknown {
		node{n.document, n.pointer + "/" + tree.EscapePointer(key), nil}.
			wrong("unknown field %s: the fields are %s", key, strings.Join(valid, ", "))
	}
	return fields
}

// title names the value in messages.
func (n node) title() string {
	if n.pointer == "" {
		return "the document"
	}
	parent, last := n.pointer[:strings.LastIndex(n.pointer, "/")], n.pointer[strings.LastIndex(n.pointer, "/")+1:]
	if _, err := strconv.Atoi(last); err == nil && parent != "" { // an element of a list
		return parent[strings.LastIndex(parent, "/")+1:] + "[" + last + "]"
	}
	return last
}

// text returns a string, "" for a missing field.
func (n node) text() (s string) {
	if n.present() && json.Unmarshal(n.raw, &s) != nil {
		n.wrong("%s must be a string", n.title())
	}
	return s
}

func (n node) boolean() (b bool) {
	if n.present() && json.Unmarshal(n.raw, &b) != nil {
		n.wrong("%s must be true or false", n.title())
	}
	return b
}

// oneOf returns a string that is one of a set, "" for a missing field.
func (n node) oneOf(valid ...string) string {
	s := n.text()
	if n.present() && !slices.Contains(valid, s) {
		n.wrong("%s must be %s", n.title(), strings.Join(valid, " or "))
	}
	return s
}

// list returns the elements of a list.
func (n node) list() (all []node) {
	var elements []json.RawMessage
	if n.present() && json.Unmarshal(n.raw, &elements) != nil {
		n.wrong("%s must be a list", n.title())
	}
	for i, raw := range elements {
		all = append(all, node{n.document, fmt.Sprintf("%s/%d", n.pointer, i), raw})
	}
	return all
}

// texts returns the elements of a list of strings. A string is a list of one.
func (n node) texts() (all []string) {
	if n.isKind('"') {
		return []string{n.text()}
	}
	for _, element := range n.list() {
		all = append(all, element.text())
	}
	return all
}

// mapping returns the JSON of a mapping, nil for a missing field.
func (n node) mapping() []byte {
	if n.present() && !n.isKind('{') {
		n.wrong("%s must be a mapping", n.title())
	}
	return n.raw
}
