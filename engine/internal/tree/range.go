package tree

import (
	"bytes"
	"sort"
	"sync"
	"unicode"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Range is where a value is in a Text.
type Range struct {
	// Key is the key of a member with its quotes, empty for the root and for items of lists.
	Key Span
	// Value is the value, without the anchor and the tag before it. It is empty for a missing value, as in "key:". For an
	// alias, it is the alias.
	Value Span
	// Collection reports whether the text of the value is an object or a list, Flow whether it is in brackets, or in a
	// value that is.
	Collection, Flow bool
	// Shared reports whether an alias or a merge key leads to the value: an edit also changes other fields.
	Shared bool
}

// Ranges finds the ranges of the values of a document of a Text. It parses the document on first use, and is safe for
// concurrent use.
type Ranges struct {
	mu     sync.Mutex
	origin *Origin
	text   []byte // of the document
	yaml   *YAMLSource
	finder *Finder // of a document in JSON
	root   uint32
}

// Ranges returns the Ranges of a document with the Origin and this text.
func (o *Origin) Ranges(text []byte, isYAML bool) *Ranges {
	r := &Ranges{origin: o, text: text}
	switch {
	case o.from != nil:
		return r
	case isYAML:
		r.yaml = &YAMLSource{text: text}
		return r
	}
	d := new(Doc)
	if root, err := d.Parse(text, Request, Limits{MaxBytes: maxSource}); err == nil {
		r.finder, r.root = d.Finder(), root
	}
	return r
}

// Find returns the Range of the value at a JSON pointer. If there is no such value, it returns the Range of the deepest
// existing parent, and false.
func (r *Ranges) Find(pointer string) (found Range, ok bool) {
	mu, y, from := &r.mu, r.yaml, Path(nil)
	if c := r.origin.from; c != nil {
		mu, y, from = &c.mu, c.y, r.origin.place()
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case y != nil:
		found, ok = y.rangeOf(from, pointer)
	case r.finder != nil:
		found, ok = r.inJSON(pointer)
	default:
		return found, false
	}
	for _, s := range []*Span{&found.Key, &found.Value} {
		s.Begin += r.origin.begin
		s.End += r.origin.begin
	}
	return found, ok
}

// inJSON is Find in a document in JSON.
func (r *Ranges) inJSON(pointer string) (found Range, ok bool) {
	node, whole := follow(r.root, pointer, r.finder.Child)
	n := &r.finder.d.Nodes[node]
	found = Range{Value: Span{int(n.Off), int(n.End)}, Collection: n.Kind >= Array, Flow: true}
	found.Key = r.keyBefore(found.Value.Begin)
	return found, whole
}

// keyBefore returns the key of the value at an offset, or an empty Span before the value.
func (r *Ranges) keyBefore(at int) Span {
	before := bytes.TrimRight(r.text[:at], " \t\r\n")
	if !bytes.HasSuffix(before, []byte{':'}) {
		return Span{at, at}
	}
	end := len(bytes.TrimRight(before[:len(before)-1], " \t\r\n"))
	for begin := end - 2; begin >= 0; begin-- {
		if escapes := begin - len(bytes.TrimRight(r.text[:begin], `\`)); r.text[begin] == '"' && escapes%2 == 0 {
			return Span{begin, end}
		}
	}
	return Span{at, at}
}

// rangeOf returns the Range of a JSON pointer relative to the value at a path.
func (y *YAMLSource) rangeOf(from Path, pointer string) (r Range, ok bool) {
	y.indexLines()
	at := step{value: y.tree(), outer: -1}
	if at.value == nil {
		return r, false
	}
	for _, s := range from {
		if at = y.step(at, s); at.value == nil {
			return r, false
		}
	}
	at, ok = follow(at, pointer, y.step)
	begin := y.begin(at.value)
	r = Range{Key: Span{begin, begin}, Value: Span{begin, y.end(at.value, at.outer)}, Shared: at.shared}
	if r.Value.End < begin {
		r.Value.End = begin
	}
	if at.key != nil {
		r.Key.Begin = y.begin(at.key)
		r.Key.End = y.end(at.key, at.outer)
	}
	r.Collection = at.value.Kind == yamlv3.MappingNode || at.value.Kind == yamlv3.SequenceNode
	r.Flow = at.flow || isFlow(at.value)
	return r, ok
}

// step is a node on the way to a value.
type step struct {
	key, value   *yamlv3.Node
	outer        int // column of the container's keys or dashes, from 0; -1 for the root
	flow, shared bool
}

// step returns the step to a child.
func (y *YAMLSource) step(from step, s Segment) (to step) {
	n := target(from.value)
	key, value := y.child(n, s, nil)
	if value == nil {
		return step{}
	}
	to = step{key: key, value: value, outer: y.column(n), flow: from.flow || isFlow(n)}
	to.shared = from.shared || n != from.value || !has(n, value)
	if to.shared && !has(n, value) { // a merge key leads there
		to.flow, to.outer = false, value.Column-2
		if key != nil {
			to.outer = key.Column - 1
		}
	}
	return to
}

func isFlow(n *yamlv3.Node) bool { return n.Style&yamlv3.FlowStyle != 0 }

// has reports whether a node is a child.
func has(n, child *yamlv3.Node) bool {
	for _, c := range n.Content {
		if c == child {
			return true
		}
	}
	return false
}

// begin returns the offset of a node, after its anchor and its tag.
func (y *YAMLSource) begin(n *yamlv3.Node) int {
	at := y.offset(n)
	if n.Anchor == "" && n.Style&yamlv3.TaggedStyle == 0 {
		return at
	}
	missing := n.Kind == yamlv3.ScalarNode && n.Style&quotedStyle == 0 && n.Value == ""
	for at < len(y.text) && (y.text[at] == '&' || y.text[at] == '!') {
		size := bytes.IndexFunc(y.text[at:], unicode.IsSpace)
		if size < 0 {
			return len(y.text)
		}
		if at += size; missing {
			if next := spaces(y.text, at); next == len(y.text) || y.text[next] != '&' && y.text[next] != '!' {
				return at
			}
		}
		at = y.space(at)
	}
	return at
}

// column returns the column of the keys or dashes of a collection, from 0.
func (y *YAMLSource) column(n *yamlv3.Node) int {
	at := y.begin(n)
	line := sort.Search(len(y.index.lines), func(k int) bool { return int(y.index.lines[k]) > at })
	return at - int(y.index.lines[max(line-1, 0)])
}

// space returns the offset after white space, line breaks and comments.
func (y *YAMLSource) space(at int) int {
	for at < len(y.text) {
		r, size := utf8.DecodeRune(y.text[at:])
		switch {
		case r == '#' && (at == 0 || unicode.IsSpace(rune(y.text[at-1]))):
			for at < len(y.text) && lineBreak(y.text[at:]) == 0 {
				at++
			}
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			at += size
		default:
			return at
		}
	}
	return at
}

// end returns the offset after a node. outer is the column of the keys or dashes around it.
func (y *YAMLSource) end(n *yamlv3.Node, outer int) int {
	at := y.begin(n)
	switch {
	case n.Kind == yamlv3.AliasNode:
		return min(at+len("*")+len(n.Value), len(y.text))
	case n.Kind == yamlv3.MappingNode || n.Kind == yamlv3.SequenceNode:
		return y.endOfCollection(n, at)
	case n.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0:
		return y.endOfBlock(at, outer)
	case n.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0:
		return y.endOfQuoted(at)
	}
	for _, c := range n.Value { // of a plain scalar, whose line breaks are folded
		if !unicode.IsSpace(c) {
			at = y.space(at)
			if at >= len(y.text) {
				return at
			}
			at += utf8.RuneLen(c)
		}
	}
	return min(at, len(y.text))
}

func (y *YAMLSource) endOfCollection(n *yamlv3.Node, at int) int {
	bracketed := isFlow(n) && at < len(y.text) && (y.text[at] == '{' || y.text[at] == '[')
	if bracketed {
		at++
	}
	if last, outer := len(n.Content)-1, y.column(n); last >= 0 {
		at = max(at, y.end(n.Content[last], outer))
		if n.Kind == yamlv3.MappingNode {
			at = max(at, y.end(n.Content[last-1], outer))
		}
	}
	for bracketed && at < len(y.text) {
		if at = y.space(at); at < len(y.text) {
			at++
			if c := y.text[at-1]; c == '}' || c == ']' {
				break
			}
		}
	}
	return at
}

// endOfQuoted returns the offset after the quoted scalar at an offset.
func (y *YAMLSource) endOfQuoted(at int) int {
	if at >= len(y.text) {
		return at
	}
	quote := y.text[at]
	for at++; at < len(y.text); at++ {
		switch c := y.text[at]; {
		case c == '\\' && quote == '"', c == quote && quote == '\'' && at+1 < len(y.text) && y.text[at+1] == quote:
			at++
		case c == quote:
			return at + 1
		}
	}
	return len(y.text)
}

// endOfBlock returns the offset after the last line with content of the literal or folded scalar at an offset. Its
// lines are indented more than the column outer.
func (y *YAMLSource) endOfBlock(at, outer int) int {
	end := at
	for first := true; at < len(y.text); first = false {
		size := 0
		for at+size < len(y.text) && lineBreak(y.text[at+size:]) == 0 {
			size++
		}
		row := y.text[at : at+size]
		content := bytes.TrimRight(row, " \t")
		indent := len(row) - len(bytes.TrimLeft(row, " "))
		if !first && len(content) > 0 && indent <= outer {
			break
		}
		if len(content) > 0 {
			end = at + len(content)
		}
		if at += size; at < len(y.text) {
			at += lineBreak(y.text[at:])
		}
	}
	return end
}
