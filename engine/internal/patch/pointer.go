package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// slot is the target of a path: a key of an object or an index of a list. It need not exist.
type slot struct {
	in  uint32 // the container
	key string
}

var errNoContainer = errors.New("the path does not lead into an object or a list")

// Keys returns the keys of a path. What precedes the first slash is ignored.
func Keys(path string) []string {
	keys := strings.Split(path, "/")[1:]
	for i := range keys {
		keys[i] = tree.UnescapePointer(keys[i])
	}
	return keys
}

// slot follows a path to its last container, and opens all containers on it. name is that of the path in
// the operation.
//
// Upstream: patch.go, findObject.
func (t *Tree) slot(path *string, name string) (slot, error) {
	if path == nil {
		return slot{}, fmt.Errorf("it has no %s of type string", name)
	}
	keys := Keys(*path)
	if len(keys) == 0 || t.opens(&t.root) == nil {
		return slot{}, errNoContainer
	}
	in, last := t.root.at, len(keys)-1
	for _, key := range keys[:last] {
		n, err := t.get(slot{in: in, key: key})
		if err != nil || t.opens(n) == nil {
			return slot{}, errNoContainer
		}
		in = n.at
	}
	return slot{in: in, key: keys[last]}, nil
}

// get returns the node in a slot: null for an absent member of an object, and an error for an index out of range. The
// result is valid until the container changes.
func (t *Tree) get(at slot) (*node, error) {
	c := &t.open[at.in]
	if !c.list {
		if i := c.member(at.key); i >= 0 {
			return &c.members[i].node, nil
		}
		return new(node), nil
	}
	i, err := index(at.key, len(c.elements))
	if err != nil {
		return nil, err
	}
	return &c.elements[i], nil
}

// index parses an index below n. A negative one counts from the end.
func index(key string, n int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, fmt.Errorf("%q is not an index of a list", violation.Shorten(key, maxShown))
	}
	if i >= n || i < -n {
		return 0, fmt.Errorf("index %d is outside of the list", i)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// insert adds a node: it replaces the member at a key, and is inserted before an index.
func (t *Tree) insert(at slot, n node) error {
	c := &t.open[at.in]
	switch {
	case c.sealed:
		return t.crash("it adds to a copied null")
	case !c.list:
		c.set(at.key, n)
		return nil
	case at.key == "-":
		c.elements = append(c.elements, n)
		return nil
	}
	i, err := index(at.key, len(c.elements)+1)
	if err != nil {
		return err
	}
	if err := t.shift(len(c.elements) - i); err != nil {
		return err
	}
	c.elements = append(c.elements, node{})
	copy(c.elements[i+1:], c.elements[i:])
	c.elements[i] = n
	return nil
}

// take removes the existing node in a slot.
func (t *Tree) take(at slot) error {
	c := &t.open[at.in]
	if !c.list {
		i := c.member(at.key)
		if i < 0 {
			return fmt.Errorf("there is no %q to remove", violation.Shorten(at.key, maxShown))
		}
		c.drop(i)
		return nil
	}
	i, err := index(at.key, len(c.elements))
	if err != nil {
		return err
	}
	if err := t.shift(len(c.elements) - i); err != nil {
		return err
	}
	c.elements = append(c.elements[:i], c.elements[i+1:]...)
	return nil
}

// shift counts moved elements.
func (t *Tree) shift(n int) error {
	if t.shifted += int64(n); t.shifted > MaxShifted {
		return &tree.LimitError{Name: "max_patch_shifts", Limit: "work of a patch", Unit: "list elements moved",
			Maximum: MaxShifted, Actual: t.shifted, AtLeast: true, Advice: "replace the whole list, or add at its end"}
	}
	return nil
}
