package table

import (
	"math"
	"strconv"
	"time"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

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
		return tree.AppendAny(dst, float64(s.Int))
	case kind == "number" && s.Kind == jsonpath.Float:
		return tree.AppendAny(dst, s.Float)
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
		return tree.AppendCanonicalString(dst, s.Text)
	case jsonpath.Int, jsonpath.Uint:
		return append(strconv.AppendInt(append(dst, '"'), s.Int, 10), '"')
	case jsonpath.Float:
		return append(strconv.AppendFloat(append(dst, '"'), s.Float, 'g', -1, 64), '"')
	case jsonpath.Bool:
		return append(strconv.AppendBool(append(dst, '"'), s.Bool), '"')
	}
	n := &r.d.Nodes[v.Node]
	if n.Kind == tree.Null {
		return append(dst, `"<no value>"`...)
	}
	if !r.paths.Visit(int(n.End-n.Off) / jsonpath.MembersPerVisit) {
		return dst
	}
	r.buffer = r.d.AppendCanonical(r.buffer[:0], v.Node)
	// The string is copied before the buffer changes.
	return tree.AppendCanonicalString(dst, unsafe.String(unsafe.SliceData(r.buffer), len(r.buffer)))
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

// ages holds the units of durations below a bound, those of their remainders, 0 for none, and the letters of both.
var ages = [...]struct {
	below, unit, rest time.Duration
	letters           string
}{
	{2 * time.Minute, time.Second, 0, "s"}, {10 * time.Minute, time.Minute, time.Second, "ms"},
	{3 * time.Hour, time.Minute, 0, "m"}, {8 * time.Hour, time.Hour, time.Minute, "hm"}, {2 * day, time.Hour, 0, "h"},
	{8 * day, day, time.Hour, "dh"}, {2 * year, day, 0, "d"}, {8 * year, year, day, "yd"}, {math.MaxInt64, year, 0, "y"},
}

const day, year = 24 * time.Hour, 365 * 24 * time.Hour

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
	dst = append(strconv.AppendInt(dst, int64(d/a.unit), 10), a.letters[0])
	if a.rest != 0 && d%a.unit/a.rest > 0 {
		dst = append(strconv.AppendInt(dst, int64(d%a.unit/a.rest), 10), a.letters[1])
	}
	return dst
}
