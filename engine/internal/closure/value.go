package closure

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types/ref"
)

// kind tells what a val holds.
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
	kindList          // word: offset and length of its elements in Frame.cells; of a constant, of: them, as *[]val
	kindMap           // word: offset and length of its keys and values, alternating, in Frame.cells
	kindRef           // of: a ref.Val of cel-go's: timestamps, types, quantities, URLs and so on
	kindNone          // an optional without a value
)

// val is a value of any kind, for what has no closure type of its own. It is passed in registers.
type val struct {
	kind kind
	wide bool // the string may have bytes outside ASCII; of a computed list: it is a union of sets or a merger of map lists, whose order does not matter
	opt  bool // it is an optional of this; optionals of optionals do not exist here
	word uint64
	text string
	of   any
}

// str is a string and whether its bytes must be counted to have its length in code points.
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
func spanVal(k kind, off, n int) val   { return val{kind: k, word: uint64(off)<<32 | uint64(n)} }
func (v val) node() (uint32, *Type)    { return uint32(v.word), v.of.(*Type) }
func (v val) float() float64           { return math.Float64frombits(v.word) }

// span is the elements of a computed list, or the keys and values of a computed map.
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

// store copies values behind the cells of the evaluation, and refuses when these are too many.
func (f *Frame) store(k kind, list []val) (val, bool) {
	if len(f.cells)+len(list) > maxCells {
		return val{}, false
	}
	off := len(f.cells)
	f.cells = append(f.cells, list...)
	return spanVal(k, off, len(list)), true
}
