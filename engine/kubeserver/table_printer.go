package kubeserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TablePrinter prints tables of objects of one version of a CRD that need not be compiled. It is safe for concurrent
// use.
type TablePrinter struct {
	columns *table.Columns
}

// NewTablePrinter returns the TablePrinter of a version of a CRD.
func NewTablePrinter(version *apiextensionsv1.CustomResourceDefinitionVersion) *TablePrinter {
	return &TablePrinter{table.CompileColumns(version.AdditionalPrinterColumns)}
}

const (
	sampledRows = 16      // after which the length of a table is estimated
	maxReserved = 4 << 20 // bytes that an estimate allocates, because later rows can be much shorter
)

// Print returns the JSON of a meta.k8s.io/v1 Table. The objects are decoded, of the version, and not lists of items.
// They may lack fields that no column reads. appendObject appends the object of row i, nil is for rows without objects.
// Decoded, Object and MaxBytes of the options are ignored. The error is that of publish.TableOf.
func (p *TablePrinter) Print(
	ctx context.Context, objects []engine.Document, o publish.TableOptions, appendObject func(dst []byte, i int) ([]byte, error),
) (_ []byte, err error) {
	defer host.Recover(&err)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	columns := p.columns.Headers()
	if o.NoHeaders {
		columns = nil
	}
	text, err := table.Begin(columns, metav1.ListMeta{
		ResourceVersion: o.ResourceVersion, Continue: o.Continue, RemainingItemCount: o.RemainingItemCount,
	})
	if err != nil {
		return nil, err
	}
	rows := p.columns.NewRows(table.Target{}, o.Now)
	for i := range objects {
		if ctx.Err() != nil {
			return nil, compiled.Error(compiled.TooLate(ctx.Err()))
		}
		if i > 0 {
			text = append(text, ',')
		}
		if i == sampledRows { // later rows are usually about as long
			text = slices.Grow(text, min(len(text)/sampledRows*(len(objects)-i)*9/8, maxReserved))
		}
		doc := tree.Acquire()
		root, err := compiled.Document(objects[i]).Parse(doc, "object", engine.Limits{})
		if err == nil {
			text, err = rows.AppendCells(text, doc, root)
		}
		if err != nil {
			return nil, compiled.Error(compiled.Within(fmt.Sprintf("objects[%d]", i), compiled.TableFault(err)))
		}
		doc.Release()
		text = append(text, `,"object":`...)
		if appendObject == nil {
			text = append(text, "null"...)
		} else if text, err = appendObject(text, i); err != nil {
			return nil, err
		}
		text = append(text, '}')
	}
	rows.Release() // not deferred: after a panic it must not go back into the pool
	return append(text, "]}"...), nil
}
