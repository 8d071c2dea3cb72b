package rule

import (
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// text is the memory's own copy of a text: types must not hold on to the CRD.
func (mem *Memory) text(s string) string {
	if s == "" {
		return ""
	}
	if t, ok := mem.texts[s]; ok {
		return t
	}
	t := strings.Clone(s)
	mem.texts[t] = t
	return t
}

// typeOf makes the type of a schema, or finds an equal one of the memory.
//
// What is visible is decided as SchemaDeclType does (k8s.io/apiserver pkg/cel/common/schemas.go).
func (mem *Memory) typeOf(s *schema.Props, resourceRoot bool) *closure.Type {
	return mem.typeAs(s, s, resourceRoot)
}

// typeAs is typeOf with the slots of another schema: what stands in none of its properties has no slot.
func (mem *Memory) typeAs(s, written *schema.Props, resourceRoot bool) *closure.Type {
	t := closure.Type{Nullable: s.Nullable, Preserve: preserves(s), Embedded: s.XEmbeddedResource, Name: typeName(mem, s.Type)}
	declared := s
	if resourceRoot && !s.XIntOrString {
		declared, t.Root = withObjectMeta(s), true
	}
	mem.members(&t, declared, written)
	switch {
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		t.Elem = mem.typeOf(s.Items.Schema, s.Items.Schema.XEmbeddedResource)
	case s.Type != "array" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		t.Elem = mem.typeOf(s.AdditionalProperties.Schema, s.AdditionalProperties.Schema.XEmbeddedResource)
	}
	if s.XListType != nil {
		t.List = listTypes[*s.XListType]
	}
	for _, k := range s.XListMapKeys {
		t.Keys = append(t.Keys, mem.text(k))
	}
	t.Kind, t.Format = kindOf(s, &t)
	return mem.intern(&t)
}

// members fills in what is declared, in schema order. Slots are those of the schema as it is written.
func (mem *Memory) members(t *closure.Type, declared, written *schema.Props) {
	if len(declared.Properties) == 0 {
		return
	}
	names := make([]string, 0, len(declared.Properties))
	for name := range declared.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	t.Declared, t.Members = true, make([]closure.Member, len(names))
	slot := int32(0)
	for i, name := range names {
		p := declared.Properties[name]
		own := &p
		if name == "metadata" && declared != written { // declared anew by withObjectMeta: the schema's own may declare other members
			own = &schema.Props{}
		}
		m := closure.Member{Name: mem.text(name), Slot: closure.NoSlot, Type: mem.typeAs(&p, own, p.XEmbeddedResource)}
		if escaped, ok := apiservercel.Escape(name); ok {
			m.Ident = mem.text(escaped)
		}
		if _, ok := written.Properties[name]; ok {
			m.Slot = slot
			slot++
		}
		t.Members[i] = m
	}
}

var listTypes = map[string]closure.ListType{"atomic": closure.Atomic, "set": closure.Set, "map": closure.MapList}

func typeName(mem *Memory, t string) string {
	switch t {
	case "object", "array", "string", "integer", "number", "boolean":
		return knownTypes[t]
	}
	return mem.text(t)
}

var knownTypes = map[string]string{
	"object": "object", "array": "array", "string": "string", "integer": "integer", "number": "number", "boolean": "boolean",
}

// kindOf tells what a value of the schema is to expressions, and the format if that matters.
func kindOf(s *schema.Props, t *closure.Type) (closure.Kind, string) {
	if s.XIntOrString {
		return closure.Dyn, ""
	}
	switch s.Type {
	case "boolean":
		return closure.Bool, ""
	case "integer":
		return closure.Int, ""
	case "number":
		return closure.Double, ""
	case "string":
		switch s.Format {
		case "byte":
			return closure.Bytes, "byte"
		case "duration":
			return closure.Duration, "duration"
		case "date":
			return closure.Date, "date"
		case "date-time":
			return closure.DateTime, "date-time"
		}
		return closure.String, ""
	case "array":
		if t.Elem != nil && t.Elem.Kind != closure.Opaque {
			return closure.List, ""
		}
	case "object":
		switch {
		case t.Elem == nil:
			return closure.Object, ""
		case t.Elem.Kind != closure.Opaque:
			return closure.Map, ""
		}
	}
	return closure.Opaque, ""
}

// intern returns the memory's type that is equal to t.
func (mem *Memory) intern(t *closure.Type) *closure.Type {
	k := mem.key[:0]
	k = append(k, byte(t.Kind), byte(t.List), bits(t.Nullable, t.Preserve, t.Root, t.Embedded, t.Declared))
	k = appendText(appendText(k, t.Name), t.Format)
	k = appendPointer(k, unsafe.Pointer(t.Elem))
	k = binary.AppendUvarint(k, uint64(len(t.Keys)))
	for _, key := range t.Keys {
		k = appendText(k, key)
	}
	for i := range t.Members {
		m := &t.Members[i]
		k = appendPointer(binary.AppendVarint(appendText(k, m.Name), int64(m.Slot)), unsafe.Pointer(m.Type))
	}
	mem.key = k
	if known := mem.types[string(k)]; known != nil {
		return known
	}
	made := new(closure.Type)
	*made = *t
	mem.types[string(k)] = made
	return made
}

func bits(flags ...bool) (b byte) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendPointer identifies what is interned: equal means the same.
func appendPointer(b []byte, p unsafe.Pointer) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(uintptr(p)))
}
