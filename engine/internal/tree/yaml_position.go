package tree

import (
	"bytes"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// YAMLSource is the YAML text of a document. It returns positions, which it computes on first use, and duplicate keys.
// It is not safe for concurrent use.
type YAMLSource struct {
	text   []byte  // UTF-8
	origin *Origin // of a manifest, else nil
	strict error   // error of the strict conversion: duplicate keys; nil in a manifest

	repeated []DuplicatePlace // of a manifest

	endless *SyntaxError // of an anchor that contains itself, or nil
	index   textIndex

	// Of a document that the scanner read.
	json   []byte
	places []place // of the nodes of json
	finder *Finder // of json, on first use

	// Of another document.
	parsed  bool
	root    *yamlv3.Node
	members map[*yamlv3.Node]members // index of searched mappings
}

// StrictError returns the error of an API server's strict YAML decoding, or nil. It is one error for all duplicate
// keys: yaml: unmarshal errors:\n  line 2: key "a" already set in map.
func (y *YAMLSource) StrictError() error { return y.strict }

// Position returns the position of the value at a path, or of its deepest existing ancestor. Below an alias it is the
// position in the anchored value.
func (y *YAMLSource) Position(p Path) Position {
	if f := y.scan(); f != nil {
		node, _ := f.Deepest(f.d.Root(Request), p)
		return y.valueAt(node)
	}
	_, value, _ := y.find(p)
	return y.position(value)
}

// KeyPosition returns the position of the key of the member at a path. For a list element it is the position of the
// value.
func (y *YAMLSource) KeyPosition(p Path) Position {
	if f := y.scan(); f != nil {
		node, _ := f.Deepest(f.d.Root(Request), p)
		return y.keyAt(node)
	}
	key, value, _ := y.find(p)
	if key == nil {
		key = value
	}
	return y.position(key)
}

// Follow returns the position of a JSON pointer relative to the value at a path, or of the deepest existing ancestor.
// The source decides whether a token of digits is an index or a key.
func (y *YAMLSource) Follow(from Path, pointer string) Position {
	if f := y.scan(); f != nil {
		node, depth := f.Deepest(f.d.Root(Request), from)
		if depth == len(from) {
			node, _ = follow(node, pointer, f.Child)
		}
		return y.valueAt(node)
	}
	_, at, whole := y.find(from)
	if whole {
		at, _ = follow(at, pointer, func(n *yamlv3.Node, s Segment) *yamlv3.Node {
			_, value := y.child(n, s, nil)
			return value
		})
	}
	return y.position(at)
}

// follow returns the node of a JSON pointer relative to a node; whole is false for its deepest existing ancestor. child
// returns the zero value for a child that does not exist.
func follow[N comparable](at N, pointer string, child func(N, Segment) N) (node N, whole bool) {
	var none N
	for rest, more := strings.CutPrefix(pointer, "/"); more; {
		var token string
		token, rest, more = strings.Cut(rest, "/")
		next := none
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			next = child(at, At(n))
		}
		if next == none {
			next = child(at, Name(UnescapePointer(token)))
		}
		if next == none {
			return at, false
		}
		at = next
	}
	return at, true
}

// tree returns the root node of the first document, or nil if the text has no document or cannot be parsed.
func (y *YAMLSource) tree() *yamlv3.Node {
	if !y.parsed {
		y.parsed = true
		var document yamlv3.Node
		_, err := convert(y.text, func(text []byte) ([]byte, error) { return nil, yamlv3.Unmarshal(text, &document) })
		if err == nil && len(document.Content) == 1 {
			y.root = document.Content[0]
		}
	}
	return y.root
}

// find returns the value at a path and its key, or those of the deepest existing ancestor.
func (y *YAMLSource) find(p Path) (key, value *yamlv3.Node, whole bool) {
	value = y.tree()
	for _, s := range p {
		nextKey, next := y.child(value, s, nil)
		if next == nil {
			return key, value, false
		}
		key, value = nextKey, next
	}
	return key, value, true
}

// members indexes a mapping: the last position of each key and the positions of merge keys.
type members struct {
	at     map[string]int
	merges []int
}

// child returns the child of a node for one path segment. seen holds the mappings already searched through merge keys,
// because aliases can reach the same mapping in millions of ways.
func (y *YAMLSource) child(n *yamlv3.Node, s Segment, seen map[*yamlv3.Node]bool) (key, value *yamlv3.Node) {
	for n != nil && n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	switch {
	case n == nil || seen[n]:
	case s.IsIndex():
		if n.Kind == yamlv3.SequenceNode && s.Index() < len(n.Content) {
			return nil, n.Content[s.Index()]
		}
	case n.Kind == yamlv3.MappingNode:
		m := y.membersOf(n)
		at, found := m.at[s.Key()]
		if !found {
			at = -1
		}
		if len(m.merges) > 0 && seen == nil {
			seen = map[*yamlv3.Node]bool{}
		}
		if seen != nil {
			seen[n] = true
		}
		// As in go.yaml.in/yaml/v2, later members and merged mappings override earlier ones.
		for k := len(m.merges) - 1; k >= 0 && m.merges[k] > at; k-- {
			if key, value = y.merged(n.Content[m.merges[k]+1], s, seen); value != nil {
				return key, value
			}
		}
		if found {
			return n.Content[at], n.Content[at+1]
		}
	}
	return nil, nil
}

func (y *YAMLSource) membersOf(n *yamlv3.Node) members {
	m, known := y.members[n]
	if known {
		return m
	}
	m.at = make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; isMerge(key) {
			m.merges = append(m.merges, i)
		} else {
			m.at[keyText(key)] = i
		}
	}
	if y.members == nil {
		y.members = map[*yamlv3.Node]members{}
	}
	y.members[n] = m
	return m
}

// isMerge reports whether a key merges other mappings.
func isMerge(key *yamlv3.Node) bool {
	return key.Kind == yamlv3.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// merged searches a key in the value of a merge key: a mapping, or a list of mappings of which the first match wins.
func (y *YAMLSource) merged(n *yamlv3.Node, s Segment, seen map[*yamlv3.Node]bool) (key, value *yamlv3.Node) {
	if n.Kind != yamlv3.SequenceNode {
		return y.child(n, s, seen)
	}
	for _, item := range n.Content {
		if key, value = y.child(item, s, seen); value != nil {
			return key, value
		}
	}
	return nil, nil
}

const quotedStyle = yamlv3.DoubleQuotedStyle | yamlv3.SingleQuotedStyle | yamlv3.LiteralStyle | yamlv3.FoldedStyle

// keyText returns the key as sigs.k8s.io/yaml writes it in JSON: on is "true", 0x10 is "16".
func keyText(n *yamlv3.Node) string {
	n = resolveAlias(n)
	if n.Style&(quotedStyle|yamlv3.TaggedStyle) != 0 || n.Value == "" || !strings.ContainsRune("+-.0123456789yYnNtTfFoO~", rune(n.Value[0])) {
		return n.Value
	}
	json, err := convert([]byte(" "+n.Value+": 0"), sigsyaml.YAMLToJSON) // the space is for --- and ...
	key, found := bytes.CutPrefix(json, []byte(`{"`))
	key, isKey := bytes.CutSuffix(key, []byte(`":0}`))
	if err != nil || !found || !isKey || bytes.IndexByte(key, '\\') >= 0 { // only strings have escapes
		return n.Value
	}
	return string(key)
}

// position returns the position of a node. It adds the offset to the line and column of the library.
func (y *YAMLSource) position(n *yamlv3.Node) Position {
	if n == nil || n.Line == 0 {
		return Position{}
	}
	p := Position{Line: n.Line, Column: n.Column, Offset: y.offset(n)}
	if y.origin != nil {
		return y.origin.at(p.Offset)
	}
	return p
}

// offset returns the offset of a node in the text.
func (y *YAMLSource) offset(n *yamlv3.Node) int {
	y.indexLines()
	if n.Line > len(y.index.lines) {
		return len(y.text)
	}
	return y.index.offset(y.text, n.Line, n.Column)
}

func (y *YAMLSource) indexLines() {
	if y.index.lines == nil {
		y.index.lines = lineStarts(y.text)
		y.index.count(y.text)
	}
}

var byteOrderMark = []byte("\ufeff")

// lineStarts returns the offsets of all lines. As in YAML 1.1, a lone CR, NEL, LS and PS also end a line.
func lineStarts(text []byte) []uint32 {
	start := 0
	if bytes.HasPrefix(text, byteOrderMark) {
		start = len(byteOrderMark)
	}
	if !hasRareBreaks(text) {
		lines := lineFeedStarts(text)
		lines[0] = uint32(start)
		return lines
	}
	lines := []uint32{uint32(start)}
	for i := start; i < len(text); {
		size := lineBreak(text[i:])
		if size == 0 {
			i++
			continue
		}
		i += size
		lines = append(lines, uint32(i))
	}
	return lines
}

// hasRareBreaks reports whether a line of the text may end with another line break than LF.
func hasRareBreaks(text []byte) bool {
	return bytes.IndexByte(text, '\r') >= 0 || bytes.Contains(text, []byte("\u0085")) ||
		bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

// lineBreak returns the length of the line break at the beginning of the text, or 0.
func lineBreak(text []byte) int {
	switch text[0] {
	case '\n':
		return 1
	case '\r':
		if len(text) > 1 && text[1] == '\n' {
			return 2
		}
		return 1
	case 0xc2:
		if len(text) > 1 && text[1] == 0x85 {
			return 2
		}
	case 0xe2:
		if len(text) > 2 && text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9) {
			return 3
		}
	}
	return 0
}
