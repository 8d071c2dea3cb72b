package page

import (
	"sort"
	"unicode/utf8"
)

// positions maps offsets of a text in bytes to Positions, and back.
type positions struct {
	text   string
	lines  []int // offset of the first byte of each line
	blocks []count
}

// count is the number of code points and of UTF-16 code units before a block of the text.
type count struct{ points, units int }

const blockSize = 1024

func newPositions(text string) *positions {
	p := &positions{text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	var c count
	for at := 0; at < len(text); at += blockSize {
		p.blocks = append(p.blocks, c)
		c.add(text[at:min(at+blockSize, len(text))])
	}
	return p
}

// add counts the code points that begin in a text.
func (c *count) add(text string) {
	for i := 0; i < len(text); i++ {
		if b := text[i]; b&0xc0 != 0x80 {
			c.points++
			c.units++
			if b >= 0xf0 {
				c.units++ // a pair of surrogates
			}
		}
	}
}

func (p *positions) before(offset int) (c count) {
	if len(p.blocks) > 0 {
		block := min(offset/blockSize, len(p.blocks)-1)
		c = p.blocks[block]
		c.add(p.text[block*blockSize : offset])
	}
	return c
}

// position returns the Position of a byte.
func (p *positions) position(offset int) Position {
	offset = max(0, min(offset, len(p.text)))
	for offset > 0 && offset < len(p.text) && !utf8.RuneStart(p.text[offset]) {
		offset--
	}
	line := sort.Search(len(p.lines), func(i int) bool { return p.lines[i] > offset })
	at := p.before(offset)
	return Position{Line: line, Column: 1 + at.points - p.before(p.lines[line-1]).points, Offset: at.units}
}

// span returns the Range of a part of the text.
func (p *positions) span(start, end int) *Range {
	return &Range{Start: p.position(start), End: p.position(max(start, end))}
}

// offset returns the byte of a Position.Offset. One inside a character is moved to its begin, and one outside of the
// text to its nearest end.
func (p *positions) offset(units int) int {
	block := sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].units > units }) - 1
	if block < 0 {
		return 0
	}
	at, c := block*blockSize, p.blocks[block]
	for at < len(p.text) {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		if c.add(p.text[at : at+size]); c.units > units {
			break
		}
		at += size
	}
	return at
}
