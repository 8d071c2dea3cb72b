package engine

import (
	"context"
	"encoding/json"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/value"
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

func (o *TextOptions) inner() table.TextOptions {
	most := o.MaxBytes
	if most <= 0 {
		most = DefaultTableBytes
	}
	return table.TextOptions{
		Most: most, Wide: o.Wide, NoHeaders: o.NoHeaders, Namespaces: o.Namespaces, Labels: o.Labels, LabelColumns: o.LabelColumns, Chunk: o.ChunkSize,
	}
}

// Text returns what `kubectl get` prints for the table, byte for byte. A table without rows prints nothing, not even
// headings. Namespaces and labels are those of the objects in the rows, so RowNone has none.
func (t *Table) Text(ctx context.Context, o TextOptions) (_ []byte, err error) {
	defer recovered(&err)
	inner := o.inner()
	inner.Namespaces = o.Namespaces && t.scope == apiextensionsv1.NamespaceScoped
	if o.ShowKind {
		inner.Kind = t.kind
	}
	return tableText(ctx, t.columns, len(t.ends), t.Row, inner)
}

// TableText prints the JSON of a meta.k8s.io/v1 Table as Table.Text does. kind is what ShowKind prints:
// CronTab.stable.example.com. The error is an *Error: INVALID_ARGUMENT for other JSON.
func TableText(ctx context.Context, table []byte, kind string, o TextOptions) (_ []byte, err error) {
	defer recovered(&err)
	var t struct {
		Kind    string                         `json:"kind"`
		Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
		Rows    []json.RawMessage              `json:"rows"`
	}
	if err := json.Unmarshal(table, &t); err != nil {
		return nil, failed(ReasonInvalidArgument, "table", err)
	}
	if t.Kind != "Table" {
		return nil, invalid("table: it is of kind %q, not a Table", t.Kind)
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
		return nil, failed(ReasonInvalidArgument, "row of a table", err)
	}
	return text, nil
}
