package table

import "unicode/utf8"

// aligner aligns cells that are separated by tabs. A column is a run of lines that all have a cell there which a tab ends; the last cell of a line
// belongs to none. It is as wide as the widest of its cells and the padding, and never becomes narrower than it was in what was printed before.
//
// Upstream: github.com/liggitt/tabwriter, with the settings of cli-runtime pkg/printers/tabwriter.go: RememberWidths and no other flag.
type aligner struct {
	out []byte
	// most is how long out may become; full says that it would have become longer, and that the rest is missing.
	most int
	full bool

	text   []byte       // of all cells that wait
	done   []cellExtent // cells that wait, line by line
	lines  []int        // where each line that is complete ends in done
	begin  int          // where the cell that is being written begins in text
	widths []int        // of the columns to the left of what is being printed
	kept   []int        // the widths that columns had so far
}

// cellExtent is the size of a cell in bytes, and its width in runes.
type cellExtent struct{ size, width int }

// kubectl's settings.
const (
	narrowest  = 6 // a column, padding included
	cellsApart = 3 // spaces, the padding of a cell
)

// write takes text; tabs and line breaks end cells.
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
			if c == '\f' || len(a.done)-before == 1 { // nothing that follows depends on it
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

// flush prints all lines that wait. None may be incomplete.
func (a *aligner) flush() {
	a.format(0, 0, len(a.lines))
	a.text, a.done, a.lines, a.begin = a.text[:0], a.done[:0], a.lines[:0], 0
}

// line is a line's cells.
func (a *aligner) line(i int) []cellExtent {
	from := 0
	if i > 0 {
		from = a.lines[i-1]
	}
	return a.done[from:a.lines[i]]
}

// format prints some lines, whose text begins at pos, and says where that of the next begins. The columns in a.widths are known; it finds those of the next and goes on
// to the right.
func (a *aligner) format(pos, from, to int) int {
	column := len(a.widths)
	for i := from; i < to; i++ {
		if len(a.line(i)) < column+2 { // no tab ends a cell there
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

// print prints lines in the columns in a.widths.
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
