// Package table builds the table rows that an API server returns for custom resources, and prints tables as kubectl
// does.
package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/value"
)

// Columns holds the columns of a version's tables. It is compiled when the first row is built, because most versions
// are never printed. It is safe for concurrent use.
type Columns struct {
	additional []apiextensionsv1.CustomResourceColumnDefinition
	once       sync.Once

	headers []metav1.TableColumnDefinition
	// columns holds the paths of the columns after the name.
	columns []*jsonpath.Path
	// fault is the error of all rows, or nil: a *value.LimitError.
	fault error
	// ranges is set if a path has a range, so that rows depend on earlier ones.
	ranges bool
}

// maxPaths bounds the JSONPaths of all columns of a version, in bytes. Upstream has no such bound. Parsing this much
// takes half a second and is recursive.
const maxPaths = 64 << 10

// descriptions holds the field descriptions of ObjectMeta for the columns Name and Age.
var descriptions = metav1.ObjectMeta{}.SwaggerDoc()

// ageColumn is the only column after the name if a version declares none.
var ageColumn = []apiextensionsv1.CustomResourceColumnDefinition{
	{Name: "Age", Type: "date", Description: descriptions["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
}

// CompileColumns returns the columns for the additional printer columns of a version, which it retains. It adds a
// column Name before them, or Name and Age if there are none. As on a server, a column whose JSONPath cannot be parsed
// and all columns after it are omitted.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor New, pkg/apiserver/helpers.go.
func CompileColumns(additional []apiextensionsv1.CustomResourceColumnDefinition) *Columns {
	if len(additional) == 0 {
		additional = ageColumn
	}
	return &Columns{additional: additional}
}

func (c *Columns) compile() {
	c.headers = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"]}}
	total := int64(0)
	for i := range c.additional {
		a := &c.additional[i]
		if total += int64(len(a.JSONPath)); total > maxPaths {
			c.fault = &value.LimitError{Name: "max_column_path_bytes", Limit: fmt.Sprintf("JSONPaths up to the column %q", a.Name), Unit: "bytes", Maximum: maxPaths, Actual: total, AtLeast: true,
				Advice: "shorten the paths in the CRD's additionalPrinterColumns"}
			break
		}
		p, err := jsonpath.Parse(a.Name, a.JSONPath)
		if err != nil {
			break
		}
		description := a.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + a.JSONPath
		}
		c.headers = append(c.headers, metav1.TableColumnDefinition{
			Name: a.Name, Type: a.Type, Format: a.Format, Description: description, Priority: a.Priority,
		})
		c.columns = append(c.columns, p)
		c.ranges = c.ranges || p.Ranges
	}
	c.headers, c.columns = slices.Clip(c.headers), slices.Clip(c.columns)
}

// Headers returns the definitions of the columns, starting with the name. The caller must not change them.
func (c *Columns) Headers() []metav1.TableColumnDefinition {
	c.once.Do(c.compile)
	return c.headers
}

// Size returns the approximate number of bytes that the compiled columns retain.
func (c *Columns) Size() int64 {
	const (
		columnsSize = 512       // including the name column
		columnSize  = 120 + 120 // as declared and as returned
		perByte     = 50        // of a path
	)
	n, total := int64(columnsSize), 0
	for i := range c.additional {
		a := &c.additional[i]
		n += columnSize + int64(len(a.Name)+len(a.Type)+len(a.Format)+len(a.Description)+2*len(a.JSONPath))
		if total += len(a.JSONPath); total <= maxPaths && jsonpath.PlainNames(a.JSONPath) == nil {
			n += perByte * int64(len(a.JSONPath))
		}
	}
	return n
}

// exactIntegers is the largest magnitude up to which a float64 represents every integer and prints all its digits.
const exactIntegers = 1 << 53

// appendCell appends the cell of a column as JSON. A value of another type than the column's is null, but a column of
// strings accepts every value.
//
// Upstream: tableconvertor.go cellForJSONValue, and JSONPath.PrintResults for strings.
func (r *Rows) appendCell(dst []byte, kind string, v jsonpath.Value) []byte {
	if kind == "string" {
		return r.appendText(dst, v)
	}
	s := r.paths.Scalar(v)
	switch {
	// An integer literal of the path has a Go type that columns do not support.
	case kind == "integer" && s.Kind == jsonpath.Int && v.IsNode():
		return strconv.AppendInt(dst, s.Int, 10)
	case kind == "integer" && s.Kind == jsonpath.Float:
		return strconv.AppendInt(dst, int64(s.Float), 10)
	case kind == "number" && s.Kind == jsonpath.Int && v.IsNode():
		if -exactIntegers <= s.Int && s.Int <= exactIntegers {
			return strconv.AppendInt(dst, s.Int, 10)
		}
		return value.AppendAny(dst, float64(s.Int))
	case kind == "number" && s.Kind == jsonpath.Float:
		return value.AppendAny(dst, s.Float)
	case kind == "boolean" && s.Kind == jsonpath.Bool:
		return strconv.AppendBool(dst, s.Bool)
	case kind == "date" && s.Kind == jsonpath.String:
		return append(appendSince(append(dst, '"'), s.Text, r.now), '"')
	}
	return append(dst, "null"...)
}

// appendText appends the text of a value as a JSON string: JSON for a list or an object, else the output of fmt.
func (r *Rows) appendText(dst []byte, v jsonpath.Value) []byte {
	s := r.paths.Scalar(v)
	switch s.Kind {
	case jsonpath.String:
		if v.IsNode() {
			return r.d.AppendJSON(dst, v.Node)
		}
		return value.AppendCanonicalString(dst, s.Text)
	case jsonpath.Int, jsonpath.Uint:
		return append(strconv.AppendInt(append(dst, '"'), s.Int, 10), '"')
	case jsonpath.Float:
		return append(strconv.AppendFloat(append(dst, '"'), s.Float, 'g', -1, 64), '"')
	case jsonpath.Bool:
		return append(strconv.AppendBool(append(dst, '"'), s.Bool), '"')
	}
	n := &r.d.Nodes[v.Node]
	if n.Kind == value.Null {
		return append(dst, `"<no value>"`...)
	}
	if !r.paths.Visit(int(n.End-n.Off) / jsonpath.MembersPerVisit) {
		return dst
	}
	r.buffer = r.d.AppendCanonical(r.buffer[:0], v.Node)
	// The string is copied before the buffer changes.
	return value.AppendCanonicalString(dst, unsafe.String(unsafe.SliceData(r.buffer), len(r.buffer)))
}

// appendSince appends the age of a time as a server prints it in a table: "<unknown>" for no time, "<invalid>" for an
// invalid or future time.
//
// Upstream: metav1.Time.UnmarshalQueryParameter, meta/table ConvertToHumanReadableDateType.
func appendSince(dst []byte, text string, now time.Time) []byte {
	if text == "" || text == "null" {
		return append(dst, "<unknown>"...)
	}
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return append(dst, "<invalid>"...)
	case t.IsZero():
		return append(dst, "<unknown>"...)
	}
	return appendAge(dst, now.Sub(t))
}

// ages holds the units of durations below a bound, and those of their remainders, 0 for none.
var ages = [...]struct{ below, unit, rest time.Duration }{
	{2 * time.Minute, time.Second, 0}, {10 * time.Minute, time.Minute, time.Second}, {3 * time.Hour, time.Minute, 0},
	{8 * time.Hour, time.Hour, time.Minute}, {2 * day, time.Hour, 0}, {8 * day, day, time.Hour}, {2 * year, day, 0},
	{8 * year, year, day}, {math.MaxInt64, year, 0},
}

const day, year = 24 * time.Hour, 365 * 24 * time.Hour

var unitLetters = map[time.Duration]byte{time.Second: 's', time.Minute: 'm', time.Hour: 'h', day: 'd', year: 'y'}

// appendAge appends a duration in one unit, or in two if one is too coarse: 119s, 2m, 9m59s, 179m, 3h, 7h59m, 47h, 2d,
// 7d23h, 729d, 2y, 7y364d.
//
// Upstream: apimachinery pkg/util/duration HumanDuration.
func appendAge(dst []byte, d time.Duration) []byte {
	switch {
	case d <= -2*time.Second:
		return append(dst, "<invalid>"...) // tolerates a clock skew of less than 2s
	case d < 0:
		return append(dst, "0s"...)
	}
	i := 0
	for i < len(ages)-1 && d >= ages[i].below {
		i++
	}
	a := &ages[i]
	dst = append(strconv.AppendInt(dst, int64(d/a.unit), 10), unitLetters[a.unit])
	if a.rest != 0 && d%a.unit/a.rest > 0 {
		dst = append(strconv.AppendInt(dst, int64(d%a.unit/a.rest), 10), unitLetters[a.rest])
	}
	return dst
}
