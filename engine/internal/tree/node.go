package tree

import "fmt"

// Kind is the JSON kind of a node. As in upstream (k8s.io/apimachinery/pkg/util/json), an integer literal within int64
// is an Int, and every other number is a Float.
type Kind uint8

// The kinds of a node.
const (
	Null Kind = iota
	False
	True
	Int
	Float
	String
	Array
	Object
)

// Source identifies one of the byte slices that node offsets refer to.
type Source uint8

// The sources of a Doc.
const (
	Request  Source = iota // the text of the request
	Arena                  // text created by the Doc: unescaped strings, rewritten metadata
	Defaults               // defaults of the compiled plan
	Old                    // the old object of an update
)

// Flags are properties of one node.
type Flags uint8

// The flags of a node.
const (
	Escaped Flags = 1 << iota // a string with escapes: its content is in the Arena at Val
	Wide                      // a string with bytes outside ASCII
	Dirty                     // an Array or Object with edits below it: its text cannot be copied
	Lossy                     // text here or below that upstream prints differently: 1.0, invalid UTF-8, duplicate keys
	Slotted                   // an Object whose members are in Doc.Slots from index Val
	Spaced                    // an Array or Object of a text with white space between tokens: printed without it
)

// printedAnew are the flags of values whose text is not copied on output.
const printedAnew = Dirty | Lossy | Spaced

// Node is one JSON value. The nodes of a Doc form trees in one array, in pre-order as parsed. First and Next are
// indexes into Doc.Nodes; 0 means none. Edits relink nodes and never move them.
type Node struct {
	Kind   Kind
	Flags  Flags
	Src    Source // source of Off and End
	KeySrc Source // source of Key; Arena if the key was written with escapes
	KeyLen uint32
	Key    uint32 // offset of the member's key without quotes; for an array element, its index in the input
	Next   uint32 // next sibling
	First  uint32 // first member or element
	Off    uint32 // source text, including quotes and brackets: Off to End
	End    uint32
	Live   uint32 // containers: current number of members
	Val    uint64 // Int: the int64; Float: its bits; Escaped: Arena offset<<32 | length; Slotted: base in Doc.Slots
}

// String returns the name of the kind in JSON schemas.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case False, True:
		return "boolean"
	case Int:
		return "integer"
	case Float:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
