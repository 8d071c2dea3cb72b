package value

// Lookup returns the node at a path, or 0 if there is none.
func (d *Doc) Lookup(root uint32, p Path) uint32 {
	for _, s := range p {
		if s.kind != index {
			root = d.Field(root, s.key)
		} else if d.Nodes[root].Kind == Array {
			c := d.Nodes[root].First
			for c != 0 && d.Nodes[c].Key != uint32(s.at) {
				c = d.Nodes[c].Next
			}
			root = c
		} else {
			return 0
		}
		if root == 0 {
			return 0
		}
	}
	return root
}

// PathTo returns the path from a root to a node below it; ok is false if the node is not linked there. Array elements
// have their index in the input. Keys refer to the Doc's memory and are Name segments. It searches the tree, so it is
// for violations only.
func (d *Doc) PathTo(root, node uint32) (p Path, ok bool) {
	if node == 0 || root == 0 {
		return nil, false
	}
	if p, ok = d.search(root, node, nil, true); !ok {
		p, ok = d.search(root, node, nil, false)
	}
	return p, ok
}

// search descends from at to node. If byText is set, it skips unedited containers whose text does not contain the node.
func (d *Doc) search(at, node uint32, p Path, byText bool) (Path, bool) {
	if at == node {
		return p, true
	}
	n, t := &d.Nodes[at], &d.Nodes[node]
	if n.First == 0 || byText && n.Flags&Dirty == 0 && (n.Src != t.Src || t.Off < n.Off || t.Off >= n.End) {
		return nil, false
	}
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		if found, ok := d.search(c, node, append(p, d.segment(n.Kind, c)), byText); ok {
			return found, true
		}
	}
	return nil, false
}

func (d *Doc) segment(parent Kind, child uint32) Segment {
	if parent == Array {
		return At(int(d.Nodes[child].Key))
	}
	return Name(d.Key(child))
}
