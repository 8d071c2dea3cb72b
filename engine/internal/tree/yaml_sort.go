package tree

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

// sort sorts the members of an object, and of the objects in it, by key, as the YAML library prints them. For the
// container of the root, it sorts the whole document. The nodes from index before are those inside the object. sort
// also reorders them, their positions and the JSON text. It returns false if a key occurs twice.
func (s *yamlScanner) sort(object uint32, before int) bool {
	o := &s.sorter
	nodes := s.nodes
	begin := 0
	if object != 0 {
		begin = int(nodes[object].Off) + 1
		if !s.sortMembers(&nodes[object]) {
			return false
		}
	}
	for i := before; i < len(nodes); i++ {
		if nodes[i].Flags&unsortedKeys != 0 && !s.sortMembers(&nodes[i]) {
			return false
		}
	}
	o.nodes = append(o.nodes[:0], nodes[before:]...)
	o.places = append(o.places[:0], s.places[before-s.first:]...)
	o.text = append(o.text[:0], s.out[begin:]...)
	nodes, s.out = nodes[:before], s.out[:begin]
	o.parents = append(o.parents[:0], sortedParent{node: object, next: nodes[object].First})
	for {
		parent := &o.parents[len(o.parents)-1]
		from := parent.next
		if from == 0 && parent.node != 0 {
			n := &nodes[parent.node]
			s.out = append(s.out, "]}"[n.Kind-Array])
			n.End = uint32(len(s.out))
		}
		if from == 0 {
			if o.parents = o.parents[:len(o.parents)-1]; len(o.parents) == 0 {
				break
			}
			continue
		}
		original := &o.nodes[int(from)-before]
		me := uint32(len(nodes))
		s.places[len(nodes)-s.first] = o.places[int(from)-before]
		nodes = append(nodes, *original) // never beyond the length before
		n := &nodes[me]
		if parent.last == 0 {
			nodes[parent.node].First = me
		} else {
			nodes[parent.last].Next = me
			s.out = append(s.out, ',')
		}
		parent.last, parent.next = me, original.Next
		if nodes[parent.node].Kind == Object {
			s.out = append(s.out, '"')
			if n.KeySrc == Arena {
				s.out = appendString(s.out[:len(s.out)-1], bytesAsString(s.doc.Src[Arena][n.Key:n.Key+n.KeyLen]), false)
			} else {
				n.Key = uint32(len(s.out))
				key := int(original.Key) - begin
				s.out = append(append(s.out, o.text[key:key+int(original.KeyLen)]...), '"')
			}
			s.out = append(s.out, ':')
		}
		n.Off, n.Next = uint32(len(s.out)), 0
		if n.Kind == Array || n.Kind == Object {
			s.out = append(s.out, "[{"[n.Kind-Array])
			n.First = 0
			o.parents = append(o.parents, sortedParent{node: me, next: original.First})
			continue
		}
		s.out = append(s.out, o.text[int(original.Off)-begin:int(original.End)-begin]...)
		n.End = uint32(len(s.out))
	}
	s.nodes = nodes
	return true
}

// sortMembers links the members of an object with unsortedKeys in the order of their keys. It returns false if a key
// occurs twice.
func (s *yamlScanner) sortMembers(object *Node) bool {
	nodes, members := s.nodes, s.sorter.members[:0]
	object.Flags &^= unsortedKeys
	s.unsorted--
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
