package tree

import (
	"errors"
	"fmt"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// extent is the size of a part of a YAML document: bytes as written, and bytes and levels with aliases expanded.
type extent struct {
	written, expanded int64
	depth             int
}

// checkAliases rejects a document whose aliases expand too far, before anything is expanded. For an anchor that contains
// itself, it notes the position: the YAML library fails there, or before it.
func (y *YAMLSource) checkAliases(src []byte, l Limits) error {
	if y.tree() == nil {
		// The second YAML library cannot parse the text. The first one, which decides, bounds the number of nodes but
		// not bytes.
		return checkExpanded(src, l)
	}
	m := measure{anchors: map[*yamlv3.Node]*extent{}}
	total := m.node(y.root)
	if y.endless = m.endless; y.endless != nil {
		y.indexLines()
		y.endless.Offset = y.index.offset(y.text, y.endless.Line, y.endless.Column)
	}
	return l.checkExtent(total)
}

func (l Limits) checkExtent(total extent) error {
	if allowed := max(int64(l.MaxAliasFactor)*total.written, int64(l.MaxAliasBytes)); total.expanded > allowed {
		return &LimitError{Name: "max_alias_bytes", Limit: "alias expansion", Unit: "bytes", Maximum: allowed, Actual: total.expanded,
			AtLeast: total.expanded >= hugeExtent, Advice: "write the repeated parts out, or use fewer aliases"}
	}
	if total.depth > l.MaxDepth {
		return tooDeep(l.MaxDepth)
	}
	return nil
}

// hugeExtent is where counting stops, far below an overflow.
const hugeExtent = int64(1) << 50

// measure computes extents in document order. An alias refers to an earlier anchor. Its extent is either known, or the
// walk is still inside it and the anchor contains itself. So no node is visited twice.
type measure struct {
	anchors map[*yamlv3.Node]*extent // nil while the walk is inside the anchor
	endless *SyntaxError             // of the first anchor that contains itself
}

func (m *measure) node(n *yamlv3.Node) (e extent) {
	if n.Kind == yamlv3.AliasNode {
		known := m.anchors[n.Alias]
		if known == nil && m.endless == nil {
			text := fmt.Sprintf("yaml: anchor '%s' value contains itself", n.Value) // the text of go.yaml.in/yaml/v2
			m.endless = &SyntaxError{Offset: -1, Line: n.Line, Column: n.Column, Text: text, Cause: errors.New(text)}
		}
		if known == nil {
			return e
		}
		e = *known
		e.written = int64(len(n.Value)) + 2
		return e
	}
	if n.Anchor != "" {
		m.anchors[n] = nil
	}
	own := int64(len(n.Value)) + 2
	e = extent{written: own, expanded: own}
	for _, child := range n.Content {
		c := m.node(child)
		e.written += c.written
		e.expanded = min(e.expanded+c.expanded, hugeExtent)
		e.depth = max(e.depth, c.depth)
	}
	if n.Kind == yamlv3.MappingNode || n.Kind == yamlv3.SequenceNode {
		e.depth++
	}
	if n.Anchor != "" {
		known := e
		m.anchors[n] = &known
	}
	return e
}

// checkExpanded checks the limits on a document after the YAML library has expanded it; strings are still shared then.
func checkExpanded(src []byte, l Limits) error {
	var v any
	if _, err := convert(src, func(src []byte) ([]byte, error) { return nil, yamlv2.Unmarshal(src, &v) }); err != nil {
		return yamlError(err).place(utf8Text(src))
	}
	total := extent{written: int64(len(src))}
	if !total.add(v, l.MaxDepth) {
		return tooDeep(l.MaxDepth)
	}
	return l.checkExtent(total)
}

// add adds a decoded value to the extent. It returns false if the value is nested too deeply.
func (e *extent) add(v any, levels int) bool {
	e.expanded += 2
	switch v := v.(type) {
	case string:
		e.expanded += int64(len(v))
	case []any:
		for _, item := range v {
			if levels == 0 || !e.add(item, levels-1) {
				return false
			}
		}
	case map[any]any:
		for key, item := range v {
			if levels == 0 || !e.add(key, levels-1) || !e.add(item, levels-1) {
				return false
			}
		}
	}
	return true
}
