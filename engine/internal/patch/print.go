package patch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
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
			dst = append(tree.AppendCanonicalString(dst, m.key), ':')
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

// equal compares a node with the value of an operation like upstream's test: containers by their contents, everything
// else by its text. So 1.0 is not 1, and "a" is not "\u0061". API servers escape <, > and & when they print an object,
// so "<" in a test does not match.
//
// It opens n if that helps the next comparison. Two texts with a null in a list make upstream's handler panic.
//
// Upstream: patch.go, lazyNode.equal.
func (t *Tree) equal(n *node, with node) bool {
	if t.stop.Stopped() {
		return false // the caller checks for the deadline
	}
	if n.kind == null || with.kind == null {
		t.crashed = true
		return false
	}
	shape, other := t.shape(*n), t.shape(with)
	switch {
	case n.kind == given:
		return with.kind == given
	case n.kind == copiedNull || n.kind == opened && t.open[n.at].sealed:
		return other == tree.Object && t.patch.Len(with.at) == 0
	case with.kind == given || shape != other && (isContainer(shape) || isContainer(other)):
		return false
	case shape == tree.Object:
		return t.equalMembers(n, with)
	case shape == tree.Array:
		return t.equalElements(n, with)
	}
	return bytes.Equal(t.text(*n), t.text(with))
}

func isContainer(k tree.Kind) bool { return k == tree.Object || k == tree.Array }

// equalMembers compares two objects. Upstream's random order decides whether it finds a difference or panics. Here the
// difference comes first.
func (t *Tree) equalMembers(n *node, with node) bool {
	if t.opens(n).live != t.patch.Len(with.at) {
		return false
	}
	crashed := false
	for p := t.patch.Nodes[with.at].First; p != 0; p = t.patch.Nodes[p].Next {
		c := &t.open[n.at]
		i := c.member(t.patch.Key(p))
		if i < 0 {
			return false
		}
		a, b := &c.members[i].node, child(with.kind, t.patch, p)
		if (a.kind == null) != (b.kind == null) {
			return false
		}
		if a.kind == null {
			continue
		}
		same := t.equal(a, b)
		if t.crashed {
			t.crashed, crashed = false, true
		} else if !same {
			return false
		}
	}
	t.crashed = crashed
	return !crashed
}

func (t *Tree) equalElements(n *node, with node) bool {
	if len(t.opens(n).elements) != t.patch.Len(with.at) {
		return false
	}
	i := 0
	for p := t.patch.Nodes[with.at].First; p != 0; p = t.patch.Nodes[p].Next {
		same := t.equal(&t.open[n.at].elements[i], child(with.kind, t.patch, p))
		if t.crashed || !same {
			return false
		}
		i++
	}
	return true
}

// text returns the text of a scalar.
func (t *Tree) text(n node) []byte {
	if n.kind == ofPatch {
		return t.patch.Raw(n.at)
	}
	return t.print(nil, n, true)
}
