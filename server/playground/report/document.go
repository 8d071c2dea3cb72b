package report

import (
	"encoding/json"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/diagnosis"
)

// fixBudget bounds the bytes that are parsed to verify the fixes of a document.
const fixBudget = 2 << 20

// document is a text with its positions.
type document struct {
	*diagnosis.Document
	name string

	lines  []int // offset of the first byte of each line
	blocks []count
}

// count is the number of code points and of UTF-16 code units before a block of the text.
type count struct{ points, units int }

const blockSize = 1024

func newDocument(name, text string) *document {
	source := engine.Manifest([]byte(text))
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text)) {
		source = engine.JSON([]byte(text))
	}
	d := &document{Document: diagnosis.New(workspace.New(source), fixBudget), name: name, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	var c count
	for at := 0; at < len(text); at += blockSize {
		d.blocks = append(d.blocks, c)
		c.add(text[at:min(at+blockSize, len(text))])
	}
	return d
}

// source returns the text for the engine.
func (d *document) source() engine.Document {
	if d.IsJSON {
		return engine.JSON([]byte(d.Text))
	}
	return engine.YAML([]byte(d.Text))
}

// add counts the code points that begin in a text.
func (c *count) add(text string) {
	for i := 0; i < len(text); i++ {
		if b := text[i]; b&0xc0 != 0x80 {
			c.points++
			c.units++
			if b >= 0xf0 {
				c.units++ // a pair of surrogates
			}
		}
	}
}

func (d *document) before(offset int) (c count) {
	if len(d.blocks) > 0 {
		block := min(offset/blockSize, len(d.blocks)-1)
		c = d.blocks[block]
		c.add(d.Text[block*blockSize : offset])
	}
	return c
}

// position returns the Position of a byte.
func (d *document) position(offset int) Position {
	offset = max(0, min(offset, len(d.Text)))
	for offset > 0 && offset < len(d.Text) && !utf8.RuneStart(d.Text[offset]) {
		offset--
	}
	line := sort.Search(len(d.lines), func(i int) bool { return d.lines[i] > offset })
	at := d.before(offset)
	return Position{Line: line, Column: 1 + at.points - d.before(d.lines[line-1]).points, Offset: at.units}
}

func (d *document) span(start, end int) *Range {
	return &Range{Start: d.position(start), End: d.position(max(start, end))}
}

// rangeAt returns the range of the value at a pointer. at is the start that the engine reports, or nil. The range of a
// block collection is its key. The range of a syntax error is the rest of the line.
func (d *document) rangeAt(at *engine.Position, pointer string) *Range {
	if at == nil {
		return nil
	}
	if p, ok := d.Find(pointer); ok && pointer != "" && p.Value.Begin == at.Offset {
		return d.spanOf(p)
	}
	if parent, ok := d.Find(diagnosis.Parent(pointer)); ok && pointer != "" && parent.Value.Begin == at.Offset {
		return d.spanOf(parent)
	}
	return d.span(at.Offset, d.LineEnd(at.Offset))
}

// rangeOf returns the range of the value at a pointer, or nil.
func (d *document) rangeOf(pointer string) *Range {
	if p, ok := d.Find(pointer); ok {
		return d.spanOf(p)
	}
	return nil
}

func (d *document) spanOf(p diagnosis.Place) *Range {
	switch {
	case !p.Flow && p.Collection && p.HasKey():
		return d.span(p.Key.Begin, p.Key.End)
	case p.Collection && (!p.Flow || p.Value.End > d.LineEnd(p.Value.Begin)):
		return d.span(p.Value.Begin, d.LineEnd(p.Value.Begin))
	}
	return d.span(p.Value.Begin, p.Value.End)
}

// keyRange returns the range of the key at a pointer, or of the value of an item of a list.
func (d *document) keyRange(pointer string) *Range {
	p, ok := d.Find(pointer)
	switch {
	case !ok:
		return nil
	case !p.HasKey():
		return d.spanOf(p)
	}
	return d.span(p.Key.Begin, p.Key.End)
}

// fixes returns fixes with positions.
func (d *document) fixes(list []diagnosis.Fix) []Fix {
	out := []Fix{}
	for _, f := range list {
		fix := Fix{Title: f.Title}
		for _, e := range f.Edits {
			fix.Edits = append(fix.Edits,
				Edit{Document: d.name, Start: d.position(e.Start), End: d.position(e.End), Text: e.Text})
		}
		out = append(out, fix)
	}
	return out
}
