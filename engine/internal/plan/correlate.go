package plan

import (
	"github.com/crdeval/crdeval/engine/internal/correlation"
)

// Pair is a value of an updated object with the value that it had before.
type Pair = correlation.Object[*Node]

// Pairs is the memory of one update.
type Pairs = correlation.Trees[*Node]

// Element is the schema of the elements of an array, nil if there is none.
func (n *Node) Element() *Node { return n.items() }

// IsMapList reports x-kubernetes-list-type: map.
func (n *Node) IsMapList() bool { return n.Flags&ListMap != 0 }

// MapKeys is how many x-kubernetes-list-map-keys there are, MapKey the k-th; only arrays have any.
func (n *Node) MapKeys() int {
	if n.Type != "array" {
		return 0
	}
	return len(n.ListKeys)
}

// MapKey is described at MapKeys.
func (n *Node) MapKey(k int) string { return n.ListKeys[k].Name }
