package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/value"
)

// RowObject is what each row of a table has of its object: the API server's parameter includeObject.
type RowObject = table.RowObject

// The values of RowObject. The zero value is the API server's default.
const (
	RowMetadata = table.RowMetadata // a meta.k8s.io/v1 PartialObjectMetadata
	RowNone     = table.RowNone     // null
	RowWhole    = table.RowWhole    // the object
)

// DefaultTableBytes is the default of TableOptions.MaxBytes and TextOptions.MaxBytes.
const DefaultTableBytes = table.DefaultTableBytes

// TableOptions change a table. The zero value is the default of an API server.
type TableOptions struct {
	// Now is the time that ages refer to. The zero value is the time of the call.
	Now time.Time
	// Object selects what a row has besides its cells.
	Object RowObject
	// NoHeaders omits columnDefinitions from the JSON, as an API server does after the first event of a watch.
	// Table.Columns still has them.
	NoHeaders bool
	// Decoded says that objects of the table's version were read from the storage already, so they need no defaults.
	Decoded bool
	// ResourceVersion, Continue and RemainingItemCount are those of the list, for the table's metadata.
	ResourceVersion, Continue string
	RemainingItemCount        *int64
	// MaxBytes bounds the JSON of the table. Zero means DefaultTableBytes.
	MaxBytes int
}

// Table is the answer of an API server to `kubectl get`: objects as rows, with the columns of their CRD. It is
// immutable.
type Table struct {
	json    []byte
	first   int   // where the first row begins in json
	ends    []int // where each row ends
	columns []metav1.TableColumnDefinition
	scope   Scope
	kind    string
}

// Table returns objects as a table at a served version, as an API server returns a list of them. Each object is read as
// Read does, unless it is Decoded, so it may be of any version that the CRD lists, and is then printed in the version's
// columns. The items of an object that has a list of items at its root are rows instead of the object.
//
// One object that cannot be printed fails the table, as it fails a list. The error is an *Error that names the object
// by its index. For OBJECT_REJECTED, Rejection is the API server's answer. API servers lack the bounds that
// LIMIT_EXCEEDED reports: 64 KiB for the paths of all columns, and for one object 4 Mi values that the paths visit and
// 8 MiB of cells as JSON; and TableOptions.MaxBytes.
func (d *Definition) Table(ctx context.Context, version string, objects []Document, o TableOptions) (_ *Table, err error) {
	defer Recover(&err)
	v, err := d.served(version)
	switch {
	case err != nil:
		return nil, err
	case o.Object > RowWhole:
		return nil, invalid("unknown object of a row: it is Metadata, None or Whole")
	case o.Now.IsZero():
		o.Now = time.Now()
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultTableBytes
	}
	t := &Table{columns: v.Columns.Headers(), scope: d.compiled.Scope, kind: d.compiled.Inner.Kind + "." + d.compiled.Inner.Group, ends: make([]int, 0, len(objects))}
	if err := t.begin(&o); err != nil {
		return nil, err
	}
	m := tableMaker{d: d, o: &o, table: t, rows: v.Columns.NewRows(d.tableTarget(ctx, v), o.Now)}
	m.request = admission.Request{Limits: d.compiled.Limits, Target: v.Name, Handler: true, Decoded: o.Decoded}
	ctx = d.compiled.ConvertAhead(ctx, v, m.request, len(objects), func(i int) compiled.Document { return compiled.Document(objects[i]) })
	m.request.Show = m.show
	var late error
	for i := range objects {
		if err := m.add(ctx, &objects[i]); err != nil {
			return nil, within(fmt.Sprintf("objects[%d]", i), tableError(err))
		}
		if late == nil && m.rows.Late != nil {
			late = within(fmt.Sprintf("objects[%d]", i), tableError(m.rows.Late))
		}
	}
	if late != nil {
		return nil, late
	}
	m.rows.Release() // not deferred: after a panic it must not go back into the pool
	t.json = append(t.json, "]}"...)
	return t, nil
}

// begin writes the JSON up to the first row.
func (t *Table) begin(o *TableOptions) (err error) {
	head := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: o.ResourceVersion, Continue: o.Continue, RemainingItemCount: o.RemainingItemCount},
		Rows:     []metav1.TableRow{},
	}
	if !o.NoHeaders {
		head.ColumnDefinitions = t.columns
	}
	if t.json, err = json.Marshal(&head); err != nil {
		return err
	}
	t.json = bytes.TrimSuffix(t.json, []byte("]}"))
	t.first = len(t.json)
	return nil
}

// tableMaker makes the rows of a table.
type tableMaker struct {
	d       *Definition
	o       *TableOptions
	table   *Table
	rows    *table.Rows
	request admission.Request
	err     error // of show
}

func (m *tableMaker) add(ctx context.Context, object *Document) (err error) {
	if m.request.Body, m.request.YAML, err = object.text("object"); err != nil {
		return err
	}
	if _, err = m.d.compiled.Inner.Read(ctx, &m.request); err == nil {
		err = m.err
	}
	return err
}

func (m *tableMaker) show(_ *admission.Version, tree admission.Tree) {
	t := m.table
	t.json, t.ends, m.err = m.rows.AppendRows(t.json, t.ends, tree.Doc, tree.Root, m.o.Object, tree.Stop)
	if m.err == nil && len(t.json) > m.o.MaxBytes {
		m.err = &value.LimitError{
			Name: "max_table_bytes", Limit: "table", Unit: "bytes", Maximum: int64(m.o.MaxBytes), Actual: int64(len(t.json)),
			AtLeast: true, Advice: "ask for fewer objects at a time, for rows without objects, or raise the limit",
		}
	}
}

// tableTarget returns what is needed to print the items of objects that are lists.
func (d *Definition) tableTarget(ctx context.Context, v *admission.Version) table.Target {
	t := table.Target{GroupVersion: schema.GroupVersion{Group: d.compiled.Inner.Group, Version: v.Name}}
	for _, own := range d.compiled.Inner.Versions {
		t.Versions = append(t.Versions, own.Name)
	}
	if d.compiled.ConvertsByWebhook() {
		t.Convert = func(of schema.GroupVersionKind, item []byte) ([]byte, error) {
			return d.compiled.Inner.ConvertItem(ctx, d.compiled.Limits, of, v, item)
		}
	}
	return t
}

// tableError returns the Error for the error of an object of a table.
func tableError(err error) error {
	var limit *value.LimitError
	switch {
	case errors.As(err, new(*Error)):
	case errors.As(err, new(*admission.Fault)):
		return faultError(err)
	case errors.As(err, &limit):
		return limitExceeded(err.Error(), limit, err)
	case errors.As(err, new(table.Rejection)):
		return &Error{Reason: ReasonObjectRejected, Message: err.Error(), Err: err, Rejection: &Rejection{Code: http.StatusInternalServerError, Message: err.Error()}}
	}
	return err
}

// Columns returns the columns, the implicit name first. The caller must not modify them.
func (t *Table) Columns() []metav1.TableColumnDefinition { return t.columns }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.ends) }

// Row returns a row as the JSON of a meta.k8s.io/v1 TableRow. The caller must not modify it.
func (t *Table) Row(i int) []byte {
	from := t.first
	if i > 0 {
		from = t.ends[i-1] + 1 // after a comma
	}
	return t.json[from:t.ends[i]:t.ends[i]]
}

// JSON returns the JSON of a meta.k8s.io/v1 Table. The caller must not modify it.
func (t *Table) JSON() []byte { return t.json }

// TextOptions are the options of `kubectl get`. The zero value is the default of kubectl.
type TextOptions = table.TextOptions

// Text returns what `kubectl get` prints for the table, byte for byte. A table without rows prints nothing, not even
// headings. Namespaces and labels are those of the objects in the rows, so they are empty with RowNone.
func (t *Table) Text(ctx context.Context, o TextOptions) (_ []byte, err error) {
	defer Recover(&err)
	o.Namespaces = o.Namespaces && t.scope == apiextensionsv1.NamespaceScoped
	return tableText(ctx, t.columns, len(t.ends), t.Row, t.kind, o)
}

// TableText prints the JSON of a meta.k8s.io/v1 Table as Table.Text does. kind is what ShowKind prints:
// CronTab.stable.example.com. The error is an *Error: INVALID_ARGUMENT for other JSON.
func TableText(ctx context.Context, table []byte, kind string, o TextOptions) (_ []byte, err error) {
	defer Recover(&err)
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
	return tableText(ctx, t.Columns, len(t.Rows), func(i int) []byte { return t.Rows[i] }, kind, o)
}

func tableText(ctx context.Context, columns []metav1.TableColumnDefinition, rows int, row func(int) []byte, kind string, o TextOptions) ([]byte, error) {
	text, err := table.Text(columns, rows, row, kind, o, interrupt.Of(ctx))
	var limit *value.LimitError
	switch {
	case errors.As(err, &limit):
		return nil, limitExceeded(err.Error(), limit, err)
	case errors.Is(err, table.ErrStopped):
		return nil, publicError(compiled.TooLate(ctx.Err()))
	case err != nil:
		return nil, failed(ReasonInvalidArgument, "row of a table", err)
	}
	return text, nil
}
