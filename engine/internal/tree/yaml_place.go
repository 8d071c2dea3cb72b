package tree

// scan returns the tree of a document that the scanner read, or nil. Its nodes from 1 belong to y.places.
func (y *YAMLSource) scan() *Finder {
	if y.finder == nil && y.places != nil {
		d := new(Doc)
		if _, err := d.Parse(y.json, Request, Limits{MaxBytes: maxSource}); err != nil || len(d.Nodes) != len(y.places)+1 {
			y.places = nil // the caller has changed the text
			return nil
		}
		y.finder = d.Finder()
	}
	return y.finder
}

// at returns the position of an offset in the text.
func (y *YAMLSource) at(offset uint32) Position {
	offset = min(offset, uint32(len(y.text)))
	if y.origin != nil {
		return y.origin.at(int(offset))
	}
	y.indexLines()
	return y.index.position(y.text, offset)
}

// valueAt returns the position of a node that the scanner read.
func (y *YAMLSource) valueAt(node uint32) Position { return y.at(y.places[node-1].value) }

// keyAt returns the position of the key of a node that the scanner read, or of the value if it has none.
func (y *YAMLSource) keyAt(node uint32) Position {
	if at := y.places[node-1].key; at != noKey {
		return y.at(at)
	}
	return y.valueAt(node)
}
