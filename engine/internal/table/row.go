package table

import (
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// RowObject selects the content of a row's object field.
type RowObject uint8

// The values of RowObject. The zero value is the default of an API server.
const (
	RowMetadata RowObject = iota // a PartialObjectMetadata
	RowNone                      // null
	RowWhole                     // the object
)

// MaxRowBytes bounds the JSON of the cells of one object, or of all rows of a list object, in bytes. Upstream has no
// such bound, and a CRD may have any number of columns that each contain the whole object.
const MaxRowBytes = 8 << 20

// Rejection is an error that an API server would return instead of a table, as an internal error.
type Rejection string

// Error returns the API server's text.
func (r Rejection) Error() string { return string(r) }

// ErrStopped reports that the signal fired.
var ErrStopped = errors.New("stopped")

// Rows builds the rows of one table. It is not safe for concurrent use. Call Release after use.
type Rows struct {
	d       *tree.Doc
	paths   jsonpath.Evaluation
	columns *Columns
	now     time.Time
	target  Target
	states  []jsonpath.RangeState // states of columns with ranges
	fresh   jsonpath.RangeState   // state for all other columns, which do not change it
	buffer  []byte
	bytes   int   // size of the current object's rows so far
	ends    []int // end offsets of the rows so far
	// Late is the first error in converting the object of a row, or nil: a Rejection or that of Target.Convert.
	// Upstream converts objects after building all rows, so check Late last, if no row failed.
	Late error
}

var rowsPool = sync.Pool{New: func() any { return new(Rows) }}

// NewRows starts a table in which ages are relative to now.
func (c *Columns) NewRows(t Target, now time.Time) *Rows {
	c.once.Do(c.compile)
	r := rowsPool.Get().(*Rows)
	r.columns, r.target, r.now = c, t, now
	if c.ranges {
		r.states = append(r.states[:0], make([]jsonpath.RangeState, len(c.columns))...)
	}
	return r
}

// Release returns the memory to a pool. Appended rows do not refer to it.
func (r *Rows) Release() {
	r.paths.Release()
	if cap(r.buffer) > 1<<20 {
		r.buffer = nil
	}
	r.d, r.columns, r.target, r.Late, r.bytes, r.ends, r.buffer = nil, nil, Target{}, nil, 0, nil, r.buffer[:0]
	rowsPool.Put(r)
}

// AppendRow appends the row of an object as a TableRow in JSON without the object: {"cells":["x",1],"object":null}. It
// appends nothing for an object with a list of items, which upstream treats as a list; use AppendRows. The signal may
// be nil. The error is a *tree.LimitError, ErrStopped or a Rejection.
func (c *Columns) AppendRow(dst []byte, d *tree.Doc, root uint32, now time.Time, s *interrupt.Signal) ([]byte, error) {
	if isList(d, root) != 0 {
		return dst, nil
	}
	r := c.NewRows(Target{}, now)
	r.begin(d, s)
	out, err := r.appendCells(dst, root)
	r.Release()
	if err != nil {
		return dst, err
	}
	return append(out, `,"object":null}`...), nil
}

// AppendRows appends the rows of an object as TableRows in JSON, comma-separated from each other and from the rows
// in ends. It appends the end of each row to ends. There is one row, unless upstream treats the object as a list. The
// object must be as stored, at the version of the table. Errors are those of AppendRow; dst and ends are then returned
// unchanged.
//
// Upstream: apimachinery pkg/api/meta/table MetaToTableRow, apiserver pkg/endpoints/handlers/response.go asTable.
func (r *Rows) AppendRows(dst []byte, ends []int, d *tree.Doc, root uint32, object RowObject, s *interrupt.Signal) (rows []byte, marks []int, err error) {
	r.begin(d, s)
	r.ends = ends
	rows = dst
	if isList(d, root) == 0 {
		if rows, err = r.appendCells(r.next(rows), root); err == nil {
			rows = appendObject(rows, d, root, object)
			r.ends = append(r.ends, len(rows))
		}
	} else {
		rows, err = r.appendItems(rows, root, object)
	}
	if err != nil {
		return dst, ends, err
	}
	return rows, r.ends, nil
}

// AppendCells appends the row of an object that is not a list, up to the end of its cells: {"cells":["x",1]. Errors are
// those of AppendRow.
func (r *Rows) AppendCells(dst []byte, d *tree.Doc, root uint32) ([]byte, error) {
	r.begin(d, nil)
	return r.appendCells(dst, root)
}

// begin starts the rows of an object.
func (r *Rows) begin(d *tree.Doc, s *interrupt.Signal) {
	r.paths.Begin(d, s, jsonpath.MaxVisits)
	r.d, r.bytes = d, 0
}

// next appends the separator before a row.
func (r *Rows) next(dst []byte) []byte {
	if len(r.ends) > 0 {
		return append(dst, ',')
	}
	return dst
}

// isList returns the items of an object that upstream treats as a list, or 0.
func isList(d *tree.Doc, object uint32) uint32 {
	if items := d.Field(object, "items"); items != 0 && d.Nodes[items].Kind == tree.Array {
		return items
	}
	return 0
}

// appendItems appends the rows of all items of a list, including nested lists.
func (r *Rows) appendItems(dst []byte, list uint32, object RowObject) ([]byte, error) {
	d := r.d
	var err error
	for c := d.Nodes[isList(d, list)].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case !r.paths.Visit(1):
			return dst, r.why("")
		case d.Nodes[c].Kind != tree.Object:
			return dst, Rejection("items member is not an object: map[string]interface {}")
		case isList(d, c) != 0:
			dst, err = r.appendItems(dst, c, object)
		default:
			dst, err = r.appendItem(dst, c, object)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendCells appends the beginning of a row up to the end of its cells.
func (r *Rows) appendCells(dst []byte, root uint32) ([]byte, error) {
	if r.columns.fault != nil {
		return dst, r.columns.fault
	}
	d, from := r.d, len(dst)
	dst = append(dst, `{"cells":[`...)
	if name := d.Field(d.Field(root, "metadata"), "name"); name != 0 && d.Nodes[name].Kind == tree.String {
		dst = d.AppendJSON(dst, name)
	} else {
		dst = append(dst, `""`...)
	}
	for i := range r.columns.columns {
		path, state, header := r.columns.columns[i], &r.fresh, &r.columns.headers[i+1]
		if path.Ranges {
			state = &r.states[i]
		}
		dst = append(dst, ',')
		if v, ok := r.paths.First(path, root, state); ok {
			dst = r.appendCell(dst, header.Type, v)
		} else {
			dst = append(dst, "null"...)
		}
		if r.paths.Ended != jsonpath.Continues {
			return dst, r.why(header.Name)
		}
		if r.bytes+len(dst)-from > MaxRowBytes {
			return dst, r.tooLarge("cells of one object")
		}
	}
	return append(dst, ']'), nil
}

// why returns the error for an evaluation that ended early.
func (r *Rows) why(column string) error {
	switch r.paths.Ended {
	case jsonpath.Exhausted:
		return &tree.LimitError{Name: "max_column_visits", Limit: fmt.Sprintf("work of the JSONPaths up to the column %q", column), Unit: "visited values", Maximum: jsonpath.MaxVisits, Actual: jsonpath.MaxVisits + 1, AtLeast: true,
			Advice: "make the paths in the CRD's additionalPrinterColumns more specific, without .. and filters within filters, or send a smaller object"}
	case jsonpath.Panics:
		return Rejection("This request caused apiserver to panic. Look in the logs for details.")
	}
	return ErrStopped
}

func (r *Rows) tooLarge(what string) error {
	return &tree.LimitError{Name: "max_row_bytes", Limit: what, Unit: "bytes", Maximum: MaxRowBytes, Actual: MaxRowBytes + 1, AtLeast: true,
		Advice: "make the paths in the CRD's additionalPrinterColumns more specific, so that they show less of the object"}
}

const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`

// endOfInitialEvents is the annotation of the bookmark that ends the initial events of a watch. Rows of such an object
// include its metadata even for RowNone.
const endOfInitialEvents = metav1.InitialEventsAnnotationKey

// appendObject appends the rest of a row of an object with coerced metadata, which prints as ObjectMeta does.
func appendObject(dst []byte, d *tree.Doc, root uint32, object RowObject) []byte {
	dst = append(dst, `,"object":`...)
	metadata := d.Field(root, "metadata")
	if object == RowNone {
		if a := d.Field(d.Field(metadata, "annotations"), endOfInitialEvents); a == 0 || d.Nodes[a].Kind != tree.String || d.Str(a) != "true" {
			return append(dst, "null}"...)
		}
	}
	switch {
	case object == RowWhole:
		return append(d.AppendJSON(dst, root), '}')
	case d.Nodes[metadata].Kind != tree.Object: // also for missing metadata
		return append(append(dst, partial...), "{}}}"...)
	}
	dst = d.AppendJSON(append(dst, partial...), metadata)
	return append(dst, "}}"...)
}
