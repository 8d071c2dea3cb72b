package diagnosis

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/workspace"
)

// Document is a manifest for whose findings there are ranges and fixes. The methods that return fixes are not safe for
// concurrent use.
type Document struct {
	*workspace.Manifest
	// Text is the text of the document, or of the document that has the item. It begins at the offset Begin of the file.
	// All offsets below are those in Text.
	Text   string
	Begin  int
	IsJSON bool

	value  any // of the manifest, nil if it cannot be read
	budget *int
}

// New returns the Document of a manifest. budget bounds the bytes that are parsed to verify fixes. Beyond it, the
// document has no fixes.
func New(m *workspace.Manifest, budget int) *Document {
	begin, end := m.Extent()
	d := &Document{Manifest: m, Text: string(m.Text().Bytes()[begin:end]), Begin: begin, budget: &budget}
	d.IsJSON = isJSON(d.Text)
	if m.Err == nil {
		d.value = Decode(m.JSON())
	}
	return d
}

// Sibling returns the Document of another item of the same document, with the same budget.
func (d *Document) Sibling(m *workspace.Manifest) *Document {
	other := *d
	if other.Manifest, other.value = m, nil; m.Err == nil {
		other.value = Decode(m.JSON())
	}
	return &other
}

func isJSON(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}

// Place is where a value is in a document.
type Place struct {
	document.Range
	pointer string
	value   any
}

// HasKey reports whether the value is a member of an object.
func (p *Place) HasKey() bool { return p.Key.Begin < p.Key.End }

// Find returns the place of the value at a JSON pointer. If there is no such value, it returns the deepest existing
// parent, and false.
func (d *Document) Find(pointer string) (p Place, ok bool) {
	if d.value == nil || pointer != "" && pointer[0] != '/' {
		return p, false
	}
	p.Range, ok = d.Range(pointer)
	for _, s := range []*document.Span{&p.Key, &p.Value} {
		s.Begin, s.End = s.Begin-d.Begin, s.End-d.Begin
	}
	p.value = d.value
	for _, key := range document.SplitPointer(pointer) {
		next, found := child(p.value, key)
		if !found {
			return p, false
		}
		p.value, p.pointer = next, p.pointer+"/"+document.EscapePointer(key)
	}
	return p, ok
}

// child returns a member of an object or an item of a list.
func child(of any, key string) (v any, ok bool) {
	switch of := of.(type) {
	case map[string]any:
		v, ok = of[key]
	case []any:
		var i int
		if i, ok = indexOf(key, len(of)); ok {
			v = of[i]
		}
	}
	return v, ok
}

// JSON returns the value at a pointer, or nil if the document does not contain it.
func (d *Document) JSON(pointer string) []byte {
	p, ok := d.Find(pointer)
	if !ok {
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p.value) // it was decoded from JSON
	return bytes.TrimSpace(text.Bytes())
}

// RangeOf returns the range of a finding: the key of an unknown or duplicate field and of an object or a list, and the
// value of another field. If the field is missing, it is the range of the deepest parent. If there is no key, and for the
// error of a document that cannot be read, it is the rest of the line.
func (d *Document) RangeOf(f *Finding) (start, end int) {
	p, exact := d.Find(f.Pointer)
	member := f.isMember()
	switch r := p.Range; {
	case d.value == nil || p.pointer == "" && f.Position != nil,
		member && f.Position != nil && (d.offset(f) < r.Key.Begin || d.offset(f) > r.Value.End): // the other duplicate
		return d.line(d.offset(f))
	case p.pointer == "":
		return r.Value.Begin, d.LineEnd(r.Value.Begin)
	case p.HasKey() && (member || !exact || r.Collection || r.Value.Begin == r.Value.End):
		return r.Key.Begin, r.Key.End
	case r.Collection:
		return r.Value.Begin, min(r.Value.End, d.LineEnd(r.Value.Begin))
	default:
		return r.Value.Begin, r.Value.End
	}
}

// offset returns the offset of the position of a finding.
func (d *Document) offset(f *Finding) int {
	if f.Position == nil {
		return 0
	}
	return min(max(f.Position.Offset-d.Begin, 0), len(d.Text))
}

// line returns the rest of a line. At the end of a line, it is its last character.
func (d *Document) line(at int) (start, end int) {
	if end = d.LineEnd(at); end > at {
		return at, end
	}
	return max(at-1, 0), at
}

// LineEnd returns the end of the text of the line that contains a byte.
func (d *Document) LineEnd(offset int) int {
	offset = min(offset, len(d.Text))
	end := len(d.Text)
	if i := strings.IndexByte(d.Text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	return offset + len(strings.TrimRight(d.Text[offset:end], " \t\r"))
}

// newLine returns the end of a new line: \r\n if the text contains it, or else \n.
func (d *Document) newLine() string {
	if strings.Contains(d.Text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indentOf returns the number of bytes between the start of its line and a byte.
func (d *Document) indentOf(offset int) int {
	return offset - (strings.LastIndexByte(d.Text[:offset], '\n') + 1)
}

// nextLine returns the start of the line after the one that contains a byte, or the length of the text.
func (d *Document) nextLine(offset int) int {
	if i := strings.IndexByte(d.Text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.Text)
}

// Parent returns the pointer of the parent.
func Parent(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }

// name returns the last name of a pointer.
func name(pointer string) string {
	keys := document.SplitPointer(pointer)
	if len(keys) == 0 {
		return ""
	}
	return keys[len(keys)-1]
}

// Dotted returns a JSON pointer as a path: spec.jobs[0].name. A member whose key is a number looks like an item.
func Dotted(pointer string) string {
	var path strings.Builder
	for _, key := range document.SplitPointer(pointer) {
		if _, err := strconv.ParseUint(key, 10, 31); err == nil {
			path.WriteString("[" + key + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(key)
	}
	return path.String()
}
