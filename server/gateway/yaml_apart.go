package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/internal/value"
)

// aloneObject is the object of an item as it stands in a YAML body.
type aloneObject struct {
	item         int
	text         []byte
	offset       int // of text in the body
	line, column int // likewise, from 1
	flow         bool
}

// padding is how many bytes document adds.
func (o *aloneObject) padding() int { return o.line - 1 + o.column - 1 }

// document is the object as a document of its own, in which everything has the line and column that it has in the body: texts of the YAML library
// name lines.
func (o *aloneObject) document() []byte {
	d := make([]byte, 0, o.padding()+len(o.text))
	d = append(d, bytes.Repeat([]byte{'\n'}, o.line-1)...)
	d = append(d, bytes.Repeat([]byte{' '}, o.column-1)...)
	return append(d, o.text...)
}

// setApart finds the objects of a body with items that cannot be read by themselves or have keys twice, and returns the body with null in
// their places. It finds none where the body is not plainly laid out. The error is that of more items than there may be.
func (b *body) setApart() (rest []byte, apart []*aloneObject, err error) {
	text := b.data
	if !plainlyLaidOut(text) {
		return nil, nil, nil
	}
	root := nodes(text)
	lines := newLineTable(text)
	items, after := member(root, "items", position{len(lines.starts) + 1, 1})
	if items == nil || items.Kind != yaml.SequenceNode {
		return nil, nil, nil
	}
	if limit, limited := b.lists["items"]; limited && len(items.Content) > limit.Maximum {
		return nil, nil, &listError{"items", limit}
	}
	rest = bytes.Clone(text)
	for i, item := range items.Content {
		next := after
		if i+1 < len(items.Content) {
			next = position{items.Content[i+1].Line, items.Content[i+1].Column}
		}
		object, next := member(item, "object", next)
		if object == nil || object.Kind != yaml.MappingNode || object.Anchor != "" || object.Style&yaml.TaggedStyle != 0 {
			continue
		}
		start, end := lines.offset(position{object.Line, object.Column}), lines.offset(next)
		if object.Style&yaml.FlowStyle != 0 {
			end = start + flowMapping(text[start:max(start, end)])
		} else if end < len(text) {
			end = bytes.LastIndexByte(text[:end], '\n') + 1
		}
		if end-start < len("null") {
			continue
		}
		o := &aloneObject{
			item: i, text: withoutDash(text[start:end]), offset: start, line: object.Line, column: object.Column, flow: object.Style&yaml.FlowStyle != 0,
		}
		if !o.faulty(b.limits) {
			continue
		}
		apart = append(apart, o)
		blank(rest[start : start+len(o.text)])
	}
	return rest, apart, nil
}

// flowMapping is the length of the flow mapping that a text begins with, 0 if that is not found. Behind it there are the ends of what it is in.
func flowMapping(text []byte) int {
	const levels = 4 // the item, the items, the request, and one to spare
	for range levels {
		end := bytes.LastIndexByte(text, '}') + 1
		if text = text[:end]; end == 0 || nodes(text) != nil {
			return end
		}
		text = text[:end-1]
	}
	return 0
}

// faulty says whether an object cannot be turned into JSON alone. One with aliases of what stands elsewhere may or may not be.
func (o *aloneObject) faulty(limits value.Limits) bool {
	alone := o.text
	if !o.flow { // the first line is indented as the others; in a flow mapping, which may stand far to the right, that does not matter
		alone = append(bytes.Repeat([]byte{' '}, o.column-1), o.text...)
	}
	_, source, err := value.YAMLToJSON(alone, limits)
	if err != nil {
		_, limit := errors.AsType[*value.LimitError](err)
		return !limit && !strings.Contains(err.Error(), "unknown anchor")
	}
	return source.StrictError() != nil
}

// plainlyLaidOut says whether the lines and columns of the YAML library are those of the bytes: UTF-8, and lines that end where everybody thinks they end.
func plainlyLaidOut(text []byte) bool {
	return utf8.Valid(text) && !bytes.HasPrefix(text, []byte("\ufeff")) && bytes.Count(text, []byte{'\r'}) == bytes.Count(text, []byte("\r\n")) &&
		!bytes.Contains(text, []byte("\u0085")) && !bytes.Contains(text, []byte("\u2028")) && !bytes.Contains(text, []byte("\u2029"))
}

// nodes parses the text into a tree, nil if it cannot be. The library does not mind keys that come twice.
func nodes(text []byte) (root *yaml.Node) {
	defer func() {
		if recover() != nil { // it panics on nothing that is known, but is not ours
			root = nil
		}
	}()
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&document) != nil || len(document.Content) != 1 || !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		return nil
	}
	return document.Content[0]
}

// position is a line and a column, from 1.
type position struct{ line, column int }

// member finds the value of a key that comes once in a mapping, and where what follows that value begins: the next key, or after.
func member(mapping *yaml.Node, key string, after position) (found *yaml.Node, next position) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, after
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != key {
			continue
		}
		if found != nil {
			return nil, after
		}
		found, next = mapping.Content[i+1], after
		if i+2 < len(mapping.Content) {
			next = position{mapping.Content[i+2].Line, mapping.Content[i+2].Column}
		}
	}
	return found, next
}

// lineTable finds the offsets of positions in a text. It goes on from the position that was asked for last, as a line can be as long as the text.
type lineTable struct {
	text   []byte
	starts []int // of the lines
	last   position
	at     int // the offset of last
}

func newLineTable(text []byte) *lineTable {
	t := &lineTable{text: text, starts: []int{0}, last: position{1, 1}}
	for i, c := range text {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// offset is that of a position, the text's length for one behind it.
func (t *lineTable) offset(p position) int {
	if p.line < 1 || p.line > len(t.starts) {
		return len(t.text)
	}
	if p.line != t.last.line || p.column < t.last.column {
		t.last, t.at = position{p.line, 1}, t.starts[p.line-1]
	}
	for ; t.last.column < p.column; t.last.column++ {
		_, size := utf8.DecodeRune(t.text[t.at:])
		t.at += size
	}
	return t.at
}

// withoutDash leaves out the dash of the next item where it stands on a line of its own.
func withoutDash(block []byte) []byte {
	trimmed := bytes.TrimRight(block, " \r\n")
	if rest, ok := bytes.CutSuffix(trimmed, []byte("-")); ok {
		if rest = bytes.TrimRight(rest, " "); bytes.HasSuffix(rest, []byte{'\n'}) {
			return rest
		}
	}
	return block
}

// blank writes null over a text that is at least as long, without touching its lines.
func blank(text []byte) {
	n := copy(text, "null")
	for i := n; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			text[i] = ' '
		}
	}
}
