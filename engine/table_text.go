package engine

import (
	"context"
	"encoding/json"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/internal/value"
)

// TextOptions say how kubectl prints a table. The zero value is a plain `kubectl get`.
type TextOptions struct {
	// Wide shows columns of a priority other than 0 as well: -o wide.
	Wide bool
	// NoHeaders leaves the line of headings out: --no-headers.
	NoHeaders bool
	// Namespaces puts a column of namespaces first: --all-namespaces. For objects without namespaces Table.Text leaves it out, as kubectl does.
	Namespaces bool
	// Labels puts a column of labels last: --show-labels.
	Labels bool
	// LabelColumns are labels that get columns of their own: --label-columns.
	LabelColumns []string
	// ShowKind writes names as crontab.stable.example.com/name: --show-kind.
	ShowKind bool
	// ChunkSize is how many rows kubectl asks the server for at a time: --chunk-size. It prints a hundred rows at a time, as wide as the chunks need that it has got by then, so
	// that rows before a wider chunk are not aligned with it. Zero is kubectl's 500; a negative number prints all rows as one chunk, aligned throughout.
	ChunkSize int
	// MaxBytes bounds the text: one long cell makes all others of its column as wide. Zero is DefaultTableBytes.
	MaxBytes int
}

func (o *TextOptions) inner() table.TextOptions {
	most := o.MaxBytes
	if most <= 0 {
		most = DefaultTableBytes
	}
	return table.TextOptions{
		Most: most, Wide: o.Wide, NoHeaders: o.NoHeaders, Namespaces: o.Namespaces, Labels: o.Labels, LabelColumns: o.LabelColumns, Chunk: o.ChunkSize,
	}
}

// Text is the table as `kubectl get` prints it, byte for byte. A table without rows prints nothing, not even headings. Namespaces and labels are taken from the objects in the
// rows, as kubectl takes them: with RowNone there are none.
func (t *Table) Text(ctx context.Context, o TextOptions) (_ []byte, err error) {
	defer recovered(&err)
	inner := o.inner()
	inner.Namespaces = o.Namespaces && t.scope == apiextensionsv1.NamespaceScoped
	if o.ShowKind {
		inner.Kind = t.kind
	}
	return tableText(ctx, t.columns, len(t.ends), t.Row, inner)
}

// TableText prints the JSON of a meta.k8s.io/v1 Table, for instance one that crdeval or an API server answered, as Table.Text does; kind, CronTab.stable.example.com, is
// what ShowKind writes. The error is an *Error, INVALID_ARGUMENT for what is no Table.
func TableText(ctx context.Context, table []byte, kind string, o TextOptions) (_ []byte, err error) {
	defer recovered(&err)
	var t struct {
		Kind    string                         `json:"kind"`
		Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
		Rows    []json.RawMessage              `json:"rows"`
	}
	if err := json.Unmarshal(table, &t); err != nil {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "table: " + err.Error(), Err: err}
	}
	if t.Kind != "Table" {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "table: it is of kind \"" + t.Kind + "\", not a Table"}
	}
	inner := o.inner()
	if o.ShowKind {
		inner.Kind = kind
	}
	return tableText(ctx, t.Columns, len(t.Rows), func(i int) []byte { return t.Rows[i] }, inner)
}

func tableText(ctx context.Context, columns []metav1.TableColumnDefinition, rows int, row func(int) []byte, o table.TextOptions) ([]byte, error) {
	text, err := table.AppendText(nil, columns, rows, row, o, interrupt.On(ctx.Done()))
	var limit *value.LimitError
	switch {
	case errors.As(err, &limit):
		return nil, tableError(limit)
	case errors.Is(err, table.ErrStopped):
		return nil, tooLate(ctx.Err())
	case err != nil:
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "row of a table: " + err.Error(), Err: err}
	}
	return text, nil
}
