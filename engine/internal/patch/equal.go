package patch

import (
	"bytes"

	"github.com/crdeval/crdeval/engine/value"
)

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
		return other == value.Object && t.patch.Len(with.at) == 0
	case with.kind == given || shape != other && (isContainer(shape) || isContainer(other)):
		return false
	case shape == value.Object:
		return t.equalMembers(n, with)
	case shape == value.Array:
		return t.equalElements(n, with)
	}
	return bytes.Equal(t.text(*n), t.text(with))
}

func isContainer(k value.Kind) bool { return k == value.Object || k == value.Array }

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
