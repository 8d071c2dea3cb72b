package closure

// Type is what rules can see of one schema node, compact and immutable: a version keeps its Types, not its schema. A Type serves
// compiled closures (slots, kinds) and, through package rule, cel-go's values (k8s.io/apiserver/pkg/cel/common.Schema).
//
// Types are made from structural schemas by package rule and are shared where they are equal: a Type does not know its path.
type Type struct {
	Kind Kind
	// Nullable is nullable: true.
	Nullable bool
	// Preserve is x-kubernetes-preserve-unknown-fields: true; unknown members are then in the data, though no expression sees them.
	Preserve bool
	// List says how a List's elements are told apart. NoListType and Atomic behave alike.
	List ListType
	// Root: the members apiVersion, kind and metadata are in Members by upstream's rule for resource roots, at the root of a CRD and at embedded
	// resources (schema/cel/model/schemas.go, WithTypeAndObjectMeta).
	Root bool
	// Embedded is x-kubernetes-embedded-resource: true.
	Embedded bool

	// Members are the declared properties of an Object, sorted by Name, those that expressions cannot see included.
	Members []Member
	// Declared: the schema has properties, if only an empty map (upstream tells that from none).
	Declared bool
	// Elem is the type of a List's elements or of a Map's values; nil only if the schema has none.
	Elem *Type
	// Keys are x-kubernetes-list-map-keys, as written.
	Keys []string
	// Name is the schema's own word for the type, for messages: object, array, string, integer, number, boolean or "".
	Name string
	// Format is the schema's format, as written; only those of Kind matter to rules.
	Format string
}

// Member is one declared property of an Object.
type Member struct {
	// Name is the property's.
	Name string
	// Ident is the name as expressions spell it (k8s.io/apiserver/pkg/cel.Escape), "" if no expression can.
	Ident string
	// Slot is where value.Doc.Slots has the member, counted from the object's own base: the position of the name among the schema's
	// properties in byte-wise order, as program.Node counts. NoSlot: look the member up by its name (apiVersion, kind and metadata
	// of a root, name and generateName of its metadata).
	Slot int32
	// Type is never nil; Kind Opaque where expressions see nothing.
	Type *Type
}

// NoSlot is the Slot of members that stand in no slot.
const NoSlot = -1

// Kind is what a value is to an expression (the seeds' table of OpenAPI types and CEL types).
type Kind uint8

// The kinds.
const (
	Opaque   Kind = iota // no CEL type: preserved unknown data without a type, and lists and maps of it
	Bool                 // boolean
	Int                  // integer
	Double               // number
	String               // string
	Bytes                // string, format byte
	Duration             // string, format duration
	Date                 // string, format date: a timestamp
	DateTime             // string, format date-time: a timestamp
	Dyn                  // x-kubernetes-int-or-string
	List                 // array
	Map                  // object with additionalProperties that have a schema
	Object               // object with properties, or with nothing declared
)

// ListType is x-kubernetes-list-type.
type ListType uint8

// The list types.
const (
	NoListType ListType = iota
	Atomic
	Set
	MapList
)

// Member finds a declared property by its name, nil if there is none.
func (t *Type) Member(name string) *Member {
	for lo, hi := 0, len(t.Members); lo < hi; {
		m := (lo + hi) / 2
		switch {
		case t.Members[m].Name == name:
			return &t.Members[m]
		case t.Members[m].Name < name:
			lo = m + 1
		default:
			hi = m
		}
	}
	return nil
}
