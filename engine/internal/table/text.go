package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/liggitt/tabwriter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TextOptions are the options of `kubectl get`. The zero value is the default of kubectl.
type TextOptions struct {
	// Wide adds columns with a priority other than 0: -o wide.
	Wide bool
	// NoHeaders omits the headings: --no-headers.
	NoHeaders bool
	// Namespaces adds a first column of namespaces: --all-namespaces. Like kubectl, Table.Text omits it for
	// cluster-scoped objects.
	Namespaces bool
	// Labels adds a last column of labels: --show-labels.
	Labels bool
	// LabelColumns are labels with columns of their own: --label-columns.
	LabelColumns []string
	// ShowKind prints names as crontab.stable.example.com/name: --show-kind.
	ShowKind bool
	// ChunkSize is the number of rows that kubectl requests at a time: --chunk-size. kubectl prints a hundred rows at a
	// time, as wide as the chunks so far need, so rows before a wider chunk are not aligned with it. Zero means
	// kubectl's 500. A negative number prints all rows as one chunk.
	ChunkSize int
	// MaxBytes bounds the text, since one long cell widens all cells of its column. Zero means DefaultTableBytes.
	MaxBytes int
}

// DefaultTableBytes is the default of TextOptions.MaxBytes.
const DefaultTableBytes = 64 << 20

// kubectlChunk is kubectl's default for ChunkSize.
const kubectlChunk = 500

// flushedRows is the number of rows of a chunk that kubectl prints at a time, with the column widths known by then.
const flushedRows = 100

// printed is the state of printing one table.
type printed struct {
	o       *TextOptions
	kind    string
	columns []string // headings
	hidden  []bool   // hidden by priority
	last    int      // last visible column, or -1
	name    int      // column that gets kind, or -1
	writer  *tabwriter.Writer
	line    []byte
}

// bounded is a text of at most max bytes. Writes beyond fail.
type bounded struct {
	text []byte
	max  int
}

var errFull = errors.New("the text is too long")

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.max {
		return 0, errFull
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// Text returns a table as kubectl prints it. Rows are TableRows in JSON. kind, such as crontab.stable.example.com in
// any case, is what ShowKind prints. The error is ErrStopped, a *tree.LimitError if the text is too long, or the parse
// error of a row.
//
// Upstream: cli-runtime pkg/printers/tableprinter.go and tabwriter.go; kubectl pkg/cmd/get.
func Text(columns []metav1.TableColumnDefinition, rows int, row func(int) []byte, kind string, o TextOptions, s *interrupt.Signal) ([]byte, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultTableBytes
	}
	out := &bounded{max: o.MaxBytes}
	t := &printed{o: &o, kind: kind, last: -1, name: -1}
	t.writer = tabwriter.NewWriter(out, 6, 4, 3, ' ', tabwriter.RememberWidths)
	t.head(columns)
	chunk := cmp.Or(o.ChunkSize, kubectlChunk)
	if chunk < 0 {
		chunk = max(rows, 1)
	}
	var err error
	for from := 0; from < rows && err == nil; from += min(chunk, rows-from) {
		cells := make([][]string, 0, min(chunk, rows-from))
		for i := from; i < rows && i-from < chunk; i++ {
			if i%flushedRows == 0 && s.Stopped() {
				return nil, ErrStopped
			}
			c, err := t.read(row(i))
			if err != nil {
				return nil, err
			}
			cells = append(cells, c)
		}
		err = t.print(cells, from > 0 || o.NoHeaders)
	}
	if err == nil {
		err = t.writer.Flush()
	}
	if err != nil {
		return nil, &tree.LimitError{Name: "max_table_bytes", Limit: "text of the table", Unit: "bytes", Maximum: int64(o.MaxBytes), Actual: int64(o.MaxBytes) + 1, AtLeast: true,
			Advice: "print fewer rows at a time, or the table as JSON: one long cell makes all others of its column as wide"}
	}
	return out.text, nil
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
		if t.name < 0 && t.o.ShowKind && t.kind != "" && c.Format == "name" && c.Type == "string" {
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
func (t *printed) read(row []byte) ([]string, error) {
	var r struct {
		Cells  []any          `json:"cells"`
		Object map[string]any `json:"object"`
	}
	if err := utiljson.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	object, cells := unstructured.Unstructured{Object: r.Object}, make([]string, 0, len(t.columns))
	if t.o.Namespaces {
		cells = append(cells, object.GetNamespace())
	}
	for i, cell := range r.Cells {
		text := ""
		if cell != nil {
			text = fmt.Sprint(cell)
		}
		if i == t.name {
			text = strings.ToLower(t.kind) + "/" + text
		}
		cells = append(cells, text)
	}
	if r.Object == nil {
		// kubectl tries to fill the row with empty cells but adds only half of them.
		if len(t.o.LabelColumns) > 0 || t.o.Labels || t.o.Namespaces || t.name >= 0 {
			for j := 0; j < len(t.columns)-len(cells); j++ {
				cells = append(cells, "")
			}
		}
		return cells, nil
	}
	own := object.GetLabels()
	for _, name := range t.o.LabelColumns {
		cells = append(cells, own[name])
	}
	if t.o.Labels {
		cells = append(cells, labels.FormatLabels(own))
	}
	return cells, nil
}

// print prints the rows of one chunk. kubectl pads the first line to the width of all columns, because it flushes
// early. It counts bytes there, while column widths count runes.
func (t *printed) print(rows [][]string, noHeaders bool) error {
	widest := make([]int, len(t.columns))
	for _, row := range rows {
		for i := range row[:min(len(row), len(widest))] {
			if !t.hidden[i] {
				widest[i] = max(widest[i], len(row[i]))
			}
		}
	}
	write := func(cells []string, heading, first bool) error {
		t.line = t.line[:0]
		for i, text := range cells[:min(len(cells), len(widest))] {
			if t.hidden[i] {
				continue
			}
			if heading {
				t.line = append(t.line, text...)
			} else {
				t.line = appendCellText(t.line, text)
			}
			if first && i != t.last {
				for range widest[i] - len(text) {
					t.line = append(t.line, ' ')
				}
			}
			t.line = append(t.line, '\t')
		}
		_, err := t.writer.Write(append(bytes.TrimSuffix(t.line, []byte{'\t'}), '\n'))
		return err
	}
	if !noHeaders {
		if err := write(t.columns, true, true); err != nil {
			return err
		}
	}
	for k, row := range rows {
		if err := write(row, false, noHeaders && k == 0); err != nil {
			return err
		}
		if (k+1)%flushedRows == 0 {
			if err := t.writer.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
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
