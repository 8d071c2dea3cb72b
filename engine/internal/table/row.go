package table

import (
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/value"
)

// RowObject says what a row of a table holds of its object.
type RowObject uint8

// The values of RowObject. The zero value is a server's default.
const (
	RowMetadata RowObject = iota // a PartialObjectMetadata
	RowNone                      // null
	RowWhole                     // the object
)

// MaxRowBytes is how many bytes of JSON the cells of one object may take, and of an object that is a list its rows. Upstream has no such bound: a CRD may
// have as many columns as it likes, each with all of the object.
const MaxRowBytes = 8 << 20

// errRejected is the kind of the errors that say what an API server would answer in place of a table.
var errRejected = errors.New("refused")

// rejection is an error in an API server's words.
type rejection string

func (r rejection) Error() string { return string(r) }

func (rejection) Is(target error) bool { return target == errRejected }

// Rejected reports whether an error of AppendRow or AppendRows is what an API server would answer, as an internal error.
func Rejected(err error) bool { return errors.Is(err, errRejected) }

// ErrStopped says that nobody waits for the row any more.
var ErrStopped = errors.New("stopped")

// Rows makes the rows of one table. It is used by one goroutine; Release gives it back.
type Rows struct {
	d       *value.Doc
	paths   jsonpath.Evaluation
	columns *Columns
	now     time.Time
	target  Target
	states  []jsonpath.RangeState // of the columns with ranges
	fresh   jsonpath.RangeState   // of any other, which does not change it
	buffer  []byte
	bytes   int   // of the rows of the object so far
	ends    []int // of the rows of the table so far
	late    error // of the first item that cannot be converted
}

var rowsPool = sync.Pool{New: func() any { return new(Rows) }}

// NewRows begins a table as of a moment.
func (c *Columns) NewRows(t Target, now time.Time) *Rows {
	c.once.Do(c.compile)
	r := rowsPool.Get().(*Rows)
	r.columns, r.target, r.now = c, t, now
	if c.ranges {
		r.states = append(r.states[:0], make([]jsonpath.RangeState, len(c.columns))...)
	}
	return r
}

// Release gives the memory back. Nothing was kept of it in what was appended.
func (r *Rows) Release() {
	r.paths.Release()
	if cap(r.buffer) > 1<<20 {
		r.buffer = nil
	}
	*r = Rows{paths: r.paths, states: r.states[:0], buffer: r.buffer[:0]}
	rowsPool.Put(r)
}

// AppendRow appends the row of an object as a TableRow in JSON, without the object: {"cells":["x",1],"object":null}. An object that upstream takes
// for a list, since it has a list of items, has no row of its own: nothing is appended, and AppendRows has its rows. The signal may be nil. The error is a
// *value.LimitError, ErrStopped, or one of Rejected.
func (c *Columns) AppendRow(dst []byte, d *value.Doc, root uint32, now time.Time, s *interrupt.Signal) ([]byte, error) {
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

// AppendRows appends the rows of an object as TableRows in JSON, with commas between them and behind those that ends names, and to ends where each of them
// ends: one, unless upstream takes the object for a list. The object is as it was read from storage, at the version of the table. Errors are those
// of AppendRow, and leave dst and ends as they were.
//
// Upstream: apimachinery pkg/api/meta/table MetaToTableRow, apiserver pkg/endpoints/handlers/response.go asTable.
func (r *Rows) AppendRows(dst []byte, ends []int, d *value.Doc, root uint32, object RowObject, s *interrupt.Signal) (rows []byte, marks []int, err error) {
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

// Late is why rows cannot hold an object as they should, nil mostly: it is one of Rejected, or ErrNeedsWebhook. Upstream makes all rows before it sees to their objects, so
// whoever makes a table asks when there are all rows, and nothing else failed.
func (r *Rows) Late() error { return r.late }

// begin begins the rows of an object.
func (r *Rows) begin(d *value.Doc, s *interrupt.Signal) {
	r.paths.Begin(d, s, jsonpath.MaxVisits)
	r.d, r.bytes = d, 0
}

// next appends what stands between rows.
func (r *Rows) next(dst []byte) []byte {
	if len(r.ends) > 0 {
		return append(dst, ',')
	}
	return dst
}

// isList is the list of items of an object that upstream takes for a list, 0 of any other.
func isList(d *value.Doc, object uint32) uint32 {
	if items := d.Field(object, "items"); items != 0 && d.Nodes[items].Kind == value.Array {
		return items
	}
	return 0
}

// appendItems appends the rows of all items of a list, and of theirs.
func (r *Rows) appendItems(dst []byte, list uint32, object RowObject) ([]byte, error) {
	d := r.d
	var err error
	for c := d.Nodes[isList(d, list)].First; c != 0; c = d.Nodes[c].Next {
		switch {
		case !r.paths.Visit(1):
			return dst, r.why("")
		case d.Nodes[c].Kind != value.Object:
			return dst, rejection("items member is not an object: map[string]interface {}")
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

// appendCells appends the beginning of a row up to its cells.
func (r *Rows) appendCells(dst []byte, root uint32) ([]byte, error) {
	if r.columns.fault != nil {
		return dst, r.columns.fault
	}
	d, from := r.d, len(dst)
	dst = append(dst, `{"cells":[`...)
	if name := d.Field(d.Field(root, "metadata"), "name"); name != 0 && d.Nodes[name].Kind == value.String {
		dst = d.AppendJSON(dst, name)
	} else {
		dst = append(dst, `""`...)
	}
	for i := range r.columns.columns {
		c := &r.columns.columns[i]
		dst = append(dst, ',')
		it, ok := r.find(i, root)
		switch {
		case r.paths.Ended != jsonpath.Continues:
			return dst, r.why(c.name)
		case !ok:
			dst = append(dst, "null"...)
		default:
			dst = r.appendCell(dst, c.kind, it)
		}
		if r.paths.Ended != jsonpath.Continues {
			return dst, r.why(c.name)
		}
		if r.bytes+len(dst)-from > MaxRowBytes {
			return dst, r.tooLarge("cells of one object")
		}
	}
	return append(dst, ']'), nil
}

// find returns what a column shows of an object: the first value of its path.
func (r *Rows) find(i int, root uint32) (v jsonpath.Value, ok bool) {
	p, state := r.columns.columns[i].path, &r.fresh
	if p.Ranges {
		state = &r.states[i]
	}
	return r.paths.First(p, root, state)
}

// why is the error of a walk that ended.
func (r *Rows) why(column string) error {
	switch r.paths.Ended {
	case jsonpath.Exhausted:
		return &value.LimitError{Name: "max_column_visits", Limit: fmt.Sprintf("way of the JSONPaths up to the column %q", column), Unit: "visited values", Maximum: jsonpath.MaxVisits, Actual: jsonpath.MaxVisits + 1, AtLeast: true,
			Advice: "make the paths in the CRD's additionalPrinterColumns more specific, without .. and filters within filters, or send a smaller object"}
	case jsonpath.Panics:
		return rejection("This request caused apiserver to panic. Look in the logs for details.")
	}
	return ErrStopped
}

func (r *Rows) tooLarge(what string) error {
	return &value.LimitError{Name: "max_row_bytes", Limit: what, Unit: "bytes", Maximum: MaxRowBytes, Actual: MaxRowBytes + 1, AtLeast: true,
		Advice: "make the paths in the CRD's additionalPrinterColumns more specific, so that they show less of the object"}
}

const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`

// endOfInitialEvents is the annotation of bookmarks that end the first part of a watch. An object that has it shows its metadata even if nothing is asked for.
const endOfInitialEvents = metav1.InitialEventsAnnotationKey

// appendObject appends the rest of a row of an object whose metadata was coerced: that is what ObjectMeta prints.
func appendObject(dst []byte, d *value.Doc, root uint32, object RowObject) []byte {
	dst = append(dst, `,"object":`...)
	metadata := d.Field(root, "metadata")
	if object == RowNone {
		if a := d.Field(d.Field(metadata, "annotations"), endOfInitialEvents); a == 0 || d.Nodes[a].Kind != value.String || d.Str(a) != "true" {
			return append(dst, "null}"...)
		}
	}
	switch {
	case object == RowWhole:
		return append(d.AppendJSON(dst, root), '}')
	case d.Nodes[metadata].Kind != value.Object: // also if there is none
		return append(append(dst, partial...), "{}}}"...)
	}
	dst = d.AppendJSON(append(dst, partial...), metadata)
	return append(dst, "}}"...)
}
