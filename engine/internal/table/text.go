package table

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/value"
)

// TextOptions holds kubectl's options for printing a table.
type TextOptions struct {
	// Wide includes columns with a nonzero priority: -o wide.
	Wide bool
	// NoHeaders omits the header line: --no-headers.
	NoHeaders bool
	// Namespaces adds a first column with the namespace: --all-namespaces.
	Namespaces bool
	// Labels adds a last column with all labels: --show-labels.
	Labels bool
	// LabelColumns lists labels that get columns of their own: --label-columns.
	LabelColumns []string
	// Kind, such as crontab.stable.example.com in any case, is printed before each name: --show-kind. Empty prints
	// none.
	Kind string
	// Chunk is the number of rows that kubectl requests at a time. Zero means kubectl's default of 500; a negative
	// number requests all rows at once. Column widths are known per chunk, and kubectl prints 100 rows at a time. So
	// rows printed before a wider chunk are not aligned with it.
	Chunk int
	// Most bounds the text in bytes. One long cell widens its whole column, so a text can be much larger than its
	// table.
	Most int
}

// kubectlChunk is kubectl's default for Chunk.
const kubectlChunk = 500

// flushedRows is the number of rows of a chunk that kubectl prints at a time, with the column widths known by then.
const flushedRows = 100

// printed is the state of printing one table.
type printed struct {
	o       *TextOptions
	columns []string // headings
	hidden  []bool   // hidden by priority
	last    int      // last visible column, or -1
	name    int      // column that gets Kind, or -1
	given   int      // number of columns of the table itself
	stop    *interrupt.Signal
	aligner aligner
	line    []byte
}

// cell is a cell to be printed. Null cells are empty.
type cell struct {
	text string
	null bool
}

// AppendText appends a table as kubectl prints it. Rows are TableRows in JSON. The error is ErrStopped, a
// *value.LimitError if the text is too long, or the parse error of a row.
//
// Upstream: cli-runtime pkg/printers/tableprinter.go; kubectl pkg/cmd/get.
func AppendText(dst []byte, columns []metav1.TableColumnDefinition, rows int, row func(int) []byte, o TextOptions, s *interrupt.Signal) ([]byte, error) {
	t := &printed{o: &o, last: -1, name: -1, given: len(columns), stop: s, aligner: aligner{out: dst, most: len(dst) + o.Most}}
	t.head(columns)
	chunk := o.Chunk
	if chunk == 0 {
		chunk = kubectlChunk
	}
	if chunk < 0 {
		chunk = max(rows, 1)
	}
	for from := 0; from < rows; from += min(chunk, rows-from) {
		cells := make([][]cell, 0, min(chunk, rows-from))
		for i := from; i < rows && i-from < chunk; i++ {
			if i%flushedRows == 0 && s.Stopped() {
				return dst, ErrStopped
			}
			c, err := t.read(row(i))
			if err != nil {
				return dst, err
			}
			cells = append(cells, c)
		}
		t.print(cells, from > 0 || o.NoHeaders)
		if t.aligner.full {
			break
		}
	}
	t.aligner.flush()
	if t.aligner.full {
		return dst, &value.LimitError{Name: "max_table_bytes", Limit: "text of the table", Unit: "bytes", Maximum: int64(o.Most), Actual: int64(o.Most) + 1, AtLeast: true,
			Advice: "print fewer rows at a time, or the table as JSON: one long cell makes all others of its column as wide"}
	}
	return t.aligner.out, nil
}

// head sets the columns.
func (t *printed) head(columns []metav1.TableColumnDefinition) {
	add := func(name string, hidden bool) {
		if !hidden {
			t.last = len(t.columns)
		}
		t.columns, t.hidden = append(t.columns, strings.ToUpper(name)), append(t.hidden, hidden)
	}
	if t.o.Namespaces {
		add("Namespace", false)
	}
	for i := range columns {
		c := &columns[i]
		if t.name < 0 && t.o.Kind != "" && c.Format == "name" && c.Type == "string" {
			t.name = i
		}
		add(c.Name, c.Priority != 0 && !t.o.Wide)
	}
	for _, label := range t.o.LabelColumns {
		add(label[strings.LastIndexByte(label, '/')+1:], false)
	}
	if t.o.Labels {
		add("Labels", false)
	}
}

// read returns the cells of a row, including kubectl's own columns, which it fills from the row's object.
func (t *printed) read(row []byte) ([]cell, error) {
	d := value.Acquire()
	defer d.Release()
	root, err := d.Parse(row, value.Request, value.Limits{MaxBytes: max(len(row), 1)})
	if err != nil {
		return nil, err
	}
	list := d.Field(root, "cells")
	cells := make([]cell, 0, d.Len(list)+len(t.columns)-t.given)
	if t.o.Namespaces {
		cells = append(cells, cell{null: true})
	}
	first := len(cells)
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		cells = append(cells, read(d, c))
	}
	if at := first + t.name; t.name >= 0 && at < len(cells) {
		cells[at] = cell{text: strings.ToLower(t.o.Kind) + "/" + cells[at].text}
	}
	object := d.Field(root, "object")
	if d.Nodes[object].Kind != value.Object {
		// kubectl tries to fill the row with empty cells but adds only half of them.
		if len(t.o.LabelColumns) > 0 || t.o.Labels || t.o.Namespaces || t.name >= 0 {
			for j := 0; j < len(t.columns)-len(cells); j++ {
				cells = append(cells, cell{null: true})
			}
		}
		return cells, nil
	}
	metadata := d.Field(object, "metadata")
	if t.o.Namespaces {
		cells[0] = cell{text: stringField(d, metadata, "namespace")}
	}
	labels := d.Field(metadata, "labels")
	for _, name := range t.o.LabelColumns {
		cells = append(cells, cell{text: stringField(d, labels, name)})
	}
	if t.o.Labels {
		cells = append(cells, cell{text: formatLabels(d, labels)})
	}
	return cells, nil
}

// read returns a cell as fmt prints the value that kubectl decodes.
func read(d *value.Doc, i uint32) cell {
	switch d.Nodes[i].Kind {
	case value.Null:
		return cell{null: true}
	case value.String:
		return cell{text: strings.Clone(d.Str(i))}
	case value.Int:
		return cell{text: strconv.FormatInt(d.Int(i), 10)}
	case value.Float:
		return cell{text: strconv.FormatFloat(d.Float(i), 'g', -1, 64)}
	case value.False, value.True:
		return cell{text: strconv.FormatBool(d.Nodes[i].Kind == value.True)}
	}
	return cell{text: string(d.AppendCanonical(nil, i))} // servers do not return lists and objects for custom resources
}

func stringField(d *value.Doc, object uint32, name string) string {
	if c := d.Field(object, name); c != 0 && d.Nodes[c].Kind == value.String {
		return strings.Clone(d.Str(c))
	}
	return ""
}

// formatLabels returns labels in the syntax of a label selector.
func formatLabels(d *value.Doc, labels uint32) string {
	var list []string
	if d.Nodes[labels].Kind == value.Object {
		for c := d.Nodes[labels].First; c != 0; c = d.Nodes[c].Next {
			text := ""
			if d.Nodes[c].Kind == value.String {
				text = d.Str(c)
			}
			list = append(list, d.Key(c)+"="+text)
		}
	}
	if len(list) == 0 {
		return "<none>"
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// print prints the rows of one chunk. kubectl pads the first line to the width of all columns, because it flushes
// early. It counts bytes there, while column widths count runes.
func (t *printed) print(rows [][]cell, noHeaders bool) {
	widest := make([]int, len(t.columns))
	for _, row := range rows {
		for i := range row[:min(len(row), len(widest))] {
			if !t.hidden[i] {
				widest[i] = max(widest[i], len(row[i].text))
			}
		}
	}
	if !noHeaders {
		t.line = t.line[:0]
		first := true
		for i, name := range t.columns {
			if t.hidden[i] {
				continue
			}
			if !first {
				t.line = append(t.line, '\t')
			}
			first = false
			t.line = append(t.line, name...)
			if i != t.last {
				t.pad(widest[i] - len(name))
			}
		}
		t.aligner.write(append(t.line, '\n'))
	}
	for k, row := range rows {
		t.line = t.line[:0]
		first := true
		for i := range row[:min(len(row), len(widest))] {
			if t.hidden[i] {
				continue
			}
			if !first {
				t.line = append(t.line, '\t')
			}
			first = false
			t.line = appendCellText(t.line, row[i].text)
			if noHeaders && k == 0 && i != t.last {
				t.pad(widest[i] - len(row[i].text))
			}
		}
		t.aligner.write(append(t.line, '\n'))
		if (k+1)%flushedRows == 0 {
			t.aligner.flush()
		}
	}
}

func (t *printed) pad(n int) {
	for ; n > 0; n-- {
		t.line = append(t.line, ' ')
	}
}

// appendCellText appends a cell up to its first line break, with dots if there is one. Escape characters, which could
// control a terminal, are written as ^[.
func appendCellText(dst []byte, text string) []byte {
	line := text
	if i := strings.IndexAny(text, "\f\n\r"); i >= 0 {
		line = text[:i]
	}
	for {
		i := strings.IndexByte(line, '\x1b')
		if i < 0 {
			break
		}
		dst = append(append(dst, line[:i]...), "^["...)
		line = line[i+1:]
	}
	dst = append(dst, line...)
	if strings.ContainsAny(text, "\f\n\r") {
		dst = append(dst, "..."...)
	}
	return dst
}
