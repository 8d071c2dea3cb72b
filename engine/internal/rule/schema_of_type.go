package rule

import (
	"slices"
	"sync"

	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// typeSchema shows a closure.Type as the schema that upstream's CEL values look things up in (k8s.io/apiserver pkg/cel/common). Property tables
// are built once, when they are first asked for: upstream builds one at each access to a field. It is immutable but for that and shared.
type typeSchema struct {
	silent
	t *closure.Type

	once       sync.Once
	properties map[string]common.Schema
	elem       *typeSchema
}

func schemaOf(t *closure.Type) *typeSchema { return &typeSchema{t: t} }

// ValueOf is upstream's own value of data of a type, for the functions that closures leave to cel-go.
func ValueOf(data any, t *closure.Type) ref.Val { return common.UnstructuredToVal(data, schemaOf(t)) }

func (s *typeSchema) below() {
	s.once.Do(func() {
		if s.t.Elem != nil {
			s.elem = schemaOf(s.t.Elem)
		}
		if !s.t.Declared {
			return
		}
		s.properties = make(map[string]common.Schema, len(s.t.Members))
		for i := range s.t.Members {
			m := &s.t.Members[i]
			s.properties[m.Name] = schemaOf(m.Type)
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
func (s *typeSchema) Nullable() bool                 { return s.t.Nullable }
func (s *typeSchema) IsXIntOrString() bool           { return s.t.Kind == closure.Dyn }
func (s *typeSchema) IsXEmbeddedResource() bool      { return s.t.Embedded }
func (s *typeSchema) IsXPreserveUnknownFields() bool { return s.t.Preserve }
func (s *typeSchema) XListMapKeys() []string         { return s.t.Keys }

func (s *typeSchema) XListType() string {
	if !quirk.On(quirk.UnorderedListEquality) || !quirk.On(quirk.EscapedListKeysNeverEqual) && slices.ContainsFunc(s.t.Keys, escapes) {
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

// escapes reports whether rules must write a name in another way.
func escapes(name string) bool {
	escaped, ok := apiservercel.Escape(name)
	return !ok || escaped != name
}

func (s *typeSchema) Properties() map[string]common.Schema {
	s.below()
	return s.properties
}

func (s *typeSchema) Items() common.Schema {
	if s.t.Name != "array" || s.t.Elem == nil {
		return nil
	}
	s.below()
	return s.elem
}

func (s *typeSchema) AdditionalProperties() common.SchemaOrBool {
	if s.t.Preserve && s.t.Declared && !quirk.On(quirk.PreservedMembersNotCompared) { // unknown members are compared as others are
		return schemaOrBool{schema: schemaOf(&closure.Type{Preserve: true}), allows: true}
	}
	if s.t.Name == "array" || s.t.Elem == nil {
		return nil
	}
	s.below()
	return schemaOrBool{schema: s.elem, allows: true}
}

// WithTypeAndObjectMeta is the schema itself: the types of resource roots have these members already.
func (s *typeSchema) WithTypeAndObjectMeta() common.Schema { return s }
