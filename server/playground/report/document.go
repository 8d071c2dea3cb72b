package report

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// document is a text with its tree, if it can be parsed.
type document struct {
	name, text string
	isJSON     bool

	tree *value.Doc // nil if the text cannot be parsed; not pooled, since a document may be kept
	err  error      // of the parser, nil if there is a tree
	yaml *value.YAMLSource
	root uint32

	lines  []int // offset of the first byte of each line
	blocks []count
}

// count is the number of code points and of UTF-16 code units before a block of the text.
type count struct{ points, units int }

const blockSize = 1024

func newDocument(name, text string) *document {
	d := &document{name: name, text: text, lines: []int{0}}
	trimmed := strings.TrimLeft(text, " \t\r\n")
	d.isJSON = strings.HasPrefix(trimmed, "{") && json.Valid([]byte(text))
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
	tree := new(value.Doc)
	if d.isJSON {
		d.root, d.err = tree.ParseJSON([]byte(text), limits)
	} else {
		_, d.yaml, d.root, d.err = tree.ConvertYAML([]byte(text), value.Request, limits)
	}
	if d.err == nil && d.root != 0 {
		d.tree = tree
	}
	return d
}

// source returns the text for the engine.
func (d *document) source() engine.Document {
	if d.isJSON {
		return engine.JSON([]byte(d.text))
	}
	return engine.YAML([]byte(d.text))
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
		c.add(d.text[block*blockSize : offset])
	}
	return c
}

// position returns the Position of a byte.
func (d *document) position(offset int) Position {
	offset = max(0, min(offset, len(d.text)))
	for offset > 0 && offset < len(d.text) && !utf8.RuneStart(d.text[offset]) {
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
	if p, ok := d.find(pointer); ok && pointer != "" && p.value == at.Offset {
		return d.spanOf(p)
	}
	if parent, ok := d.find(parentOf(pointer)); ok && pointer != "" && parent.value == at.Offset {
		return d.spanOf(parent)
	}
	return d.span(at.Offset, d.lineEnd(at.Offset))
}

// rangeOf returns the range of the value at a pointer, or nil.
func (d *document) rangeOf(pointer string) *Range {
	if p, ok := d.find(pointer); ok {
		return d.spanOf(p)
	}
	return nil
}

func (d *document) spanOf(p place) *Range {
	switch {
	case !p.flow && d.isCollection(p) && p.key >= 0:
		return d.span(p.key, d.keyEnd(p))
	case d.isCollection(p) && (!p.flow || d.end(p) > d.lineEnd(p.value)):
		return d.span(p.value, d.lineEnd(p.value))
	}
	return d.span(p.value, d.end(p))
}

// keyRange returns the range of the key at a pointer, or of the value of an item of a list.
func (d *document) keyRange(pointer string) *Range {
	p, ok := d.find(pointer)
	switch {
	case !ok:
		return nil
	case p.key < 0:
		return d.spanOf(p)
	}
	return d.span(p.key, d.keyEnd(p))
}

// lineEnd returns the end of the text of the line that contains a byte.
func (d *document) lineEnd(offset int) int {
	offset = min(offset, len(d.text))
	end := len(d.text)
	if i := strings.IndexByte(d.text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	return offset + len(strings.TrimRight(d.text[offset:end], " \t\r"))
}

// place is where a value is in a document.
type place struct {
	path value.Path
	node uint32
	// key and value are offsets. key is -1 for the root and for items of lists.
	key, value int
	// flow reports whether the value is in brackets, as in JSON.
	flow bool
}

// find returns the place of the value at a JSON pointer.
func (d *document) find(pointer string) (p place, ok bool) {
	if d.tree == nil || pointer != "" && pointer[0] != '/' {
		return p, false
	}
	p.node = d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		next, step := d.child(p.node, unescape.Replace(token))
		if next == 0 {
			return p, false
		}
		p.node, p.path = next, append(p.path, step)
	}
	return d.place(p.path, p.node), true
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func (d *document) child(node uint32, key string) (uint32, value.Segment) {
	if d.tree.Nodes[node].Kind != value.Array {
		return d.tree.Field(node, key), value.Name(key)
	}
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 {
		return 0, value.Segment{}
	}
	return d.tree.Index(node, i), value.At(i)
}

// place returns the offsets of a node.
func (d *document) place(path value.Path, node uint32) place {
	p := place{path: path, node: node, key: -1, flow: d.isJSON}
	member := len(path) > 0 && !path[len(path)-1].IsIndex()
	if d.isJSON {
		p.value = d.tree.PositionOf(node, path).Offset
		if at := d.tree.KeyPosition(node).Offset; member && at < p.value {
			p.key = at
		}
		return p
	}
	p.value = d.yaml.Position(path).Offset
	if member {
		p.key = d.yaml.KeyPosition(path).Offset
	}
	for i := len(path); i >= 0 && !p.flow; i-- {
		at := d.yaml.Position(path[:i]).Offset
		p.flow = at < len(d.text) && (d.text[at] == '{' || d.text[at] == '[')
	}
	return p
}

func (d *document) isCollection(p place) bool {
	kind := d.tree.Nodes[p.node].Kind
	return kind == value.Object || kind == value.Array
}

// parentOf returns the pointer of the parent.
func parentOf(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }

// escape returns a token of a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
