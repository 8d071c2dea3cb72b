package celcheck

import (
	"slices"
	"sync"

	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// TypeSchema adapts a closure.Type to the schema that upstream's CEL values use (k8s.io/apiserver pkg/cel/common). It builds
// its property tables once, on first use: upstream builds one for each access to a field. It is safe for concurrent use.
type TypeSchema struct {
	noConstraints
	t *closure.Type

	once       sync.Once
	properties map[string]common.Schema
	elem       *TypeSchema
}

// SchemaOf returns the schema of a type.
func SchemaOf(t *closure.Type) *TypeSchema { return &TypeSchema{t: t} }

// ValueOf returns upstream's CEL value of data of a type.
func ValueOf(data any, t *closure.Type) ref.Val { return common.UnstructuredToVal(data, SchemaOf(t)) }

func (s *TypeSchema) prepare() {
	s.once.Do(func() {
		if s.t.Elem != nil {
			s.elem = SchemaOf(s.t.Elem)
		}
		if !s.t.Declared {
			return
		}
		s.properties = make(map[string]common.Schema, len(s.t.Members))
		for i := range s.t.Members {
			m := &s.t.Members[i]
			s.properties[m.Name] = SchemaOf(m.Type)
		}
	})
}

// Type implements common.Schema.
func (s *TypeSchema) Type() string {
	if !quirk.On(quirk.NumberIsDouble) && s.t.Name == "number" {
		return "integer"
	}
	return s.t.Name
}

// Format implements common.Schema.
func (s *TypeSchema) Format() string { return s.t.Format }

// Nullable implements common.Schema.
func (s *TypeSchema) Nullable() bool { return s.t.Nullable }

// IsXIntOrString implements common.Schema.
func (s *TypeSchema) IsXIntOrString() bool { return s.t.Kind == closure.Dyn }

// IsXEmbeddedResource implements common.Schema.
func (s *TypeSchema) IsXEmbeddedResource() bool { return s.t.Embedded }

// IsXPreserveUnknownFields implements common.Schema.
func (s *TypeSchema) IsXPreserveUnknownFields() bool { return s.t.Preserve }

// XListMapKeys implements common.KubeExtensions.
func (s *TypeSchema) XListMapKeys() []string { return s.t.Keys }

// XListType implements common.KubeExtensions.
func (s *TypeSchema) XListType() string {
	if !quirk.On(quirk.UnorderedListEquality) || !quirk.On(quirk.EscapedListKeysNeverEqual) && slices.ContainsFunc(s.t.Keys, needsEscape) {
		return ""
	}
	switch s.t.List {
	case closure.Atomic:
		return "atomic"
	case closure.Set:
		return "set"
	case closure.MapList:
		return "map"
	}
	return ""
}

func needsEscape(name string) bool {
	escaped, ok := apiservercel.Escape(name)
	return !ok || escaped != name
}

// Properties implements common.Schema.
func (s *TypeSchema) Properties() map[string]common.Schema {
	s.prepare()
	return s.properties
}

// Items implements common.Schema.
func (s *TypeSchema) Items() common.Schema {
	if s.t.Name != "array" || s.t.Elem == nil {
		return nil
	}
	s.prepare()
	return s.elem
}

// AdditionalProperties implements common.Schema.
func (s *TypeSchema) AdditionalProperties() common.SchemaOrBool {
	if s.t.Preserve && s.t.Declared && !quirk.On(quirk.PreservedMembersNotCompared) { // unknown members are compared like others
		return SchemaOrBool{Values: SchemaOf(&closure.Type{Preserve: true}), Allowed: true}
	}
	if s.t.Name == "array" || s.t.Elem == nil {
		return nil
	}
	s.prepare()
	return SchemaOrBool{Values: s.elem, Allowed: true}
}

// WithTypeAndObjectMeta returns the schema itself: the types of resource roots have these members.
func (s *TypeSchema) WithTypeAndObjectMeta() common.Schema { return s }
