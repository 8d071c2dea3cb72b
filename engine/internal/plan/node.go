package plan

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Node is one compiled schema node of one CRD version. It is immutable after Compile and safe for concurrent use. Nodes
// are hash-consed: equal sub-schemas of a version are one Node, so a Node does not know its position. Walks build paths
// and schema pointers. Rules are part of a node's identity.
//
// A node is either on the spine (reached by Props, Items and Additional only) or below a logical operator (AllOf,
// AnyOf, OneOf or Not). Spine nodes shape and validate objects. Nodes below logical operators only validate, with the
// slots that the spine node filled.
type Node struct {
	Flags Flags
	kinds kindSet // kinds that accept takes without a doubt, apart from formats and bounds
	maybe kindSet // kinds that accept doubts (1.0 as an integer)
	guess uint16  // where Doc.Guesses has the slots of the node's first member, and of those after each member

	// Type is the declared type: object, array, string, integer, number, boolean, or "" (preserve-unknown-fields,
	// int-or-string, below logical operators). Types returns what kube-openapi's validators use.
	Type string

	// Names are the declared properties, sorted by bytes, and Props their nodes. On the spine the index is the slot:
	// Doc.Slots[base+i] is the member's node, or 0. Names of spine nodes are distinct.
	Names []string
	Props []*Node
	// Additional is the schema of additionalProperties. It is nil for true, false and absent; see AdditionalTrue and
	// AdditionalFalse.
	Additional *Node
	// Items is the schema of array elements, or nil.
	Items *Node

	// Valid holds the value validations other than Type and Nullable, or nil.
	Valid *Validation
	// Default is the prepared default, or nil. A default of null is nil.
	Default *Default
	// Rules are the compiled x-kubernetes-validations, or nil. They are nil below logical operators.
	Rules *rule.Set

	*details // what few nodes have; never nil
}

// details are the parts that few nodes have. Nodes without them share noDetails.
type details struct {
	// Slots maps Props to the slots of the spine node, for nodes below logical operators. NoSlot: the spine does not
	// declare the property, so the member is looked up by name.
	Slots []uint16
	// ListKeys are x-kubernetes-list-map-keys in their order. They apply if ListMap is set.
	ListKeys []ListKey

	defaulted []uint16 // the slots of nodes with a default
}

var noDetails details

// Flags are boolean properties of a node. The flags "Below" are set if they hold for the node or for any spine node
// below it.
type Flags uint32

// The flags of a node.
const (
	Nullable        Flags = 1 << iota // nullable: true
	IntOrString                       // x-kubernetes-int-or-string, which has the types integer and string
	Embedded                          // x-kubernetes-embedded-resource
	Root                              // the resource root: apiVersion, kind and metadata are not pruned, and validated elsewhere
	Preserve                          // x-kubernetes-preserve-unknown-fields: true
	KeepUnknown                       // undeclared members stay: Preserve, or an item (of items…) of a Preserve array
	KeepAll                           // nothing at or below is pruned: declared apiVersion, kind, metadata of a root or embedded resource
	AdditionalTrue                    // additionalProperties: true; members stay, and everything below them is pruned
	AdditionalFalse                   // additionalProperties: false
	ListSet                           // x-kubernetes-list-type: set
	ListMap                           // x-kubernetes-list-type: map
	Logical                           // below a logical operator: validates, never shapes

	DefaultsBelow  // a property, item or map value here or below has a default
	EmbeddedBelow  // an embedded resource here or below
	ListTypesBelow // a set or map list here or below
	RulesBelow     // a rule here or below
)

var intOrString = []string{"integer", "string"}

// types has for each type the list of it, the kinds of values that accept takes, those that it doubts, and the formats
// of numbers.
var types = map[string]struct {
	name        any // a string
	list        []string
	sure, maybe kindSet
	formats     []string
}{
	"object": {name: "object", list: []string{"object"}, sure: 1 << tree.Object},
	"array":  {name: "array", list: []string{"array"}, sure: 1 << tree.Array},
	"string": {name: "string", list: []string{"string"}, sure: 1 << tree.String},
	"integer": {name: "integer", list: []string{"integer"}, sure: 1 << tree.Int, maybe: 1 << tree.Float,
		formats: []string{"int32", "int64"}},
	"number": {name: "number", list: []string{"number"}, sure: 1<<tree.Int | 1<<tree.Float,
		formats: []string{"float", "double"}},
	"boolean": {name: "boolean", list: []string{"boolean"}, sure: 1<<tree.False | 1<<tree.True},
}

// Has reports whether all bits of f are set.
func (n *Node) Has(f Flags) bool { return n.Flags&f == f }

// Types returns the types that kube-openapi's validators use: none, the declared one, or integer and string for
// int-or-string. If the plan was compiled ForDefaults, int-or-string has no type.
func (n *Node) Types() []string {
	switch {
	case n.Has(IntOrString):
		return intOrString
	case n.Type == "":
		return nil
	}
	if t, known := types[n.Type]; known {
		return t.list
	}
	return []string{n.Type} // a schema that is not structural may declare any type
}

// Child returns the node that validates the member with the name: that of the declared property, or Additional.
func (n *Node) Child(name string) *Node {
	if n == nil {
		return nil
	}
	return n.child(n.find(name))
}

func (n *Node) child(slot int, declared bool) *Node {
	if declared {
		return n.Props[slot]
	}
	return n.Additional
}

// NoSlot in Node.Slots and Required.Slot: the spine has no such property.
const NoSlot = ^uint16(0)

// Validation holds the value validations of a node. Pointers are nil if the keyword is absent.
type Validation struct {
	Minimum, Maximum, MultipleOf       *float64
	ExclusiveMinimum, ExclusiveMaximum bool
	UniqueItems                        bool   // of v1beta1 schemas that are not structural
	MinLength, MaxLength               *int64 // in code points
	MinItems, MaxItems                 *int64
	MinProperties, MaxProperties       *int64
	Pattern                            *pattern.Pattern
	Enum                               *Enum
	Format                             string    // as written; "" for formats that this Kubernetes version does not know
	FormatID                           format.ID // format.None if kube-openapi does not know Format
	Required                           []Required

	*Operators // never nil

	number numberCheck
}

// Operators are the parts of validations that few nodes have. Nodes without them share noOperators.
type Operators struct {
	AllOf, AnyOf, OneOf []*Node
	Not                 *Node
	Legacy              *Legacy // nil for structural schemas
}

var noOperators Operators

// Required is one entry of the required list, in the list's order. Duplicates are kept.
type Required struct {
	Name string
	Slot uint16 // on the spine node; NoSlot if it does not declare the name
}

// ListKey is one entry of x-kubernetes-list-map-keys.
type ListKey struct {
	Name string
	Slot uint16 // on the items' node; NoSlot if it does not declare the name
}

// Enum is the enum of a node. Values are as kube-openapi compares and prints them: string, bool, int64, float64, nil,
// []any, map[string]any.
type Enum struct {
	Values []any

	strings           []string // distinct string values, sorted
	ints              []int64
	floats            []float64
	hasTrue, hasFalse bool
	compound          bool // there is an array or object among the values
}

// Legacy holds keywords of schemas that are not structural: CRDs that were written as v1beta1 with
// preserveUnknownFields. Plans with any of them never accept.
type Legacy struct {
	PatternProperties []PatternProperty // sorted by pattern
	Dependencies      []Dependency      // sorted by name
	ItemList          []*Node           // items as an array of schemas
	AdditionalItems   *Node
	// AdditionalItemsSet says that additionalItems is present, AdditionalItemsAllowed is its boolean.
	AdditionalItemsSet, AdditionalItemsAllowed bool
}

// PatternProperty is one entry of patternProperties.
type PatternProperty struct {
	Pattern *pattern.Pattern
	Node    *Node
}

// Dependency is one entry of dependencies: a schema, or names of properties.
type Dependency struct {
	Name  string
	Node  *Node
	Names []string
}

// Default is a default of the schema, pruned (defaulting.PruneDefaults) and with the defaults of its declared
// properties filled in. It needs no further defaulting.
type Default struct {
	// Fragment is the argument of Doc.Graft. Its sources are those of the plan (tree.Defaults).
	Fragment *tree.Fragment
	raw      []byte // as in the schema
	// Nulls says that the value contains a null. Such nulls are never dropped, since defaulting comes after
	// PruneNonNullableNulls.
	Nulls bool
}

// kindSet is a bit set of tree.Kinds.
type kindSet uint8

const anyKind kindSet = 0xff

func (s kindSet) has(k tree.Kind) bool { return s>>k&1 != 0 }

// find returns the slot of a declared property. Lengths tell most of a few names apart.
func (n *Node) find(name string) (slot int, declared bool) {
	if len(n.Names) > 8 {
		return slices.BinarySearch(n.Names, name)
	}
	slot = slices.Index(n.Names, name)
	return slot, slot >= 0
}

// slotAfter is find for a member of an object. after is the slot of the declared member before it, plus one, and is
// set for the next member. Members usually have the order of the previous object.
func (n *Node) slotAfter(d *tree.Doc, after *uint16, name string) (slot int, declared bool) {
	guess := &d.Guesses[(n.guess+*after)%tree.MaxGuesses]
	if slot = int(*guess); slot >= len(n.Names) || n.Names[slot] != name {
		if slot, declared = n.find(name); !declared {
			return slot, false
		}
		*guess = uint16(slot)
	}
	*after = uint16(slot) + 1
	return slot, true
}
