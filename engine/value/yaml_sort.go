package value

import (
	"bytes"
	"slices"
)

// yamlSorter is the memory for sorting the keys of a document.
type yamlSorter struct {
	nodes   []Node
	places  []place
	text    []byte
	members []uint32
	parents []sortedParent
}

// sortedParent is an open container of the copy, and the next member of the original.
type sortedParent struct{ node, last, next uint32 }

// sort brings the members of all objects into the order of their keys, as the YAML library prints them. The nodes from
// index before, the places and the JSON text get that order too. It returns false if a key occurs twice.
func (s *yamlScanner) sort(before int) bool {
	o := &s.sorter
	nodes := s.doc.Nodes
	for i := before; i < len(nodes); i++ {
		if nodes[i].Flags&unsortedKeys != 0 && !s.sortMembers(&nodes[i]) {
			return false
		}
	}
	o.nodes = append(o.nodes[:0], nodes[before:]...)
	o.places = append(o.places[:0], s.places...)
	o.text = append(o.text[:0], s.out...)
	nodes, s.out = nodes[:before], s.out[:0]
	o.parents = append(o.parents[:0], sortedParent{next: nodes[0].First})
	for {
		parent := &o.parents[len(o.parents)-1]
		from := parent.next
		if from == 0 {
			if len(o.parents) == 1 {
				break
			}
			n := &nodes[parent.node]
			s.out = append(s.out, "]}"[n.Kind-Array])
			n.End = uint32(len(s.out))
			o.parents = o.parents[:len(o.parents)-1]
			continue
		}
		original := &o.nodes[int(from)-before]
		me := uint32(len(nodes))
		s.places[len(nodes)-before] = o.places[int(from)-before]
		nodes = append(nodes, *original) // never beyond the length before
		n := &nodes[me]
		if parent.last == 0 {
			nodes[parent.node].First = me
		} else {
			nodes[parent.last].Next = me
			s.out = append(s.out, ',')
		}
		parent.last, parent.next = me, original.Next
		if len(o.parents) > 1 && nodes[parent.node].Kind == Object {
			s.out = append(s.out, '"')
			if n.KeySrc == Arena {
				s.out = appendString(s.out[:len(s.out)-1], bytesAsString(s.doc.Src[Arena][n.Key:n.Key+n.KeyLen]), false)
			} else {
				n.Key = uint32(len(s.out))
				s.out = append(append(s.out, o.text[original.Key:original.Key+original.KeyLen]...), '"')
			}
			s.out = append(s.out, ':')
		}
		n.Off, n.Next = uint32(len(s.out)), 0
		if n.Kind == Array || n.Kind == Object {
			s.out = append(s.out, "[{"[n.Kind-Array])
			n.First, n.Flags = 0, n.Flags&^unsortedKeys
			o.parents = append(o.parents, sortedParent{node: me, next: original.First})
			continue
		}
		s.out = append(s.out, o.text[original.Off:original.End]...)
		n.End = uint32(len(s.out))
	}
	s.doc.Nodes = nodes
	return true
}

// sortMembers links the members of an object in the order of their keys. It returns false if a key occurs twice.
func (s *yamlScanner) sortMembers(object *Node) bool {
	nodes, members := s.doc.Nodes, s.sorter.members[:0]
	for c := object.First; c != 0; c = nodes[c].Next {
		members = append(members, c)
	}
	slices.SortFunc(members, func(a, b uint32) int { return bytes.Compare(s.keyOf(&nodes[a]), s.keyOf(&nodes[b])) })
	for k, c := range members {
		nodes[c].Next = 0
		if k == 0 {
			object.First = c
			continue
		}
		previous := &nodes[members[k-1]]
		previous.Next = c
		if bytes.Equal(s.keyOf(previous), s.keyOf(&nodes[c])) {
			return false
		}
	}
	s.sorter.members = members
	return true
}
