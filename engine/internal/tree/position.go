package tree

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
)

// Position is a location in the caller's text. The zero Position is that of a value that is not in the text, such as a
// default.
type Position struct {
	Line   int // from 1
	Column int // from 1, in code points
	Offset int // in bytes, from 0
}

// textIndex finds lines and columns of a text. It is built on first use.
type textIndex struct {
	lines  []uint32 // offset of the first byte of each line, nil before the first use
	blocks []uint32 // code points before each block of blockSize bytes, because lines can be long
}

const blockSize = 1024

// PositionOf returns the position of a value in the caller's text; for YAML, in the YAML text. p is the value's path in
// the request and i its node, or 0. Removed values have a position, defaults do not. It is fast enough
// for any number of violations.
func (d *Doc) PositionOf(i uint32, p Path) Position {
	if i == 0 {
		return d.PositionAt(p)
	}
	if y := d.yaml[d.Nodes[i].Src]; y != nil {
		return y.Position(p)
	}
	return d.positionOf(d.Nodes[i].Src, d.Nodes[i].Off, p)
}

// KeyPosition returns the position of the key of a member in the caller's text. p is the path of the member and i its
// node. For an array element it returns the position of the value; in JSON, also for an empty key, and for a key with
// escapes.
func (d *Doc) KeyPosition(i uint32, p Path) Position {
	n := &d.Nodes[i]
	if y := d.yaml[n.Src]; y != nil {
		return y.KeyPosition(p)
	}
	if o := d.origins[n.Src]; o.Converted() {
		return o.from.keyPosition(o.place(), p)
	}
	if n.KeyLen == 0 || n.KeySrc != n.Src {
		return d.positionOf(n.Src, n.Off, p)
	}
	return d.positionOf(n.KeySrc, n.Key-1, p)
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
		if d.work != nil {
			d.original.StopOn(d.work)
		}
		if _, err := d.original.Parse(d.Src[Request], Request, Limits{MaxBytes: maxSource}); err != nil {
			return Position{} // the caller has changed the text
		}
	}
	if d.finder == nil {
		d.finder = d.original.Finder()
	}
	node, _ := d.finder.Deepest(d.original.Root(Request), p)
	return d.positionOf(Request, d.original.Nodes[node].Off, p)
}

// positionOf returns the position of a byte of a source, which is in the value at a path.
func (d *Doc) positionOf(s Source, offset uint32, p Path) Position {
	if s != Request && s != Old {
		return Position{}
	}
	switch o := d.origins[s]; {
	case o.Converted():
		return o.from.position(o.place(), p)
	case o != nil:
		return o.at(int(offset))
	}
	text, x := d.Src[s], &d.index[s]
	if x.lines == nil {
		x.lines = lineFeedStarts(text)
		x.count(text)
	}
	return x.position(text, offset)
}

// count fills in the blocks.
func (x *textIndex) count(text []byte) {
	total := 0
	for at := 0; at < len(text); at += blockSize {
		x.blocks = append(x.blocks, uint32(total))
		total += codePoints(text[at:min(at+blockSize, len(text))])
	}
}

// codePoints returns the number of code points before the offset.
func (x *textIndex) codePoints(text []byte, offset uint32) int {
	if len(x.blocks) == 0 {
		return 0
	}
	block := min(int(offset)/blockSize, len(x.blocks)-1)
	return int(x.blocks[block]) + codePoints(text[block*blockSize:min(int(offset), len(text))])
}

// offset returns the byte offset of a line and column, or the length of the text if the column is beyond it.
func (x *textIndex) offset(text []byte, line, column int) int {
	start := x.lines[line-1]
	left := x.codePoints(text, start) + column - 1
	block := sort.Search(len(x.blocks), func(k int) bool { return int(x.blocks[k]) > left }) - 1
	if block < 0 {
		return len(text)
	}
	left -= int(x.blocks[block])
	for i := block * blockSize; i < len(text); i++ {
		if text[i]&0xc0 == 0x80 {
			continue
		}
		if left == 0 {
			return i
		}
		left--
	}
	return len(text)
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
