package value

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
)

// Position is a location in the caller's text. The zero Position means that there is none, as for a default.
type Position struct {
	Line   int // from 1
	Column int // from 1, in code points
	Offset int // in bytes, from 0
}

// textIndex finds lines and columns of a JSON text. It is built on first use.
type textIndex struct {
	built  bool
	lines  []uint32 // offset of the first byte of each line
	blocks []uint32 // code points before each block of blockSize bytes, because lines can be long
}

const blockSize = 1024

// PositionOf returns the position of a value in the caller's text; for YAML, in the YAML text. p is the value's path in
// the request and i its node, or 0 if there is none. Removed values have a position, defaults do not. It is fast enough
// for any number of violations.
func (d *Doc) PositionOf(i uint32, p Path) Position {
	if i == 0 {
		return d.PositionAt(p)
	}
	if y := d.yaml[d.Nodes[i].Src]; y != nil {
		return y.Position(p)
	}
	return d.positionOf(d.Nodes[i].Src, d.Nodes[i].Off)
}

// Position is like PositionOf for a node whose path is unknown. For YAML it searches the tree and does not find removed
// nodes.
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

// KeyPosition returns the position of the key of a member. For an array element, an empty key, or a key with escapes it
// returns the position of the value.
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

// PositionAt returns the position of the value at a path in the request, even if the value was edited since. For a
// missing value it returns the position of the deepest existing ancestor.
func (d *Doc) PositionAt(p Path) Position {
	if y := d.yaml[Request]; y != nil {
		return y.Position(p)
	}
	if d.roots[Request] == 0 {
		return Position{}
	}
	if d.original == nil {
		// The tree may have been edited; the text has not.
		d.original = Acquire()
		if _, err := d.original.Parse(d.Src[Request], Request, Limits{MaxBytes: maxSource}); err != nil {
			return Position{} // the caller has changed the text
		}
	}
	if d.finder == nil {
		d.finder = d.original.Finder()
	}
	node := d.finder.Deepest(d.original.Root(Request), p)
	return d.positionOf(Request, d.original.Nodes[node].Off)
}

func (d *Doc) positionOf(s Source, offset uint32) Position {
	if s != Request && s != Old {
		return Position{}
	}
	text, x := d.Src[s], &d.index[s]
	if !x.built {
		x.build(text)
	}
	line := sort.Search(len(x.lines), func(k int) bool { return x.lines[k] > offset })
	before := x.codePoints(text, offset) - x.codePoints(text, x.lines[line-1])
	return Position{Line: line, Column: 1 + before, Offset: int(offset)}
}

func (x *textIndex) build(text []byte) {
	x.built = true
	x.lines, x.blocks = append(x.lines[:0], 0), x.blocks[:0]
	total := 0
	for at := 0; at < len(text); at += blockSize {
		x.blocks = append(x.blocks, uint32(total))
		block := text[at:min(at+blockSize, len(text))]
		total += codePoints(block)
		for i := 0; ; {
			next := bytes.IndexByte(block[i:], '\n')
			if next < 0 {
				break
			}
			i += next + 1
			x.lines = append(x.lines, uint32(at+i))
		}
	}
}

// codePoints returns the number of code points before the offset.
func (x *textIndex) codePoints(text []byte, offset uint32) int {
	if int(offset) >= len(text) {
		return int(x.blocks[len(x.blocks)-1]) + codePoints(text[(len(x.blocks)-1)*blockSize:])
	}
	block := offset / blockSize
	return int(x.blocks[block]) + codePoints(text[block*blockSize:offset])
}

// codePoints counts the bytes that begin a code point, so a text can be counted in parts.
func codePoints(text []byte) (count int) {
	const lowest = 0x0101_0101_0101_0101 // the lowest bit of each byte
	for ; len(text) >= 8; text = text[8:] {
		eight := binary.LittleEndian.Uint64(text)
		count += 8 - bits.OnesCount64(eight>>7&(^eight>>6)&lowest) // continuation bytes begin with the bits 10
	}
	for _, c := range text {
		if c&0xc0 != 0x80 {
			count++
		}
	}
	return count
}

// lineAndColumn returns the position of one byte without an index.
func lineAndColumn(text []byte, offset int) (line, column int) {
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + codePoints(before[bytes.LastIndexByte(before, '\n')+1:])
}
