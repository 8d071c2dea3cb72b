package publish

import (
	"context"
	"encoding/json"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TextOptions are the options of `kubectl get`. The zero value is the default of kubectl. Its fields are:
//
//   - Wide bool: add columns with a priority other than 0 (-o wide).
//   - NoHeaders bool: omit the headings (--no-headers).
//   - Namespaces bool: add a first column of namespaces (--all-namespaces), except for cluster-scoped objects.
//   - Labels bool: add a last column of labels (--show-labels).
//   - LabelColumns []string: labels with columns of their own (--label-columns).
//   - ShowKind bool: print names as crontab.stable.example.com/name (--show-kind).
//   - ChunkSize int: how many rows kubectl requests at a time (--chunk-size), which decides the widths of columns. 0 is
//     500, and a negative number prints all rows as one chunk.
//   - MaxBytes int: the bound of the text. 0 or less means 64 MiB.
type TextOptions = table.TextOptions

// Text returns what `kubectl get` prints for the table, byte for byte. A table without rows prints nothing, not even
// headings. Namespaces and labels are those of the objects in the rows, so they are empty with RowNone.
func (t *Table) Text(ctx context.Context, o TextOptions) (_ []byte, err error) {
	defer host.Recover(&err)
	o.Namespaces = o.Namespaces && t.scope == apiextensionsv1.NamespaceScoped
	return tableText(ctx, t.columns, len(t.ends), t.Row, t.kind, o)
}

// TableText prints the JSON of a meta.k8s.io/v1 Table as Table.Text does. kind is what ShowKind prints:
// CronTab.stable.example.com. The error is an *engine.Error: INVALID_ARGUMENT for other JSON.
func TableText(ctx context.Context, table []byte, kind string, o TextOptions) (_ []byte, err error) {
	defer host.Recover(&err)
	var t struct {
		Kind    string                         `json:"kind"`
		Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
		Rows    []json.RawMessage              `json:"rows"`
	}
	if err := json.Unmarshal(table, &t); err != nil {
		return nil, failed(admission.InvalidArgument, "table", err)
	}
	if t.Kind != "Table" {
		return nil, invalid("table: it is of kind %q, not a Table", t.Kind)
	}
	return tableText(ctx, t.Columns, len(t.Rows), func(i int) []byte { return t.Rows[i] }, kind, o)
}

func tableText(ctx context.Context, columns []metav1.TableColumnDefinition, rows int, row func(int) []byte, kind string, o TextOptions) ([]byte, error) {
	text, err := table.Text(columns, rows, row, kind, o, interrupt.Of(ctx))
	var limit *tree.LimitError
	switch {
	case errors.As(err, &limit):
		return nil, limitExceeded(err.Error(), limit, err)
	case errors.Is(err, table.ErrStopped):
		return nil, compiled.Error(compiled.TooLate(ctx.Err()))
	case err != nil:
		return nil, failed(admission.InvalidArgument, "row of a table", err)
	}
	return text, nil
}
