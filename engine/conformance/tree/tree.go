// Package tree holds JSON documents as generators, mutators and the shrinker need them: members in order, duplicate
// keys allowed, scalars by their literal text, so that 1.0, 1e400, a lone surrogate or broken UTF-8 survive.
//
// It is deliberately not the engine's own tree: a test that shares its subject's parser is blind in one eye.
package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Kind tells containers from scalars.
type Kind uint8

// The kinds of a node.
const (
	Scalar Kind = iota
	Array
	Object
)

// Node is a value. Exactly one of Raw, Items and Members is used, by Kind.
type Node struct {
	Kind    Kind
	Raw     string // the literal of a scalar: null, true, 1e3, "text"
	Items   []*Node
	Members []Member
}

// Member is one key and its value. Key is the decoded key unless RawKey is set, which then is the literal, quotes
// included.
type Member struct {
	Key    string
	RawKey string
	Value  *Node
}

// Raw makes a scalar from its literal text.
func Raw(literal string) *Node { return &Node{Raw: literal} }

// Str makes a string.
func Str(s string) *Node { return Raw(Quote(s)) }

// Int makes an integer.
func Int(i int64) *Node { return Raw(strconv.FormatInt(i, 10)) }

// Bool makes a boolean.
func Bool(b bool) *Node { return Raw(strconv.FormatBool(b)) }

// Null makes a null.
func Null() *Node { return Raw("null") }

// Arr makes an array.
func Arr(items ...*Node) *Node { return &Node{Kind: Array, Items: items} }

// Obj makes an object from keys and values in turn; values are nodes, or what [From] takes.
func Obj(pairs ...any) *Node {
	n := &Node{Kind: Object}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.Members = append(n.Members, Member{Key: pairs[i].(string), Value: From(pairs[i+1])})
	}
	return n
}

// From makes a node of a Go value: a node stays, strings, numbers, booleans, nil, slices and maps become what they are
// in JSON.
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

// Quote prints a string as a JSON literal, leaving <, > and & alone.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads well-formed JSON, keeping order, duplicates and number literals. Strings are decoded and encoded once.
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

// Get finds the last member of a name; nil if absent.
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

// At follows keys from the node; nil if one is absent.
func (n *Node) At(keys ...string) *Node {
	for _, k := range keys {
		n = n.Get(k)
	}
	return n
}

// Set replaces a member's value or adds the member, and returns the node.
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

// Delete removes all members of a name.
func (n *Node) Delete(key string) {
	kept := n.Members[:0]
	for _, m := range n.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	n.Members = kept
}

// Text decodes a string scalar; ok is false for anything else.
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

// Walk visits the subtree in document order with each node's parent (nil for the root) and its place in it.
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

// Child is the item or member value at an index.
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

// GetMembers lists the members; none for nil and for what is no object.
func (n *Node) GetMembers() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// GetItems lists the items; none for nil and for what is no array.
func (n *Node) GetItems() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}
