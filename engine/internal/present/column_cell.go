package present

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/crdeval/crdeval/internal/value"
)

// exactIntegers is up to where a float64 holds every integer, and prints it with all digits.
const exactIntegers = 1 << 53

// appendCell appends the cell of a column for a value, as JSON. A value of another type than the column's is null, but everything has a
// text for a column of strings. more is a buffer for texts, and is returned for the next.
//
// Upstream: tableconvertor.go cellForJSONValue, and JSONPath.PrintResults for strings.
func (w *walk) appendCell(dst []byte, kind columnKind, it item, now time.Time, more []byte) (cell, buffer []byte) {
	if kind == stringColumn {
		return w.appendText(dst, it, more)
	}
	s := w.path.scalar(w.d, it)
	switch {
	case kind == integerColumn && s.kind == intScalar && it.made == 0: // an integer in the path itself is of a Go type that columns do not know
		return strconv.AppendInt(dst, s.i, 10), more
	case kind == integerColumn && s.kind == floatScalar:
		return strconv.AppendInt(dst, int64(s.f), 10), more
	case kind == numberColumn && s.kind == intScalar && it.made == 0:
		if -exactIntegers <= s.i && s.i <= exactIntegers {
			return strconv.AppendInt(dst, s.i, 10), more
		}
		return value.AppendAny(dst, float64(s.i)), more
	case kind == numberColumn && s.kind == floatScalar:
		return value.AppendAny(dst, s.f), more
	case kind == booleanColumn && s.kind == boolScalar:
		return strconv.AppendBool(dst, s.b), more
	case kind == dateColumn && s.kind == stringScalar:
		dst = append(dst, '"')
		dst = appendSince(dst, s.s, now)
		return append(dst, '"'), more
	}
	return append(dst, "null"...), more
}

// appendText appends the text of a value as a JSON string: of a list or an object its JSON, of anything else what fmt prints of it.
func (w *walk) appendText(dst []byte, it item, more []byte) (cell, buffer []byte) {
	s := w.path.scalar(w.d, it)
	switch s.kind {
	case stringScalar:
		if it.made == 0 {
			return w.d.AppendJSON(dst, it.node), more
		}
		return value.AppendCanonicalString(dst, s.s), more
	case intScalar, uintScalar:
		dst = strconv.AppendInt(append(dst, '"'), s.i, 10)
		return append(dst, '"'), more
	case floatScalar:
		dst = strconv.AppendFloat(append(dst, '"'), s.f, 'g', -1, 64)
		return append(dst, '"'), more
	case boolScalar:
		dst = strconv.AppendBool(append(dst, '"'), s.b)
		return append(dst, '"'), more
	}
	if w.d.Nodes[it.node].Kind == value.Null {
		return append(dst, `"<no value>"`...), more
	}
	if !w.visit(int(w.d.Nodes[it.node].End-w.d.Nodes[it.node].Off) / membersPerVisit) {
		return dst, more
	}
	more = w.d.AppendCanonical(more[:0], it.node)
	return value.AppendCanonicalString(dst, unsafe.String(unsafe.SliceData(more), len(more))), more // it is copied before more changes
}
