package celcheck

import (
	"encoding/binary"
	"unsafe"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// typeOf returns the type of a schema, shared with equal schemas.
//
// Upstream: k8s.io/apiserver pkg/cel/common/schemas.go, SchemaDeclType, decides what is visible.
func (sh *Shared) typeOf(s *schema.Props, resourceRoot bool) *closure.Type {
	return sh.typeWithSlots(s, s, resourceRoot)
}

// typeWithSlots is typeOf with the slots of another schema. Members that are not properties of written have no slot.
func (sh *Shared) typeWithSlots(s, written *schema.Props, resourceRoot bool) *closure.Type {
	t := closure.Type{
		Nullable: s.Nullable, Preserve: schema.Preserves(s), Embedded: s.XEmbeddedResource, Name: sh.Text(s.Type),
	}
	declared := s
	if resourceRoot && !s.XIntOrString {
		declared, t.Root = withObjectMeta(s), true
	}
	sh.addMembers(&t, declared, written)
	switch {
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		t.Elem = sh.typeOf(s.Items.Schema, s.Items.Schema.XEmbeddedResource)
	case s.Type != "array" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		t.Elem = sh.typeOf(s.AdditionalProperties.Schema, s.AdditionalProperties.Schema.XEmbeddedResource)
	}
	if s.XListType != nil {
		t.List = listTypes[*s.XListType]
	}
	for _, k := range s.XListMapKeys {
		t.Keys = append(t.Keys, sh.Text(k))
	}
	t.Kind = kindOf(s, &t)
	if t.Kind != closure.Opaque && formatKinds[s.Format] == t.Kind {
		t.Format = sh.Text(s.Format)
	}
	return sh.intern(&t)
}

// addMembers adds the declared properties in schema order. Slots are those of the schema as written.
func (sh *Shared) addMembers(t *closure.Type, declared, written *schema.Props) {
	if len(declared.Properties) == 0 {
		return
	}
	names := schema.Names(declared.Properties)
	t.Declared, t.Members = true, make([]closure.Member, len(names))
	slot, p := int32(0), new(schema.Props) // one for all, since it is large
	for i, name := range names {
		*p = declared.Properties[name]
		own := p
		if name == "metadata" && declared != written {
			own = &schema.Props{} // withObjectMeta redeclares it: the schema itself may declare other members
		}
		m := closure.Member{Name: sh.Text(name), Slot: closure.NoSlot, Type: sh.typeWithSlots(p, own, p.XEmbeddedResource)}
		if escaped, ok := apiservercel.Escape(name); ok {
			m.Ident = sh.Text(escaped)
		}
		if _, ok := written.Properties[name]; ok {
			m.Slot = slot
			slot++
		}
		t.Members[i] = m
	}
}

var listTypes = map[string]closure.ListType{"atomic": closure.Atomic, "set": closure.Set, "map": closure.MapList}

// kinds are the kinds of scalars by type, formatKinds those of strings by format.
var kinds = map[string]closure.Kind{
	"boolean": closure.Bool, "integer": closure.Int, "number": closure.Double, "string": closure.String,
}

var formatKinds = map[string]closure.Kind{
	"byte": closure.Bytes, "duration": closure.Duration, "date": closure.Date, "date-time": closure.DateTime,
}

// kindOf returns the kind of a schema's values.
func kindOf(s *schema.Props, t *closure.Type) closure.Kind {
	visibleElem := t.Elem != nil && t.Elem.Kind != closure.Opaque
	switch kind := formatKinds[s.Format]; {
	case s.XIntOrString:
		return closure.Dyn
	case s.Type == "string" && kind != closure.Opaque:
		return kind
	case s.Type == "array" && visibleElem:
		return closure.List
	case s.Type == "object" && t.Elem == nil:
		return closure.Object
	case s.Type == "object" && visibleElem:
		return closure.Map
	}
	return kinds[s.Type]
}

// intern returns the type that equals t.
func (sh *Shared) intern(t *closure.Type) *closure.Type {
	k := Key(sh.key[:0])
	k = append(k, byte(t.Kind), byte(t.List))
	k = k.Flags(t.Nullable, t.Preserve, t.Root, t.Embedded, t.Declared).Text(t.Name, t.Format).Type(t.Elem)
	k = Key(binary.AppendUvarint(k, uint64(len(t.Keys)))).Text(t.Keys...)
	for i := range t.Members {
		m := &t.Members[i]
		k = binary.AppendVarint(k.Text(m.Name), int64(m.Slot))
		k = k.Type(m.Type)
	}
	sh.key = k
	if known := sh.types[string(k)]; known != nil {
		return known
	}
	added := new(closure.Type)
	*added = *t
	sh.types[string(k)] = added
	return added
}

// Key identifies types and rules within a Shared.
type Key []byte

// Flags appends up to eight flags.
func (k Key) Flags(flags ...bool) Key {
	var b byte
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return append(k, b)
}

// Text appends texts with their lengths.
func (k Key) Text(list ...string) Key {
	for _, s := range list {
		k = append(binary.AppendUvarint(k, uint64(len(s))), s...)
	}
	return k
}

// Type appends the identity of an interned type.
func (k Key) Type(t *closure.Type) Key {
	return binary.LittleEndian.AppendUint64(k, uint64(uintptr(unsafe.Pointer(t))))
}
