package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/engine/value"
)

// MaxYAMLNodes bounds a YAML body that is converted to JSON. A node has at least two bytes, and takes yamlNodeBytes of memory.
const (
	MaxYAMLNodes  = 500_000
	yamlNodeBytes = 256
)

// reserveNodes rejects a YAML body with too many nodes, and reserves memory for those it has.
func (b *body) reserveNodes() error {
	nodes := 1 // rather too many: each node has a line, a comma, a bracket or an indicator of its own
	for _, sign := range []string{"\n", "\r", ",", "[", "{", "- ", "? "} {
		nodes += bytes.Count(b.data, []byte(sign))
	}
	if nodes > MaxYAMLNodes {
		return overLimit("max_yaml_nodes", MaxYAMLNodes, "the body has about %d YAML nodes (lines and entries of flow collections), and the limit "+
			"max_yaml_nodes is %d: send fewer items in a call, or JSON", nodes, MaxYAMLNodes)
	}
	if b.held == nil {
		return nil
	}
	return b.held.take(min(int64(nodes)*yamlNodeBytes, b.held.of.max/4))
}

// decodeYAML converts the body to JSON and reads that into v. Objects of items that cannot be converted, or that have keys twice, stay YAML: such
// an error concerns the item and not the request.
func (b *body) decodeYAML(v any) error {
	if err := b.reserveNodes(); err != nil {
		return err
	}
	converted, source, err := value.YAMLToJSON(b.data, b.limits)
	request, many := v.(batch)
	var faulty []yamlObject
	if err = yamlError(source, err); err != nil {
		if _, limit := errors.AsType[*value.LimitError](err); limit || !many {
			return err
		}
		rest, found, listErr := b.faultyObjects()
		switch {
		case listErr != nil:
			return listErr
		case len(found) == 0:
			return err
		}
		faulty = found
		converted, source, err = value.YAMLToJSON(rest, b.limits)
		if err = yamlError(source, err); err != nil {
			return err
		}
	}
	b.source, b.shifts = source, map[int]int{}
	if err := unmarshal(converted, v, b.lists); err != nil {
		return withHint(err, v, converted)
	}
	for _, o := range faulty {
		request.GetItems()[o.item].Object = yamlDocument(o.document())
		b.shifts[o.item] = o.offset - o.padding()
	}
	return nil
}

// yamlError returns what is wrong with a YAML text, from the results of value.YAMLToJSON.
func yamlError(source *value.YAMLSource, err error) error {
	if syntax, ok := errors.AsType[*value.SyntaxError](err); ok && strings.Contains(syntax.Text, "unsupported map key of type: %!s(<nil>)") {
		return &value.SyntaxError{
			Offset: -1, Line: syntax.Line, Column: syntax.Column, Text: "yaml: a key is null: keys are strings, so quote it", Cause: err,
		}
	}
	if err != nil {
		return err
	}
	if strict := source.StrictError(); strict != nil { // JSON has each key once, so it must be reported here
		text := strings.TrimPrefix(strict.Error(), "yaml: unmarshal errors:\n  ")
		return fmt.Errorf("the body gives keys twice: %s", strings.ReplaceAll(text, "\n  ", "; "))
	}
	return nil
}

// yamlObject is the object of an item in a YAML body.
type yamlObject struct {
	item         int
	text         []byte
	offset       int // of text in the body
	line, column int // of text in the body, from 1
	flow         bool
}

// padding is how many bytes document adds.
func (o *yamlObject) padding() int { return o.line - 1 + o.column - 1 }

// document returns the object as a document in which everything has the line and column that it has in the body.
func (o *yamlObject) document() []byte {
	d := append(bytes.Repeat([]byte{'\n'}, o.line-1), bytes.Repeat([]byte{' '}, o.column-1)...)
	return append(d, o.text...)
}

// faultyObjects finds the objects of items that cannot be converted by themselves or have keys twice, and returns the body with null instead of
// them. It finds none if lines and columns of the YAML library are not those of the bytes. The error is that of too many items.
func (b *body) faultyObjects() (rest []byte, faulty []yamlObject, err error) {
	text := b.data
	if !utf8.Valid(text) || bytes.HasPrefix(text, byteOrderMark) || bytes.Count(text, []byte{'\r'}) != bytes.Count(text, []byte("\r\n")) ||
		bytes.ContainsAny(text, "\u0085\u2028\u2029") {
		return nil, nil, nil
	}
	items, after := yamlMember(yamlNode(text), "items", nil)
	if items == nil || items.Kind != yaml.SequenceNode {
		return nil, nil, nil
	}
	if limit, limited := b.lists["items"]; limited && len(items.Content) > limit.Maximum {
		return nil, nil, &listError{"items", limit}
	}
	rest = bytes.Clone(text)
	at := yamlOffsets{text: text, line: 1, column: 1}
	padding := 0
	for i, item := range items.Content {
		next := after
		if i+1 < len(items.Content) {
			next = items.Content[i+1]
		}
		object, next := yamlMember(item, "object", next)
		if object == nil || object.Kind != yaml.MappingNode || object.Anchor != "" || object.Style&yaml.TaggedStyle != 0 {
			continue
		}
		flow := object.Style&yaml.FlowStyle != 0
		start := at.offset(object)
		end := len(text)
		if next != nil {
			end = at.offset(next)
		}
		if flow {
			end = start + flowLength(text[start:max(start, end)])
		} else if end < len(text) {
			end = bytes.LastIndexByte(text[:end], '\n') + 1
		}
		if end-start < len("null") {
			continue
		}
		o := yamlObject{item: i, text: withoutDash(text[start:end]), offset: start, line: object.Line, column: object.Column, flow: flow}
		if !o.faulty(b.limits) {
			continue
		}
		if padding += o.padding(); padding > len(text)+b.limits.MaxBytes/2 {
			return nil, nil, nil // the documents would take too much memory
		}
		faulty = append(faulty, o)
		blank(rest[start : start+len(o.text)])
	}
	return rest, faulty, nil
}

// faulty reports whether an object cannot be converted by itself. Aliases of what is elsewhere are not an error.
func (o *yamlObject) faulty(limits value.Limits) bool {
	alone := o.text
	if !o.flow { // the first line is indented like the others
		alone = append(bytes.Repeat([]byte{' '}, o.column-1), o.text...)
	}
	_, source, err := value.YAMLToJSON(alone, limits)
	if err != nil {
		_, limit := errors.AsType[*value.LimitError](err)
		return !limit && !strings.Contains(err.Error(), "unknown anchor")
	}
	return source.StrictError() != nil
}

// flowLength is the length of the flow mapping that a text begins with, 0 if it is not found. The ends of what it is in follow it.
func flowLength(text []byte) int {
	const levels = 4 // the item, the items, the request, and one to spare
	for range levels {
		end := bytes.LastIndexByte(text, '}') + 1
		if text = text[:end]; end == 0 || yamlNode(text) != nil {
			return end
		}
		text = text[:end-1]
	}
	return 0
}

// yamlNode parses a document into nodes; nil if that fails. Keys may come twice.
func yamlNode(text []byte) (root *yaml.Node) {
	defer func() {
		if recover() != nil { // the library is not known to panic
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

// yamlMember returns the value of a key that a mapping has once, and the node after it: the next key, or after.
func yamlMember(mapping *yaml.Node, key string, after *yaml.Node) (found, next *yaml.Node) {
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
			next = mapping.Content[i+2]
		}
	}
	return found, next
}

// yamlOffsets finds the offsets of nodes in a text. It continues from the node before, as nodes mostly come in order.
type yamlOffsets struct {
	text         []byte
	at           int
	line, column int
}

func (o *yamlOffsets) offset(n *yaml.Node) int {
	if n.Line < o.line || n.Line == o.line && n.Column < o.column {
		o.at, o.line, o.column = 0, 1, 1
	}
	for o.line < n.Line {
		end := bytes.IndexByte(o.text[o.at:], '\n')
		if end < 0 {
			return len(o.text)
		}
		o.at, o.line, o.column = o.at+end+1, o.line+1, 1
	}
	for ; o.column < n.Column; o.column++ {
		_, size := utf8.DecodeRune(o.text[o.at:])
		o.at += size
	}
	return o.at
}

// withoutDash cuts off the dash of the next item if it is on a line of its own.
func withoutDash(block []byte) []byte {
	if rest, ok := bytes.CutSuffix(bytes.TrimRight(block, " \r\n"), []byte("-")); ok {
		if rest = bytes.TrimRight(rest, " "); bytes.HasSuffix(rest, []byte{'\n'}) {
			return rest
		}
	}
	return block
}

// blank writes null over a text that is at least as long. Its lines stay.
func blank(text []byte) {
	for i := copy(text, "null"); i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			text[i] = ' '
		}
	}
}
