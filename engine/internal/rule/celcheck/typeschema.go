package celcheck

import (
	"slices"
	"sync"

	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// typeSchema adapts a closure.Type to the schema that upstream's CEL values use (k8s.io/apiserver pkg/cel/common). It
// builds its property tables once, on first use: upstream builds one for each access to a field. It is safe for
// concurrent use.
type typeSchema struct {
	*openapi.Schema
	t    *closure.Type
	poll func() // called by the accesses that each conversion of a value, an element or a member makes

	once       sync.Once
	properties map[string]common.Schema
	elem       common.Schema
}

// SchemaOf returns the schema of a type.
func SchemaOf(t *closure.Type) common.Schema { return PolledSchemaOf(t, func() {}) }

// PolledSchemaOf is SchemaOf with a function that every access to a value, an element or a member calls: upstream's
// values consult their schema whenever they convert one (k8s.io/apiserver pkg/cel/common, UnstructuredToVal).
func PolledSchemaOf(t *closure.Type, poll func()) common.Schema {
	return &typeSchema{Schema: unconstrained, t: t, poll: poll}
}

// ValueOf returns upstream's CEL value of data of a type.
func ValueOf(data any, t *closure.Type) ref.Val { return common.UnstructuredToVal(data, SchemaOf(t)) }

func (s *typeSchema) prepare() {
	s.once.Do(func() {
		if s.t.Elem != nil {
			s.elem = PolledSchemaOf(s.t.Elem, s.poll)
		}
		if !s.t.Declared {
			return
		}
		s.properties = make(map[string]common.Schema, len(s.t.Members))
		for i := range s.t.Members {
			m := &s.t.Members[i]
			s.properties[m.Name] = PolledSchemaOf(m.Type, s.poll)
		}
	})
}

func (s *typeSchema) Type() string {
	if !quirk.On(quirk.NumberIsDouble) && s.t.Name == "number" {
		return "integer"
	}
	return s.t.Name
}

func (s *typeSchema) Format() string                 { return s.t.Format }
func (s *typeSchema) IsXEmbeddedResource() bool      { return s.t.Embedded }
func (s *typeSchema) IsXPreserveUnknownFields() bool { return s.t.Preserve }
func (s *typeSchema) XListMapKeys() []string         { return s.t.Keys }

// IsXIntOrString is the first access for a value that is not null.
func (s *typeSchema) IsXIntOrString() bool {
	s.poll()
	return s.t.Kind == closure.Dyn
}

func (s *typeSchema) Nullable() bool {
	s.poll()
	return s.t.Nullable
}

func (s *typeSchema) XListType() string {
	escaped := slices.ContainsFunc(s.t.Keys, needsEscape)
	if !quirk.On(quirk.UnorderedListEquality) || !quirk.On(quirk.EscapedListKeysNeverEqual) && escaped {
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

func (s *typeSchema) Properties() map[string]common.Schema {
	s.poll()
	s.prepare()
	return s.properties
}

func (s *typeSchema) Items() common.Schema {
	if s.t.Name != "array" || s.t.Elem == nil {
		return nil
	}
	s.prepare()
	return s.elem
}

func (s *typeSchema) AdditionalProperties() common.SchemaOrBool {
	s.poll()
	if s.t.Preserve && s.t.Declared && !quirk.On(quirk.PreservedMembersNotCompared) {
		// Unknown members are compared like others.
		return SchemaOrBool{Values: SchemaOf(&closure.Type{Preserve: true}), Allowed: true}
	}
	if s.t.Name == "array" || s.t.Elem == nil {
		return nil
	}
	s.prepare()
	return SchemaOrBool{Values: s.elem, Allowed: true}
}

// WithTypeAndObjectMeta returns the schema itself: the types of resource roots have these members.
func (s *typeSchema) WithTypeAndObjectMeta() common.Schema { return s }
