package patch

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// AppendJSON appends the patched object as JSON: first the old keys in their order, then those of the patch. Values of
// the patch are appended as they are written, including duplicate keys.
func (t *Tree) AppendJSON(dst []byte) []byte { return t.appendJSON(dst, t.root) }

func (t *Tree) appendJSON(dst []byte, n node) []byte {
	switch n.kind {
	case ofOld:
		return t.old.AppendJSON(dst, n.at)
	case ofPatch, ofCopy:
		return append(dst, t.patch.Raw(n.at)...)
	case ofMerge:
		return t.appendMerged(dst, n.at)
	case opened:
		c := &t.open[n.at]
		switch {
		case c.sealed:
			return append(dst, "null"...)
		case c.list:
			dst = append(dst, '[')
			for i := range c.elements {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = t.appendJSON(dst, c.elements[i])
			}
			return append(dst, ']')
		}
		dst = append(dst, '{')
		first := true
		for i := range c.members {
			if m := &c.members[i]; !m.gone {
				if !first {
					dst = append(dst, ',')
				}
				first = false
				dst = append(value.AppendCanonicalString(dst, m.key), ':')
				dst = t.appendJSON(dst, m.node)
			}
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// appendMerged appends a value of a merge patch without the nulls in its objects.
func (t *Tree) appendMerged(dst []byte, at uint32) []byte {
	d := t.patch
	switch d.Nodes[at].Kind {
	case value.Object:
		dst = append(dst, '{')
		first := true
		for c := d.Nodes[at].First; c != 0; c = d.Nodes[c].Next {
			if d.Nodes[c].Kind == value.Null {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(value.AppendCanonicalString(dst, d.Key(c)), ':')
			dst = t.appendMerged(dst, c)
		}
		return append(dst, '}')
	case value.Array:
		dst = append(dst, '[')
		for c := d.Nodes[at].First; c != 0; c = d.Nodes[c].Next {
			if c != d.Nodes[at].First {
				dst = append(dst, ',')
			}
			dst = t.appendMerged(dst, c)
		}
		return append(dst, ']')
	}
	return append(dst, d.Raw(at)...)
}

// Printed returns the patched object exactly as upstream prints it in messages: keys of opened nodes are sorted, and <,
// > and & are escaped.
func (t *Tree) Printed() []byte { return t.appendPrinted(nil, t.root) }

func (t *Tree) appendPrinted(dst []byte, n node) []byte {
	switch n.kind {
	case ofOld:
		if t.printed {
			return append(dst, t.old.Raw(n.at)...)
		}
		return t.old.AppendCanonical(dst, n.at)
	case ofPatch, ofCopy:
		return appendEscaped(dst, t.patch.Raw(n.at))
	case ofMerge:
		return t.appendPrintedMerged(dst, n.at)
	case opened:
		c := &t.open[n.at]
		switch {
		case c.sealed:
			return append(dst, "null"...)
		case c.list:
			dst = append(dst, '[')
			for i := range c.elements {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = t.appendPrinted(dst, c.elements[i])
			}
			return append(dst, ']')
		}
		return appendSorted(dst, slices.DeleteFunc(slices.Clone(c.members), func(m member) bool { return m.gone }),
			t.appendPrinted)
	}
	return append(dst, "null"...)
}

func (t *Tree) appendPrintedMerged(dst []byte, at uint32) []byte {
	d := t.patch
	switch d.Nodes[at].Kind {
	case value.Object:
		var members []member
		for c := d.Nodes[at].First; c != 0; c = d.Nodes[c].Next {
			if d.Nodes[c].Kind != value.Null {
				members = append(members, member{key: d.Key(c), node: node{kind: ofMerge, at: c}})
			}
		}
		return appendSorted(dst, members, t.appendPrinted)
	case value.Array:
		dst = append(dst, '[')
		for c := d.Nodes[at].First; c != 0; c = d.Nodes[c].Next {
			if c != d.Nodes[at].First {
				dst = append(dst, ',')
			}
			dst = t.appendPrintedMerged(dst, c)
		}
		return append(dst, ']')
	}
	return appendEscaped(dst, d.Raw(at))
}

func appendSorted(dst []byte, members []member, appendTo func([]byte, node) []byte) []byte {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(value.AppendCanonicalString(dst, members[i].key), ':')
		dst = appendTo(dst, members[i].node)
	}
	return append(dst, '}')
}

// appendEscaped appends a text as encoding/json prints raw JSON: compact, and escaped for HTML.
func appendEscaped(dst, raw []byte) []byte {
	plain := true
	for _, c := range raw {
		if c <= ' ' || c == '<' || c == '>' || c == '&' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return append(dst, raw...)
	}
	made, err := json.Marshal(json.RawMessage(raw))
	if err != nil {
		return append(dst, raw...) // cannot fail, since it was parsed before
	}
	return append(dst, made...)
}

// printedLen returns the length of a printed node.
func (t *Tree) printedLen(n node) int {
	if n.kind == given || n.kind == copiedNull {
		return len("null")
	}
	t.scratch = t.appendPrinted(t.scratch[:0], n)
	return len(t.scratch)
}

// duplicate copies a node, as if it were printed and parsed again.
func (t *Tree) duplicate(n node) node {
	switch n.kind {
	case ofPatch:
		n.kind = ofCopy
	case given:
		n.kind = copiedNull
	case opened:
		return t.duplicateOpened(n)
	}
	return n
}

func (t *Tree) duplicateOpened(n node) node {
	c := &t.open[n.at]
	if c.sealed {
		return node{kind: copiedNull}
	}
	made := container{list: c.list}
	elements, members := c.elements, c.members
	for _, e := range elements {
		made.elements = append(made.elements, t.inside(e))
	}
	for i := range members {
		if m := members[i]; !m.gone {
			made.members = append(made.members, member{key: m.key, node: t.inside(m.node)})
		}
	}
	made.live = len(made.members)
	t.add(&n, made)
	return n
}

// inside returns the copy of a node within a copied node: nulls become those of a text.
func (t *Tree) inside(n node) node {
	if n = t.duplicate(n); n.kind == copiedNull {
		n = node{}
	}
	return n
}
