package value

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Position is a place in the caller's text. The zero Position means that there is none: a default, for example.
type Position struct {
	Line   int // from 1
	Column int // from 1, in code points
	Offset int // in bytes, from 0
}

// Position is where the value of a node begins in the text that the caller sent, for a YAML document in the YAML. Nodes of the
// Arena and of Defaults have none.
func (d *Doc) Position(i uint32) Position {
	n := &d.Nodes[i]
	if y := d.yaml[n.Src]; y != nil {
		p, ok := d.PathTo(d.roots[n.Src], i)
		if !ok {
			return Position{}
		}
		return y.Position(p)
	}
	return d.positionOf(n.Src, n.Off)
}

// KeyPosition is where the key of a member begins; for an element of an array, where its value begins. A key that is empty or was
// written with escapes has the position of its value.
func (d *Doc) KeyPosition(i uint32) Position {
	n := &d.Nodes[i]
	if y := d.yaml[n.Src]; y != nil {
		p, ok := d.PathTo(d.roots[n.Src], i)
		if !ok {
			return Position{}
		}
		return y.KeyPosition(p)
	}
	if n.KeyLen == 0 || n.KeySrc != n.Src {
		return d.positionOf(n.Src, n.Off)
	}
	return d.positionOf(n.KeySrc, n.Key-1)
}

// PositionAt is where the value at the path began in the text of the request, whatever became of it since: pruned fields have
// a position too. The deepest ancestor's position stands for a value that was not there.
func (d *Doc) PositionAt(p Path) Position {
	if y := d.yaml[Request]; y != nil {
		return y.Position(p)
	}
	if d.roots[Request] == 0 {
		return Position{}
	}
	// The tree may have been edited since; the text has not.
	original := Acquire()
	defer original.Release()
	node, err := original.Parse(d.Src[Request], Request, Limits{MaxBytes: maxSource})
	if err != nil {
		return Position{}
	}
	for i := range p {
		next := original.Lookup(node, p[i:i+1])
		if next == 0 {
			break
		}
		node = next
	}
	return d.positionOf(Request, original.Nodes[node].Off)
}

func (d *Doc) positionOf(s Source, offset uint32) Position {
	if s != Request && s != Old {
		return Position{}
	}
	text := d.Src[s]
	if d.linesOf != s || len(d.lines) == 0 {
		d.linesOf = s
		d.lines = append(d.lines[:0], 0)
		for i := 0; ; {
			next := bytes.IndexByte(text[i:], '\n')
			if next < 0 {
				break
			}
			i += next + 1
			d.lines = append(d.lines, uint32(i))
		}
	}
	line := sort.Search(len(d.lines), func(k int) bool { return d.lines[k] > offset })
	start := d.lines[line-1]
	return Position{Line: line, Column: 1 + utf8.RuneCount(text[start:offset]), Offset: int(offset)}
}

// lineAndColumn is the place of a byte, without an index of lines.
func lineAndColumn(text []byte, offset int) (line, column int) {
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
