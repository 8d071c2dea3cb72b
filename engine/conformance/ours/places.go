package ours

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// document is the body of a request with its own search for the places of values, which shares nothing with the engine.
type document struct {
	text     []byte
	value    any
	readable bool
	// places has the places of keys and values by JSON pointer, nil if they are not known. A duplicate key adds places.
	places map[string][]engine.Position
}

func documentOf(r oracle.Request) *document {
	d := &document{text: r.Body}
	asJSON := r.Body
	if r.YAML {
		var err error
		if asJSON, err = sigsyaml.YAMLToJSON(r.Body); err != nil {
			return d
		}
	}
	if d.readable = json.Unmarshal(asJSON, &d.value) == nil; !d.readable {
		return d
	}
	d.places = map[string][]engine.Position{}
	if r.YAML {
		var root yaml.Node
		if yaml.Unmarshal(r.Body, &root) != nil || len(root.Content) != 1 || !d.walkYAML("", root.Content[0]) {
			d.places = nil
		}
	} else {
		x := json.NewDecoder(bytes.NewReader(r.Body))
		x.UseNumber()
		if d.walkJSON("", x) != nil {
			d.places = nil
		}
	}
	return d
}

func child(pointer, key string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// walkJSON records the places of the next value of the decoder and of its members.
func (d *document) walkJSON(pointer string, x *json.Decoder) error {
	begin := int(x.InputOffset())
	for begin < len(d.text) && strings.IndexByte(" \t\r\n,:", d.text[begin]) >= 0 {
		begin++
	}
	d.places[pointer] = append(d.places[pointer], d.atOffset(begin))
	token, err := x.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for x.More() {
			at := int(x.InputOffset())
			for strings.IndexByte(" \t\r\n,", d.text[at]) >= 0 {
				at++
			}
			key, err := x.Token()
			if err != nil {
				return err
			}
			member := child(pointer, key.(string))
			d.places[member] = append(d.places[member], d.atOffset(at))
			if err := d.walkJSON(member, x); err != nil {
				return err
			}
		}
		_, err = x.Token()
	case json.Delim('['):
		for i := 0; x.More(); i++ {
			if err := d.walkJSON(child(pointer, strconv.Itoa(i)), x); err != nil {
				return err
			}
		}
		_, err = x.Token()
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *document) atOffset(offset int) engine.Position {
	before := d.text[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return engine.Position{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[begin:])}
}

// walkYAML records the places of a node and of its members. It returns false for nodes whose text does not begin at
// their value, and for keys that are not plain strings.
func (d *document) walkYAML(pointer string, n *yaml.Node) bool {
	if n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	d.places[pointer] = append(d.places[pointer], engine.Position{Line: n.Line, Column: n.Column})
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			if !d.walkYAML(child(pointer, strconv.Itoa(i)), c) {
				return false
			}
		case i%2 == 1:
			member := child(pointer, n.Content[i-1].Value)
			if !d.walkYAML(member, c) {
				return false
			}
		case c.ShortTag() != "!!str":
			return false
		default:
			member := child(pointer, c.Value)
			d.places[member] = append(d.places[member], engine.Position{Line: c.Line, Column: c.Column})
		}
	}
	return true
}

// has reports whether the document has a value at a pointer.
func (d *document) has(pointer string) bool {
	if pointer == "" {
		return true
	}
	at := d.value
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch parent := at.(type) {
		case map[string]any:
			next, found := parent[token]
			if !found {
				return false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return false
			}
			at = parent[i]
		default:
			return false
		}
	}
	return true
}

// misplaced reports whether the document has a value at a pointer, and a position is neither that of the value nor that
// of its key. Texts that are not UTF-8 have no columns that can be compared.
func (d *document) misplaced(pointer string, at engine.Position) bool {
	if !utf8.Valid(d.text) || !d.has(pointer) {
		return false
	}
	known := d.places[pointer]
	return len(known) > 0 && !slices.ContainsFunc(known, func(p engine.Position) bool { return p.Line == at.Line && p.Column == at.Column })
}
