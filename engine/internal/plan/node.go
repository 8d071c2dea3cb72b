package plan

import (
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/internal/value"
)

// Node is one compiled schema node of one CRD version. It is immutable after Compile, shared without locks, and
// hash-consed: equal sub-schemas of a version are one Node, so a Node does not know its position. Everything that depends
// on the position (a path, a schema pointer) is built by the walk from the way it came; compiled rules belong to a node's
// identity, so that two positions share a node only if they share the rules.
//
// A node stands either on the spine (reached by Props, Items and Additional alone) or inside a junctor (below AllOf,
// AnyOf, OneOf or Not of a node). Spine nodes shape objects (prune, nulls, defaults, list types, embedded resources) and
// validate them; junctor nodes only validate, over the slots that the spine node filled.
type Node struct {
	Flags Flags
	kinds kindSet // kinds that accept may take here without a doubt, formats and bounds aside
	maybe kindSet // kinds that upstream may or may not take: accept doubts them (1.0 as an integer)

	// Type is the declared type: object, array, string, integer, number, boolean, or "" (preserve-unknown-fields,
	// int-or-string, junctors). Types gives what kube-openapi's validators see.
	Type string

	// Names are the declared properties in schema order (byte-wise), Props their nodes, index by index. On the spine the
	// index is the slot: Doc.Slots[base+i] is the member's node, 0 when absent. Names of spine nodes are distinct.
	Names []string
	Props []*Node
	// Additional is additionalProperties' schema; nil for true, false and absent, which AdditionalTrue and
	// AdditionalFalse tell apart.
	Additional *Node
	// Items is the schema of array elements, or nil.
	Items *Node

	// Valid holds the value validations, nil if there are none besides Type and Nullable.
	Valid *Validation
	// Default is the ready default, nil for none (a default of null is none).
	Default *Default
	// Rules are x-kubernetes-validations, compiled; nil for none. Junctors have none.
	Rules *rule.Set

	*details // what few nodes have; never nil
}

// details are the parts of a node that most nodes have not. They share noDetails.
type details struct {
	// Slots maps Props to the spine's slots (junctor nodes alone, else nil): Props[i] judges slot Slots[i]; NoSlot: the
	// spine does not declare that property, the member must be looked up by name.
	Slots []uint16
	// ListKeys are x-kubernetes-list-map-keys in their order; ListMap says whether they apply.
	ListKeys []ListKey

	defaulted []defaultedSlot // the slots whose node has a default
	index     *nameIndex      // names to slots, for nodes with many properties
}

var noDetails details

// Flags are the facts about a node that need no more than a bit. The facts "Below" hold if they hold for the node itself
// or for any node reachable from it on the spine.
type Flags uint32

// The flags of a node.
const (
	Nullable        Flags = 1 << iota // nullable: true
	IntOrString                       // x-kubernetes-int-or-string
	Embedded                          // x-kubernetes-embedded-resource
	Root                              // the resource root: apiVersion, kind and metadata are not pruned, and are checked elsewhere
	Preserve                          // x-kubernetes-preserve-unknown-fields: true as declared
	KeepUnknown                       // undeclared members stay: Preserve, or an item (of items…) of a Preserve array
	KeepAll                           // nothing at or below is pruned: declared apiVersion, kind, metadata of a root or embedded resource
	AdditionalTrue                    // additionalProperties: true; members stay, all below them is pruned
	AdditionalFalse                   // additionalProperties: false
	ListSet                           // x-kubernetes-list-type: set
	ListMap                           // x-kubernetes-list-type: map
	ListAtomic                        // x-kubernetes-list-type: atomic
	MapAtomic                         // x-kubernetes-map-type: atomic
	MapGranular                       // x-kubernetes-map-type: granular
	Junctor                           // inside a junctor: validates, never shapes

	DefaultsBelow  // a property, item or map value here or below has a default
	EmbeddedBelow  // an embedded resource here or below
	ListTypesBelow // a set or map list here or below
	ValuesBelow    // a validation other than type and nullable here or below
	RulesBelow     // a rule here or below

	intOrStringTyped // an int-or-string whose types are integer and string, not none
)

var (
	intOrString = []string{"integer", "string"}
	typeLists   = map[string][]string{
		"object": {"object"}, "array": {"array"}, "string": {"string"}, "integer": {"integer"}, "number": {"number"}, "boolean": {"boolean"},
	}
)

// Has reports whether all bits of f are set.
func (n *Node) Has(f Flags) bool { return n.Flags&f == f }

// Types are the types as kube-openapi's validators hold them: none, the declared one, or integer and string (in that
// order) for int-or-string. Where the plan was compiled ForDefaults, int-or-string has no type, as upstream has it there.
func (n *Node) Types() []string {
	switch {
	case n.Flags&intOrStringTyped == intOrStringTyped:
		return intOrString
	case n.Type == "":
		return nil
	}
	if l := typeLists[n.Type]; l != nil {
		return l
	}
	return []string{n.Type} // a schema that is not structural may name any type
}

// Child is the node that judges the member with this name: the declared property's, else Additional (nil if there is none).
func (n *Node) Child(name string) *Node {
	if n == nil {
		return nil
	}
	if i, ok := n.find(name); ok {
		return n.Props[i]
	}
	return n.Additional
}

// NoSlot in Node.Slots and Required.Slot: the spine has no such property.
const NoSlot = ^uint16(0)

// Validation holds the value validations of a node. Pointers are nil where the keyword is absent, as in the schema.
type Validation struct {
	Minimum, Maximum, MultipleOf       *float64
	ExclusiveMinimum, ExclusiveMaximum bool
	UniqueItems                        bool   // v1beta1 schemas that are not structural
	MinLength, MaxLength               *int64 // in code points
	MinItems, MaxItems                 *int64
	MinProperties, MaxProperties       *int64
	Pattern                            *pattern.Pattern
	Enum                               *Enum
	Format                             string    // as written, after the formats that this Kubernetes version does not know were stripped
	FormatID                           format.ID // format.None where kube-openapi's registry does not know Format
	Required                           []Required

	*Junctors // never nil

	number numberCheck
}

// Junctors are the parts of validations that most nodes have not. They share noJunctors.
type Junctors struct {
	AllOf, AnyOf, OneOf []*Node
	Not                 *Node
	Legacy              *Legacy // nil but for schemas that are not structural
}

var noJunctors Junctors

// Required is one entry of the required list, in the list's order; duplicates are kept.
type Required struct {
	Name string
	Slot uint16 // on the spine node that fills the slots; NoSlot if it does not declare the name
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

	strings  []string // distinct string values, sorted
	ints     []int64
	floats   []float64
	hasBool  [2]bool // false, true
	compound bool    // an array or object among the values
}

// Legacy are keywords that only schemas which are not structural can hold (CRDs once written as v1beta1 with
// preserveUnknownFields: true). Plans with any of them never accept; explain evaluates them.
type Legacy struct {
	PatternProperties []PatternProperty // sorted by pattern
	Dependencies      []Dependency      // sorted by name
	ItemList          []*Node           // items as an array of schemas
	AdditionalItems   *Node
	// AdditionalItemsSet tells additionalItems present from absent, AdditionalItemsAllowed its boolean.
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

// Default is a default of the schema, pruned and expanded as upstream prunes and expands it: pruned once at compile time
// (defaulting.PruneDefaults), and with the defaults of its own declared properties filled in, which upstream repeats for
// each object (defaulting.Default descends into what it inserted). Inserting it needs no further defaulting.
type Default struct {
	// Fragment is ready for Doc.Graft, its sources being the program's (value.Defaults).
	Fragment *value.Fragment
	raw      []byte // as the schema has it
	// Nulls: the value holds a null somewhere. Such nulls are never dropped (defaulting comes after PruneNonNullableNulls).
	Nulls bool
}
