package diagnosis

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// Document is a text with its tree, if it can be parsed. Its methods that return fixes are not safe for concurrent use.
type Document struct {
	Text   string
	IsJSON bool
	Err    error // of the parser

	base   string     // see Item
	tree   *value.Doc // nil if the text cannot be parsed; not pooled, since a document may be kept
	yaml   *value.YAMLSource
	root   uint32
	limits engine.Limits
	budget *int // see New
}

// New parses a text. budget bounds the bytes that are parsed to verify fixes. Beyond it, the document has no fixes.
func New(text string, limits engine.Limits, budget int) *Document {
	d := &Document{Text: text, limits: limits, budget: &budget}
	d.IsJSON = strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
	tree := new(value.Doc)
	if d.IsJSON {
		d.root, d.Err = tree.ParseJSON([]byte(text), limits)
	} else {
		_, d.yaml, d.root, d.Err = tree.ConvertYAML([]byte(text), value.Request, nil, limits)
	}
	if d.Err == nil && d.root != 0 {
		d.tree = tree
	}
	return d
}

// Readable reports whether the text can be parsed.
func (d *Document) Readable() bool { return d.tree != nil }

// Item returns the document for pointers that begin at an item of a List. The items count from 1. 0 is the document.
func (d *Document) Item(number int) *Document {
	if number == 0 {
		return d
	}
	item := *d
	item.base = "/items/" + strconv.Itoa(number-1)
	return &item
}

// JSON returns the value at a pointer, or nil if the document does not contain it.
func (d *Document) JSON(pointer string) []byte {
	p, ok := d.Find(pointer)
	if !ok {
		return nil
	}
	return d.tree.AppendJSON(nil, p.node)
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

// Place is where a value is in a document.
type Place struct {
	// Key and Value are offsets. Key is -1 for the root and for items of lists.
	Key, Value int
	// Flow reports whether the value is in brackets, as in JSON.
	Flow bool

	path value.Path
	node uint32
}

// Find returns the place of the value at a JSON pointer.
func (d *Document) Find(pointer string) (p Place, ok bool) {
	pointer = d.base + pointer
	if d.tree == nil || pointer != "" && pointer[0] != '/' {
		return p, false
	}
	p.node = d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		next, step := d.child(p.node, value.UnescapePointer(token))
		if next == 0 {
			return p, false
		}
		p.node, p.path = next, append(p.path, step)
	}
	return d.place(p.path, p.node), true
}

func (d *Document) child(node uint32, key string) (uint32, value.Segment) {
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
func (d *Document) place(path value.Path, node uint32) Place {
	p := Place{path: path, node: node, Key: -1, Flow: d.IsJSON}
	member := len(path) > 0 && !path[len(path)-1].IsIndex()
	if d.IsJSON {
		p.Value = d.tree.PositionOf(node, path).Offset
		if at := d.tree.KeyPosition(node, path).Offset; member && at < p.Value {
			p.Key = at
		}
		return p
	}
	p.Value = d.yaml.Position(path).Offset
	if member {
		p.Key = d.yaml.KeyPosition(path).Offset
	}
	for i := len(path); i >= 0 && !p.Flow; i-- {
		p.Flow = d.inBrackets(path[:i])
	}
	return p
}

// inBrackets reports whether the value at a path in YAML begins with a bracket.
func (d *Document) inBrackets(path value.Path) bool {
	at := d.yaml.Position(path).Offset
	return at < len(d.Text) && (d.Text[at] == '{' || d.Text[at] == '[')
}

// IsCollection reports whether a value is an object or a list.
func (d *Document) IsCollection(p Place) bool {
	kind := d.tree.Nodes[p.node].Kind
	return kind == value.Object || kind == value.Array
}

// Parent returns the pointer of the parent.
func Parent(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }

// name returns the last name of a pointer.
func name(pointer string) string {
	return value.UnescapePointer(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// Dotted returns a JSON pointer as a path: spec.jobs[0].name. A member whose key is a number looks like an item.
func Dotted(pointer string) string {
	var path strings.Builder
	for _, token := range strings.Split(pointer, "/")[min(1, len(pointer)):] {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			path.WriteString("[" + token + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(value.UnescapePointer(token))
	}
	return path.String()
}
