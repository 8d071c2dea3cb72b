package closure

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types/ref"
)

// kind is the type of a value.
type kind uint8

const (
	kindNull     kind = iota
	kindBool          // word: 0 or 1
	kindInt           // word: the int64
	kindUint          // word
	kindDouble        // word: the bits
	kindString        // text
	kindBytes         // text
	kindDuration      // word: nanoseconds
	kindNode          // word: a list, a map or an object of the Doc; of: its *Type
	kindList          // word: offset and length of its elements in Frame.cells; a constant has them in of, as *[]val
	kindRef           // of: a ref.Val of cel-go: timestamps, types, quantities and so on
	kindNone          // an optional without a value

	// Shapes have these kinds too. kindList is there also for lists of the document, kindRef for timestamps, types and the
	// types of libraries.
	kindMap
	kindObject
	kindOptional
	kindDyn // anything
)

// val is a value of any kind. It is passed in registers.
type val struct {
	kind kind
	wide bool // a string that may have bytes outside ASCII
	opt  bool // it is an optional of this value; there are no optionals of optionals
	word uint64
	text string
	of   any
}

// str is a string. wide means that its length in code points may differ from that in bytes.
type str struct {
	text string
	wide bool
}

func (s str) size() uint64 {
	if s.wide {
		return uint64(utf8.RuneCountInString(s.text))
	}
	return uint64(len(s.text))
}

func (v val) str() str { return str{v.text, v.wide} }

// noneVal is an optional without a value.
var noneVal = val{kind: kindNone, opt: true}

func boolVal(b bool) val {
	if b {
		return val{kind: kindBool, word: 1}
	}
	return val{kind: kindBool}
}

func intVal(i int64) val               { return val{kind: kindInt, word: uint64(i)} }
func doubleVal(d float64) val          { return val{kind: kindDouble, word: math.Float64bits(d)} }
func durationVal(d time.Duration) val  { return val{kind: kindDuration, word: uint64(d)} }
func stringVal(s string) val           { return val{kind: kindString, text: s, wide: wide(s)} }
func keyVal(s string) val              { return val{kind: kindString, text: s, wide: true} }
func nodeVal(node uint32, t *Type) val { return val{kind: kindNode, word: uint64(node), of: t} }
func refVal(r ref.Val) val             { return val{kind: kindRef, of: r} }
func (v val) node() (uint32, *Type)    { return uint32(v.word), v.of.(*Type) }
func (v val) float() float64           { return math.Float64frombits(v.word) }

// span returns the elements of a computed list.
func (v val) span(f *Frame) []val {
	if c, ok := v.of.(*[]val); ok {
		return *c
	}
	return f.cells[v.word>>32:][:uint32(v.word)]
}

func wide(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// store copies the elements of a list to the cells of the evaluation. It is false if they are too many.
func (f *Frame) store(list []val) (val, bool) {
	if len(f.cells)+len(list) > maxCells {
		return val{}, false
	}
	off := len(f.cells)
	f.cells = append(f.cells, list...)
	return val{kind: kindList, word: uint64(off)<<32 | uint64(len(list))}, true
}
