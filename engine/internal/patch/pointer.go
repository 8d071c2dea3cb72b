package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// place is the target of a path: a key of an object or an index of a list. It need not exist.
type place struct {
	in  uint32 // the container
	key string
}

var errNoWay = errors.New("there is no object and no list that the path leads into")

// unescaped decodes a token of a path: ~1 is a slash, ~0 a tilde.
var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// place follows a path to its last container, and opens all containers on it. It ignores what precedes the first slash.
//
// Upstream: patch.go, findObject.
func (t *Tree) place(path string) (place, error) {
	_, rest, ok := strings.Cut(path, "/")
	if !ok {
		return place{}, errNoWay
	}
	if t.opens(&t.root) == nil {
		return place{}, errNoWay
	}
	in := t.root.at
	for {
		token, after, more := strings.Cut(rest, "/")
		key := unescaped.Replace(token)
		if !more {
			return place{in: in, key: key}, nil
		}
		at := place{in: in, key: key}
		n, err := t.get(at)
		if err != nil || t.opens(&n) == nil {
			return place{}, errNoWay
		}
		t.keep(at, n)
		in, rest = n.at, after
	}
}

// get returns the node at a place: null for an absent member of an object, and an error for an index out of range.
func (t *Tree) get(at place) (node, error) {
	c := &t.open[at.in]
	if !c.list {
		if i := c.member(at.key); i >= 0 {
			return c.members[i].node, nil
		}
		return node{}, nil
	}
	i, err := c.element(at.key)
	if err != nil {
		return node{}, err
	}
	return c.elements[i], nil
}

// keep stores a node that came from get and was opened since.
func (t *Tree) keep(at place, n node) {
	c := &t.open[at.in]
	if c.list {
		if i, err := c.element(at.key); err == nil {
			c.elements[i] = n
		}
	} else if i := c.member(at.key); i >= 0 {
		c.members[i].node = n
	}
}

// element returns the index of an element of a list. A negative one counts from the end.
func (c *container) element(key string) (int, error) { return index(key, len(c.elements)) }

// index parses an index below n.
func index(key string, n int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, fmt.Errorf("%q is no index of a list", shortened(key))
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
func (t *Tree) insert(at place, n node) error {
	c := &t.open[at.in]
	switch {
	case c.sealed:
		t.crashed = true
		return errors.New("it adds to a null that was copied")
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

// take removes the existing node at a place.
func (t *Tree) take(at place) error {
	c := &t.open[at.in]
	if !c.list {
		i := c.member(at.key)
		if i < 0 {
			return fmt.Errorf("there is no %q to remove", shortened(at.key))
		}
		c.drop(i)
		return nil
	}
	i, err := c.element(at.key)
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
		return &value.LimitError{Name: "max_patch_shifts", Limit: "work of a patch", Unit: "list elements moved",
			Maximum: MaxShifted, Actual: t.shifted, AtLeast: true,
			Advice: "replace the whole list, or add at its end"}
	}
	return nil
}
