package publish

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// RowObject is what each row of a table has of its object: the API server's parameter includeObject.
type RowObject = table.RowObject

// The values of RowObject. The zero value is the API server's default.
const (
	RowMetadata = table.RowMetadata // a meta.k8s.io/v1 PartialObjectMetadata
	RowNone     = table.RowNone     // null
	RowWhole    = table.RowWhole    // the object
)

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
	// MaxBytes bounds the JSON of the table. 0 or less means 64 MiB.
	MaxBytes int
}

// Table is the answer of an API server to `kubectl get`: objects as rows, with the columns of their CRD. It is
// immutable.
type Table struct {
	json    []byte
	first   int   // where the first row begins in json
	ends    []int // where each row ends
	columns []metav1.TableColumnDefinition
	scope   apiextensionsv1.ResourceScope
	kind    string
}

// TableOf returns objects as a table at a served version, as an API server returns a list of them. Each object is read as
// engine.Definition.Read does, unless it is Decoded, so it may be of any version that the CRD lists, and is then printed in the version's
// columns. The items of an object that has a list of items at its root are rows instead of the object.
//
// One object that cannot be printed fails the table, as it fails a list. The error is an *engine.Error that names the object
// by its index. For OBJECT_REJECTED, Rejection is the API server's answer. API servers lack the bounds that
// LIMIT_EXCEEDED reports: 64 KiB for the paths of all columns, and for one object 4 Mi values that the paths visit and
// 8 MiB of cells as JSON; and TableOptions.MaxBytes.
func TableOf(ctx context.Context, d *engine.Definition, version string, objects []engine.Document, o TableOptions) (
	_ *Table, err error) {
	defer host.Recover(&err)
	c := compiled.Of(d)
	v, err := c.Served(version)
	switch {
	case err != nil:
		return nil, compiled.Error(err)
	case o.Object > RowWhole:
		return nil, invalid("unknown object of a row: it is Metadata, None or Whole")
	case o.Now.IsZero():
		o.Now = time.Now()
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = table.DefaultTableBytes
	}
	t := &Table{
		columns: v.Columns.Headers(), scope: c.Scope, kind: d.Kind() + "." + d.Group(), ends: make([]int, 0, len(objects)),
	}
	if err := t.begin(&o); err != nil {
		return nil, err
	}
	m := tableMaker{c: c, o: &o, table: t, rows: v.Columns.NewRows(tableTarget(ctx, c, v), o.Now)}
	m.request = admission.Request{Limits: c.Limits, Target: v.Name, Handler: true, Decoded: o.Decoded}
	ctx = c.ConvertAhead(ctx, v, m.request, len(objects), func(i int) compiled.Document { return compiled.Document(objects[i]) })
	m.request.Show = m.show
	var late error
	for i := range objects {
		if err := m.add(ctx, objects[i]); err != nil {
			return nil, compiled.Error(compiled.Within(fmt.Sprintf("objects[%d]", i), compiled.TableFault(err)))
		}
		if late == nil && m.rows.Late != nil {
			late = compiled.Within(fmt.Sprintf("objects[%d]", i), compiled.TableFault(m.rows.Late))
		}
	}
	if late != nil {
		return nil, compiled.Error(late)
	}
	m.rows.Release() // not deferred: after a panic it must not go back into the pool
	t.json = append(t.json, "]}"...)
	return t, nil
}

// begin writes the JSON up to the first row.
func (t *Table) begin(o *TableOptions) (err error) {
	columns := t.columns
	if o.NoHeaders {
		columns = nil
	}
	t.json, err = table.Begin(columns, metav1.ListMeta{
		ResourceVersion: o.ResourceVersion, Continue: o.Continue, RemainingItemCount: o.RemainingItemCount,
	})
	t.first = len(t.json)
	return err
}

// tableMaker makes the rows of a table.
type tableMaker struct {
	c       *compiled.Definition
	o       *TableOptions
	table   *Table
	rows    *table.Rows
	request admission.Request
	err     error // of show
}

func (m *tableMaker) add(ctx context.Context, object engine.Document) (err error) {
	if m.request.Body, m.request.YAML, err = compiled.Document(object).Text("object"); err != nil {
		return err
	}
	if _, err = m.c.Inner.Read(ctx, &m.request); err == nil {
		err = m.err
	}
	return err
}

func (m *tableMaker) show(_ *admission.Version, row admission.Tree) {
	t := m.table
	t.json, t.ends, m.err = m.rows.AppendRows(t.json, t.ends, row.Doc, row.Root, m.o.Object, row.Stop)
	if m.err == nil && len(t.json) > m.o.MaxBytes {
		m.err = &tree.LimitError{
			Name: "max_table_bytes", Limit: "table", Unit: "bytes", Maximum: int64(m.o.MaxBytes), Actual: int64(len(t.json)),
			AtLeast: true, Advice: "ask for fewer objects at a time, for rows without objects, or raise the limit",
		}
	}
}

// tableTarget returns what is needed to print the items of objects that are lists.
func tableTarget(ctx context.Context, c *compiled.Definition, v *admission.Version) table.Target {
	t := table.Target{GroupVersion: schema.GroupVersion{Group: c.Inner.Group, Version: v.Name}}
	for _, own := range c.Inner.Versions {
		t.Versions = append(t.Versions, own.Name)
	}
	if c.ConvertsByWebhook() {
		t.Convert = func(of schema.GroupVersionKind, item []byte) ([]byte, error) {
			return c.Inner.ConvertItem(ctx, c.Limits, of, v, item)
		}
	}
	return t
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
