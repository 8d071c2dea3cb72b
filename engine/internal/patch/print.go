package patch

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// AppendJSON appends the patched object as JSON: first the old keys in their order, then those of the patch. Values of
// the patch are appended as they are written, including duplicate keys. The text is incomplete if the signal of Apply
// fires.
func (t *Tree) AppendJSON(dst []byte) []byte { return t.print(dst, t.root, false) }

// Printed returns the patched object exactly as upstream prints it in messages: keys of opened nodes are sorted, and <,
// > and & are escaped. The text is incomplete if the signal of Apply fires.
func (t *Tree) Printed() []byte { return t.print(nil, t.root, true) }

// print appends a node, as upstream prints it in messages or in the order of the documents.
func (t *Tree) print(dst []byte, n node, upstream bool) []byte {
	var c container
	switch {
	case n.kind == ofOld && upstream && !t.printed:
		return t.old.AppendCanonical(dst, n.at)
	case n.kind == ofOld && upstream:
		return append(dst, t.old.Raw(n.at)...)
	case n.kind == ofOld:
		return t.old.AppendJSON(dst, n.at)
	case n.kind == merged && isContainer(t.shape(n)):
		c = t.merge(n)
	case t.doc(n.kind) != nil && upstream:
		return appendEscaped(dst, t.patch.Raw(n.at))
	case t.doc(n.kind) != nil:
		return append(dst, t.patch.Raw(n.at)...)
	case n.kind != opened || t.open[n.at].sealed:
		return append(dst, "null"...)
	default:
		c = t.open[n.at]
	}
	if t.stop.Stopped() {
		return dst
	}
	if c.list {
		dst = append(dst, '[')
		for i := range c.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.print(dst, c.elements[i], upstream)
		}
		return append(dst, ']')
	}
	members := c.members
	if upstream {
		members = slices.SortedFunc(slices.Values(members), func(a, b member) int { return strings.Compare(a.key, b.key) })
	}
	dst = append(dst, '{')
	for i := range members {
		if m := &members[i]; !m.removed {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(value.AppendCanonicalString(dst, m.key), ':')
			dst = t.print(dst, m.node, upstream)
		}
	}
	return append(dst, '}')
}

// appendEscaped appends a text as encoding/json prints raw JSON: compact, and escaped for HTML.
func appendEscaped(dst, raw []byte) []byte {
	if !slices.ContainsFunc(raw, func(c byte) bool { return c <= ' ' || c == '<' || c == '>' || c == '&' || c >= 0x80 }) {
		return append(dst, raw...)
	}
	made, err := json.Marshal(json.RawMessage(raw))
	if err != nil {
		return append(dst, raw...) // cannot fail, since it was parsed before
	}
	return append(dst, made...)
}

// duplicate copies a node, as if it were printed and parsed again.
func (t *Tree) duplicate(n node) node {
	switch {
	case n.kind == ofPatch:
		n.kind = ofCopy
	case n.kind == given || n.kind == opened && t.open[n.at].sealed:
		n = node{kind: copiedNull}
	case n.kind == opened:
		made := container{list: t.open[n.at].list}
		elements, members := t.open[n.at].elements, t.open[n.at].members
		for _, e := range elements {
			made.elements = append(made.elements, t.inside(e))
		}
		for i := range members {
			if m := members[i]; !m.removed {
				made.members = append(made.members, member{key: m.key, node: t.inside(m.node)})
			}
		}
		made.live = len(made.members)
		t.add(&n, made)
	}
	return n
}

// inside returns the copy of a node within a copied node: nulls become those of a text.
func (t *Tree) inside(n node) node {
	if n = t.duplicate(n); n.kind == copiedNull {
		n = node{}
	}
	return n
}
