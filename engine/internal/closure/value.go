package closure

import (
	"math"
	"time"
	"unicode/utf8"
	"unsafe"

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
	kindString        // word: twice the length, plus 1 if it may have bytes outside ASCII; of: the *byte of its first byte
	kindBytes         // as kindString
	kindDuration      // word: nanoseconds
	kindNode          // word: a list, a map or an object of the Doc; of: its *Type
	kindList          // word: offset and length of its elements in Frame.cells; of: the *[]val of a constant
	kindRef           // of: a ref.Val of cel-go: timestamps, types, quantities and so on
	kindNone          // an optional without a value
	kindEntries       // word: as kindList, for the values of a map that is a literal; of: its *entries

	// Shapes have these kinds too. kindList is there also for lists of the document, kindRef for timestamps, types and the
	// types of libraries.
	kindMap
	kindObject
	kindOptional
	kindDyn // anything
)

// val is a value of any kind. The compiler keeps structs of up to four fields and four words in registers.
type val struct {
	kind kind
	opt  bool // it is an optional of this value; there are no optionals of optionals
	word uint64
	of   any
}

// is reports whether the value has the kind and is not an optional.
func (v val) is(k kind) bool { return v.kind == k && !v.opt }

// chars returns the length of a string in code points.
func (v val) chars() uint64 {
	if v.wide() {
		return uint64(utf8.RuneCountInString(v.text()))
	}
	return v.word >> 1
}

// noneVal is an optional without a value.
var noneVal = val{kind: kindNone, opt: true}

func textVal(k kind, s string, wide bool) val {
	v := val{kind: k, word: uint64(len(s)) << 1, of: unsafe.StringData(s)}
	if wide {
		v.word++
	}
	return v
}

func boolVal(b bool) val {
	if b {
		return val{kind: kindBool, word: 1}
	}
	return val{kind: kindBool}
}

func intVal(i int64) val               { return val{kind: kindInt, word: uint64(i)} }
func doubleVal(d float64) val          { return val{kind: kindDouble, word: math.Float64bits(d)} }
func durationVal(d time.Duration) val  { return val{kind: kindDuration, word: uint64(d)} }
func stringVal(s string) val           { return textVal(kindString, s, wide(s)) }
func keyVal(s string) val              { return textVal(kindString, s, true) }
func nodeVal(node uint32, t *Type) val { return val{kind: kindNode, word: uint64(node), of: t} }
func refVal(r ref.Val) val             { return val{kind: kindRef, of: r} }
func (v val) wide() bool               { return v.word&1 != 0 }
func (v val) typ() *Type               { return v.of.(*Type) }
func (v val) node() (uint32, *Type)    { return uint32(v.word), v.typ() }
func (v val) ref() ref.Val             { return v.of.(ref.Val) }
func (v val) constants() []val         { return *v.of.(*[]val) }
func (v val) float() float64           { return math.Float64frombits(v.word) }

// text returns a string or bytes, "" for another value.
func (v val) text() string {
	if first, ok := v.of.(*byte); ok {
		return unsafe.String(first, v.word>>1)
	}
	return ""
}

// span returns the elements of a computed list.
func (v val) span(f *Frame) []val {
	if v.of != nil {
		return v.constants()
	}
	return f.cells[v.word>>32:][:uint32(v.word)]
}

// entries are the keys of a map that is a literal, sorted, and its values if they are constants.
type entries struct {
	keys      []string
	constants []val
}

// entries returns the values of a map that is a literal. An absent optional entry has the value none.
func (v val) entries(f *Frame) []val {
	if of := v.of.(*entries); of.constants != nil {
		return of.constants
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

// push adds an element to the list that is being made. It is false if lists have too many elements.
func (f *Frame) push(v val) bool {
	f.stack = append(f.stack, v)
	return len(f.stack) < maxCells
}

// store makes a list of the elements that were pushed since the stack had a length. It is false if lists have too many
// elements.
func (f *Frame) store(from int) (val, bool) {
	list, off := f.stack[from:], len(f.cells)
	if off+len(list) > maxCells {
		return val{}, false
	}
	f.cells = append(f.cells, list...)
	clear(list)
	f.stack = f.stack[:from]
	return val{kind: kindList, word: uint64(off)<<32 | uint64(len(list))}, true
}
