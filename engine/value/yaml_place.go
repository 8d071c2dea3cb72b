package value

import "sort"

// scanned returns the tree of a document that the scanner read, or nil. Its nodes from 1 belong to y.places.
func (y *YAMLSource) scanned() *Finder {
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

// at returns the position of an offset in a text that the scanner read.
func (y *YAMLSource) at(offset uint32) Position {
	y.indexLines()
	offset = min(offset, uint32(len(y.text)))
	line := sort.Search(len(y.index.lines), func(k int) bool { return y.index.lines[k] > offset })
	before := y.index.codePoints(y.text, offset) - y.index.codePoints(y.text, y.index.lines[line-1])
	return Position{Line: line, Column: 1 + before, Offset: int(offset)}
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
