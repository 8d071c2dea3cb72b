package closure

import (
	"cmp"
	"slices"
	"unsafe"
)

// Type is what rules see of one schema node. It is compact and immutable: a version retains its Types and not its
// schema. Package celcheck makes Types from structural schemas and shares equal ones, so a Type has no path. Closures
// use it, and through celcheck.SchemaOf cel-go's values.
type Type struct {
	Kind Kind
	// Nullable is nullable: true.
	Nullable bool
	// Preserve is x-kubernetes-preserve-unknown-fields: true. The data then has unknown members that expressions do not
	// see.
	Preserve bool
	// List is the list type of a List. NoListType and Atomic behave alike.
	List ListType
	// Root: apiVersion, kind and metadata are Members by upstream's rule for the root of a CRD and for embedded resources
	// (schema/cel/model/schemas.go, WithTypeAndObjectMeta).
	Root bool
	// Embedded is x-kubernetes-embedded-resource: true.
	Embedded bool

	// Members are the declared properties of an Object sorted by Name, including those that expressions cannot see.
	Members []Member
	// Declared: the schema has properties, possibly an empty map, which upstream distinguishes from none.
	Declared bool
	// Elem is the type of list elements or map values, nil if the schema does not declare it.
	Elem *Type
	// Keys are x-kubernetes-list-map-keys, as written.
	Keys []string
	// Name is the type in the schema: object, array, string, integer, number, boolean or "".
	Name string
	// Format is the format in the schema if it determines Kind.
	Format string
}

// Member is one declared property of an Object.
type Member struct {
	// Name is the name of the property.
	Name string
	// Ident is the name in expressions (k8s.io/apiserver/pkg/cel.Escape), or "".
	Ident string
	// Slot is the index of the member in tree.Doc.Slots, relative to the object: the position of the name among the
	// schema's properties in byte-wise order, as in plan.Node. Members with NoSlot are found by name (apiVersion, kind and
	// metadata of a root, name and generateName of its metadata).
	Slot int32
	// Type is never nil; Kind Opaque where expressions see nothing.
	Type *Type
}

// NoSlot is the Slot of members without a slot.
const NoSlot = -1

// Kind is the CEL type of a value.
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

// unordered reports whether the order of a list's elements does not matter.
func (t *Type) unordered() bool { return t.List == Set || t.List == MapList }

// ListType is x-kubernetes-list-type.
type ListType uint8

// The list types.
const (
	NoListType ListType = iota
	Atomic
	Set
	MapList
)

// Member returns a declared property by its name, or nil.
func (t *Type) Member(name string) *Member {
	i, ok := slices.BinarySearchFunc(t.Members, name, func(m Member, name string) int { return cmp.Compare(m.Name, name) })
	if !ok {
		return nil
	}
	return &t.Members[i]
}

// Retention counts the heap of types and texts, each of them once.
type Retention struct {
	Size  int64             // bytes
	Texts map[string]string // by themselves; not nil
	types map[*Type]bool
}

// Type adds a type and those below it.
func (r *Retention) Type(t *Type) {
	if t == nil || r.types[t] {
		return
	}
	if r.types == nil {
		r.types = map[*Type]bool{}
	}
	r.types[t] = true
	r.Size += int64(unsafe.Sizeof(*t)) + int64(cap(t.Members))*int64(unsafe.Sizeof(Member{})) + int64(cap(t.Keys))*16
	r.Text(t.Keys...)
	for i := range t.Members {
		m := &t.Members[i]
		r.Text(m.Name, m.Ident)
		r.Type(m.Type)
	}
	r.Type(t.Elem)
}

// Text adds texts.
func (r *Retention) Text(list ...string) {
	for _, text := range list {
		if _, known := r.Texts[text]; !known {
			r.Texts[text] = text
			r.Size += int64(len(text)+7) &^ 7
		}
	}
}
