// Package jsontree is the JSON tree of generators, mutators and the shrinker. Members keep their order, duplicate keys are
// allowed, and scalars are literals, so that 1.0, 1e400, a lone surrogate or invalid UTF-8 are preserved.
//
// It deliberately does not use the engine's tree: a test that uses the parser under test cannot see its errors.
package jsontree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Kind distinguishes containers and scalars.
type Kind uint8

// The kinds of a node.
const (
	Scalar Kind = iota
	Array
	Object
)

// Node is a value. Its Kind determines which one of Raw, Items and Members is used.
type Node struct {
	Kind    Kind
	Raw     string // a scalar's literal: null, true, 1e3, "text"
	Items   []*Node
	Members []Member
}

// Member is a key and its value. Key is the decoded key. If RawKey is set, it is the literal with quotes and replaces
// Key.
type Member struct {
	Key    string
	RawKey string
	Value  *Node
}

// Raw returns a scalar from its literal.
func Raw(literal string) *Node { return &Node{Raw: literal} }

// Str returns a string.
func Str(s string) *Node { return Raw(Quote(s)) }

// Int returns an integer.
func Int(i int64) *Node { return Raw(strconv.FormatInt(i, 10)) }

// Bool returns a boolean.
func Bool(b bool) *Node { return Raw(strconv.FormatBool(b)) }

// Null returns a null.
func Null() *Node { return Raw("null") }

// Arr returns an array.
func Arr(items ...*Node) *Node { return &Node{Kind: Array, Items: items} }

// Obj returns an object from alternating keys and values. Values are nodes, or arguments of [From].
func Obj(pairs ...any) *Node {
	n := &Node{Kind: Object}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.Members = append(n.Members, Member{Key: pairs[i].(string), Value: From(pairs[i+1])})
	}
	return n
}

// From converts a Go value: strings, numbers, booleans, nil, slices and maps become JSON; a node stays.
func From(v any) *Node {
	switch v := v.(type) {
	case *Node:
		if v == nil {
			return Null()
		}
		return v
	case nil:
		return Null()
	case string:
		return Str(v)
	case bool:
		return Bool(v)
	case int:
		return Int(int64(v))
	case int64:
		return Int(v)
	case json.Number:
		return Raw(string(v))
	case []any:
		n := Arr()
		for _, e := range v {
			n.Items = append(n.Items, From(e))
		}
		return n
	case map[string]any:
		n := &Node{Kind: Object}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			n.Members = append(n.Members, Member{Key: k, Value: From(v[k])})
		}
		return n
	}
	doc, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("tree: %T has no JSON form: %v", v, err))
	}
	n, err := Parse(doc)
	if err != nil {
		panic(err)
	}
	return n
}

// Quote prints a string as a JSON literal without escaping <, > and &.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads well-formed JSON. It keeps order, duplicates and number literals. Strings are decoded and encoded again.
func Parse(doc []byte) (*Node, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return parse(d)
}

func parse(d *json.Decoder) (*Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			n := Arr()
			for d.More() {
				e, err := parse(d)
				if err != nil {
					return nil, err
				}
				n.Items = append(n.Items, e)
			}
			_, err := d.Token()
			return n, err
		}
		n := &Node{Kind: Object}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parse(d)
			if err != nil {
				return nil, err
			}
			n.Members = append(n.Members, Member{Key: k.(string), Value: v})
		}
		_, err := d.Token()
		return n, err
	case string:
		return Str(t), nil
	case json.Number:
		return Raw(string(t)), nil
	case bool:
		return Bool(t), nil
	}
	return Null(), nil
}

// JSON prints the document.
func (n *Node) JSON() []byte { return n.append(nil) }

// String prints the document.
func (n *Node) String() string { return string(n.JSON()) }

func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case Array:
		b = append(b, '[')
		for i, e := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			if m.RawKey != "" {
				b = append(b, m.RawKey...)
			} else {
				b = append(b, Quote(m.Key)...)
			}
			b = append(b, ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	}
	return append(b, n.Raw...)
}

// Clone copies a subtree.
func (n *Node) Clone() *Node {
	c := &Node{Kind: n.Kind, Raw: n.Raw}
	for _, e := range n.Items {
		c.Items = append(c.Items, e.Clone())
	}
	for _, m := range n.Members {
		c.Members = append(c.Members, Member{Key: m.Key, RawKey: m.RawKey, Value: m.Value.Clone()})
	}
	return c
}

// Get returns the last member with a name, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// At follows keys from the node. It returns nil if one is missing.
func (n *Node) At(keys ...string) *Node {
	for _, k := range keys {
		n = n.Get(k)
	}
	return n
}

// Set replaces or adds a member, and returns the node.
func (n *Node) Set(key string, value any) *Node {
	v := From(value)
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members[i].Value = v
			return n
		}
	}
	n.Members = append(n.Members, Member{Key: key, Value: v})
	return n
}

// Delete removes all members with a name.
func (n *Node) Delete(key string) {
	kept := n.Members[:0]
	for _, m := range n.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	n.Members = kept
}

// Text decodes a string. ok is false for other kinds.
func (n *Node) Text() (s string, ok bool) {
	if n == nil || n.Kind != Scalar || !strings.HasPrefix(n.Raw, `"`) {
		return "", false
	}
	return s, json.Unmarshal([]byte(n.Raw), &s) == nil
}

// IsTrue reports whether the node is the literal true.
func (n *Node) IsTrue() bool { return n != nil && n.Kind == Scalar && n.Raw == "true" }

// Len counts items or members.
func (n *Node) Len() int { return len(n.Items) + len(n.Members) }

// Size counts the nodes of a subtree.
func (n *Node) Size() int {
	c := 1
	for _, e := range n.Items {
		c += e.Size()
	}
	for _, m := range n.Members {
		c += m.Value.Size()
	}
	return c
}

// Walk visits the subtree in document order, with each node's parent (nil for the root) and its index in it.
func (n *Node) Walk(visit func(node, parent *Node, index int)) { n.walk(nil, 0, visit) }

func (n *Node) walk(parent *Node, index int, visit func(node, parent *Node, index int)) {
	visit(n, parent, index)
	for i, e := range n.Items {
		e.walk(n, i, visit)
	}
	for i, m := range n.Members {
		m.Value.walk(n, i, visit)
	}
}

// Child returns the item or member value at an index.
func (n *Node) Child(i int) *Node {
	if n.Kind == Array {
		return n.Items[i]
	}
	return n.Members[i].Value
}

// SetChild replaces the item or member value at an index.
func (n *Node) SetChild(i int, v *Node) {
	if n.Kind == Array {
		n.Items[i] = v
	} else {
		n.Members[i].Value = v
	}
}

// RemoveChild deletes the item or member at an index.
func (n *Node) RemoveChild(i int) {
	if n.Kind == Array {
		n.Items = append(n.Items[:i:i], n.Items[i+1:]...)
	} else {
		n.Members = append(n.Members[:i:i], n.Members[i+1:]...)
	}
}

// GetMembers returns the members, or none for nil and for other kinds.
func (n *Node) GetMembers() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// GetItems returns the items, or none for nil and for other kinds.
func (n *Node) GetItems() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}
