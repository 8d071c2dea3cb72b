package table

import (
	"strconv"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/value"
)

// exactIntegers is the largest magnitude up to which a float64 represents every integer and prints all its digits.
const exactIntegers = 1 << 53

// appendCell appends the cell of a column as JSON. A value of another type than the column's is null, but a column of
// strings accepts every value.
//
// Upstream: tableconvertor.go cellForJSONValue, and JSONPath.PrintResults for strings.
func (r *Rows) appendCell(dst []byte, kind columnKind, v jsonpath.Value) []byte {
	if kind == stringColumn {
		return r.appendText(dst, v)
	}
	s := r.paths.Scalar(v)
	switch {
	// An integer literal of the path has a Go type that columns do not support.
	case kind == integerColumn && s.Kind == jsonpath.Int && v.IsNode():
		return strconv.AppendInt(dst, s.Int, 10)
	case kind == integerColumn && s.Kind == jsonpath.Float:
		return strconv.AppendInt(dst, int64(s.Float), 10)
	case kind == numberColumn && s.Kind == jsonpath.Int && v.IsNode():
		if -exactIntegers <= s.Int && s.Int <= exactIntegers {
			return strconv.AppendInt(dst, s.Int, 10)
		}
		return value.AppendAny(dst, float64(s.Int))
	case kind == numberColumn && s.Kind == jsonpath.Float:
		return value.AppendAny(dst, s.Float)
	case kind == booleanColumn && s.Kind == jsonpath.Bool:
		return strconv.AppendBool(dst, s.Bool)
	case kind == dateColumn && s.Kind == jsonpath.String:
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
