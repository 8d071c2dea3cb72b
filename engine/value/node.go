package value

import "fmt"

// Kind is the JSON kind of a node. True and False are two kinds, and so are Int and Float: the split is upstream's
// (k8s.io/apimachinery/pkg/util/json): an integer literal within int64 is an Int, every other number a Float.
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

// Source names one of the byte slices that a node's offsets can refer to.
type Source uint8

// The sources of a Doc.
const (
	Request  Source = iota // the caller's own bytes
	Arena                  // what the Doc made itself: unescaped strings, rewritten metadata
	Defaults               // the program's defaults, parsed once at compile time
	Old                    // the old object of an update
)

// Flags are facts about one node.
type Flags uint8

// The flags of a node.
const (
	Escaped Flags = 1 << iota // a string whose content differs from its source text: it stands in the Arena, where Val says
	Wide                      // a string with bytes outside ASCII: its length in code points must be counted
	Dirty                     // an Array or Object below which something was removed, added or replaced: it cannot be copied
	Lossy                     // text that upstream would print otherwise (1.0, bad UTF-8, a duplicate key), here or below
	Slotted                   // an Object whose members stand in Doc.Slots, from Val on: a walk of the compiled program filled them
)

// Node is one JSON value. The nodes of a Doc are a tree in one array, in pre-order as parsed: First and Next are
// absolute indexes into Doc.Nodes, 0 means none (Nodes[0] is never a value). Removing, adding and replacing relink;
// nothing moves.
type Node struct {
	Kind   Kind
	Flags  Flags
	Src    Source // what Off and End refer to
	KeySrc Source // what Key refers to; Arena where the key was written with escapes
	KeyLen uint32
	Key    uint32 // offset of the member's key, without quotes; array element: its index in the input
	Next   uint32 // next sibling
	First  uint32 // first member or element
	Off    uint32 // raw text in its source, quotes and brackets included: Off to End
	End    uint32
	Live   uint32 // containers: members left after removals and additions
	Val    uint64 // Int: the int64; Float: its bits; Escaped string: Arena offset<<32 | length; containers: base in Doc.Slots
}

// String names the kind as JSON schemas do, for messages.
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
