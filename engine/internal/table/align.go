package table

import "unicode/utf8"

// aligner aligns tab-separated cells. A column is a run of lines with a tab-terminated cell at the same index; the last
// cell of a line belongs to no column. A column is as wide as its widest cell plus padding, and never narrower than in
// earlier output.
//
// Upstream: github.com/liggitt/tabwriter with the settings of cli-runtime pkg/printers/tabwriter.go: RememberWidths and
// no other flag.
type aligner struct {
	out []byte
	// most is the maximum length of out. full is set if the output would exceed it; the rest is then missing.
	most int
	full bool

	text   []byte       // text of all pending cells
	done   []cellExtent // pending cells, line by line
	lines  []int        // end of each complete line in done
	begin  int          // start of the current cell in text
	widths []int        // widths of the columns to the left
	kept   []int        // largest widths so far
}

// cellExtent is the size of a cell in bytes and its width in runes.
type cellExtent struct{ size, width int }

// kubectl's settings.
const (
	narrowest  = 6 // minimum width of a column, including padding
	cellsApart = 3 // padding of a cell in spaces
)

// write adds text. Tabs and line breaks end cells.
func (a *aligner) write(text []byte) {
	for _, c := range text {
		switch c {
		case '\t', '\v':
			a.endCell()
		case '\n', '\f':
			a.endCell()
			before := 0
			if n := len(a.lines); n > 0 {
				before = a.lines[n-1]
			}
			a.lines = append(a.lines, len(a.done))
			if c == '\f' || len(a.done)-before == 1 { // following lines do not depend on it
				a.flush()
			}
		default:
			a.text = append(a.text, c)
		}
	}
}

func (a *aligner) endCell() {
	cell := a.text[a.begin:]
	a.done = append(a.done, cellExtent{len(cell), utf8.RuneCount(cell)})
	a.begin = len(a.text)
}

// flush prints all pending lines. All lines must be complete.
func (a *aligner) flush() {
	a.format(0, 0, len(a.lines))
	a.text, a.done, a.lines, a.begin = a.text[:0], a.done[:0], a.lines[:0], 0
}

// line returns the cells of a line.
func (a *aligner) line(i int) []cellExtent {
	from := 0
	if i > 0 {
		from = a.lines[i-1]
	}
	return a.done[from:a.lines[i]]
}

// format prints the lines [from, to), whose text begins at pos, and returns the position of the text after them.
// a.widths holds the columns known so far; format computes the next one and recurses to the right.
func (a *aligner) format(pos, from, to int) int {
	column := len(a.widths)
	for i := from; i < to; i++ {
		if len(a.line(i)) < column+2 { // no tab-terminated cell at this index
			continue
		}
		pos = a.print(pos, from, i)
		from = i
		width := narrowest
		for ; i < to && len(a.line(i)) >= column+2; i++ {
			width = max(width, a.line(i)[column].width+cellsApart)
		}
		if len(a.kept) < column {
			a.kept = append(a.kept, a.widths[len(a.kept):]...)
		}
		if len(a.kept) == column {
			a.kept = append(a.kept, width)
		}
		width = max(width, a.kept[column])
		a.kept[column] = width
		a.widths = append(a.widths, width)
		pos = a.format(pos, from, i)
		a.widths = a.widths[:column]
		from = i
	}
	return a.print(pos, from, to)
}

// print prints lines with the columns in a.widths.
func (a *aligner) print(pos, from, to int) int {
	for i := from; i < to && !a.full; i++ {
		for j, c := range a.line(i) {
			need := c.size + 1
			if j < len(a.widths) {
				need += max(0, a.widths[j]-c.width)
			}
			if len(a.out)+need > a.most {
				a.full = true
				break
			}
			a.out = append(a.out, a.text[pos:pos+c.size]...)
			pos += c.size
			if j < len(a.widths) {
				for range a.widths[j] - c.width {
					a.out = append(a.out, ' ')
				}
			}
		}
		a.out = append(a.out, '\n')
	}
	return pos
}
