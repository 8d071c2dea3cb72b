package plan

import (
	"github.com/crdeval/crdeval/engine/internal/correlation"
)

// Pair is a value of an updated object with its old value.
type Pair = correlation.Object[*Node]

// Pairs is the memory of one update.
type Pairs = correlation.Trees[*Node]

// Element returns the schema of the elements of an array, or nil.
func (n *Node) Element() *Node { return n.items() }

// IsMapList reports whether the node has x-kubernetes-list-type: map.
func (n *Node) IsMapList() bool { return n.Flags&ListMap != 0 }

// MapKeys returns the number of x-kubernetes-list-map-keys.
func (n *Node) MapKeys() int {
	if n.Type != "array" {
		return 0
	}
	return len(n.ListKeys)
}

// MapKey returns the k-th of x-kubernetes-list-map-keys.
func (n *Node) MapKey(k int) string { return n.ListKeys[k].Name }
