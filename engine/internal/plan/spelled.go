package plan

import (
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/spelling"
)

// spelled is what is known of a node's names beside themselves, so that what an unknown one may have meant is found without looking at all of them.
type spelled struct {
	index   *spelling.Index
	holders []uint16
}

// newSpelled returns nil for a node with few properties.
func newSpelled(n *Node) *spelled {
	index := spelling.New(n.Names)
	if index == nil {
		return nil
	}
	s := &spelled{index: index}
	for i, p := range n.Props {
		if p.holds() {
			s.holders = append(s.holders, uint16(i))
		}
	}
	return s
}

func (s *spelled) size() int64 {
	if s == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*s)) + s.index.Size() + int64(cap(s.holders))*2
}

// Spelling is the index of Names, nil for a node with few of them.
func (n *Node) Spelling() *spelling.Index {
	if n.spelled == nil {
		return nil
	}
	return n.spelled.index
}

// Holders yields the slots of the properties that have fields of their own, or whose items have some.
func (n *Node) Holders(yield func(slot int) bool) {
	if n.spelled != nil {
		for _, slot := range n.spelled.holders {
			if !yield(int(slot)) {
				return
			}
		}
		return
	}
	for slot, p := range n.Props {
		if p.holds() && !yield(slot) {
			return
		}
	}
}

func (n *Node) holds() bool {
	return n != nil && (n.declares() || n.Items.declares())
}

func (n *Node) declares() bool {
	return n != nil && (len(n.Names) > 0 || n.Flags&(Root|Embedded) != 0)
}
