package celcheck

import (
	"encoding/json"
	"maps"

	apimachineryvalidation "k8s.io/apimachinery/pkg/util/validation"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// declare returns the CEL declaration of a schema with the sizes for cost estimates, nil if expressions cannot see it.
//
// Upstream: schema/cel/model/schemas.go, SchemaDeclType.
func declare(s *schema.Props, resourceRoot bool) *apiservercel.DeclType {
	return common.SchemaDeclType(&propsSchema{Schema: unconstrained, s: s}, resourceRoot)
}

// propsSchema adapts a schema to common.Schema, as far as declarations use it. (schema/cel/model/adaptor.go)
type propsSchema struct {
	*openapi.Schema
	s          *schema.Props
	properties map[string]common.Schema
}

func (p *propsSchema) Type() string                   { return p.s.Type }
func (p *propsSchema) Format() string                 { return p.s.Format }
func (p *propsSchema) Nullable() bool                 { return p.s.Nullable }
func (p *propsSchema) MaxItems() *int64               { return p.s.MaxItems }
func (p *propsSchema) MaxLength() *int64              { return p.s.MaxLength }
func (p *propsSchema) MaxProperties() *int64          { return p.s.MaxProperties }
func (p *propsSchema) Required() []string             { return p.s.Required }
func (p *propsSchema) IsXIntOrString() bool           { return p.s.XIntOrString }
func (p *propsSchema) IsXEmbeddedResource() bool      { return p.s.XEmbeddedResource }
func (p *propsSchema) IsXPreserveUnknownFields() bool { return schema.Preserves(p.s) }
func (p *propsSchema) XListMapKeys() []string         { return p.s.XListMapKeys }

func (p *propsSchema) XListType() string {
	if p.s.XListType == nil {
		return ""
	}
	return *p.s.XListType
}

func (p *propsSchema) Items() common.Schema {
	if p.s.Items == nil || p.s.Items.Schema == nil {
		return nil
	}
	return &propsSchema{Schema: unconstrained, s: p.s.Items.Schema}
}

func (p *propsSchema) Properties() map[string]common.Schema {
	if p.properties == nil && len(p.s.Properties) > 0 {
		p.properties = make(map[string]common.Schema, len(p.s.Properties))
		for name, s := range p.s.Properties {
			p.properties[name] = &propsSchema{Schema: unconstrained, s: &s}
		}
	}
	return p.properties
}

func (p *propsSchema) AdditionalProperties() common.SchemaOrBool {
	switch a := p.s.AdditionalProperties; {
	case a == nil:
		return nil
	case a.Schema == nil:
		return SchemaOrBool{Allowed: a.Allows}
	default:
		return SchemaOrBool{Values: &propsSchema{Schema: unconstrained, s: a.Schema}, Allowed: true}
	}
}

// Default reports by nil whether there is a default. Its value does not matter.
func (p *propsSchema) Default() any {
	if schema.HasValue(p.s.Default) {
		return p.s.Default.Raw
	}
	return nil
}

// Enum returns the strings of the enum and nil for other values: sizes depend on strings only.
func (p *propsSchema) Enum() []any {
	values := make([]any, len(p.s.Enum))
	for i := range p.s.Enum {
		raw := p.s.Enum[i].Raw
		text, ok := schema.PlainText(raw)
		if ok || len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			values[i] = text
		}
	}
	return values
}

func (p *propsSchema) WithTypeAndObjectMeta() common.Schema {
	return &propsSchema{Schema: unconstrained, s: withObjectMeta(p.s)}
}

// withObjectMeta returns the schema of a resource root with apiVersion, kind, metadata.name and metadata.generateName.
// It is the schema itself if it declares all four with their types. Otherwise it is a copy whose metadata has only the
// two names, with their lengths capped.
//
// Upstream: schema/cel/model/schemas.go, WithTypeAndObjectMeta.
func withObjectMeta(s *schema.Props) *schema.Props {
	metadata := s.Properties["metadata"]
	if !quirk.On(quirk.RulesSeeNamesOnly) {
		return s
	}
	if s.Properties["kind"].Type == "string" && s.Properties["apiVersion"].Type == "string" &&
		metadata.Type == "object" && metadata.Properties["name"].Type == "string" &&
		metadata.Properties["generateName"].Type == "string" {
		return s
	}
	root := *s
	root.Properties = make(map[string]schema.Props, len(s.Properties)+3)
	maps.Copy(root.Properties, s.Properties)
	root.Properties["kind"] = schema.Props{Type: "string"}
	root.Properties["apiVersion"] = schema.Props{Type: "string"}
	root.Properties["metadata"] = schema.Props{Type: "object", Properties: map[string]schema.Props{
		"name":         shortString(metadata.Properties["name"], nameMaxLength),
		"generateName": shortString(metadata.Properties["generateName"], nameMaxLength-1), // one character is generated
	}}
	root.Items = nil // upstream's copy omits it
	return &root
}

const nameMaxLength = int64(apimachineryvalidation.DNS1123SubdomainMaxLength)

// shortString returns a string schema with maxLength, or with the declared maximum if that is lower.
func shortString(declared schema.Props, maxLength int64) schema.Props {
	if declared.MaxLength != nil && *declared.MaxLength < maxLength {
		maxLength = *declared.MaxLength
	}
	return schema.Props{Type: "string", MaxLength: &maxLength}
}

// unconstrained has the methods of common.Schema that neither CEL declarations nor CEL values use, or that few schemas
// define.
var unconstrained = &openapi.Schema{Schema: &spec.Schema{}}

// SchemaOrBool is additionalProperties.
type SchemaOrBool struct {
	Values  common.Schema
	Allowed bool
}

// Schema implements common.SchemaOrBool.
func (s SchemaOrBool) Schema() common.Schema { return s.Values }

// Allows implements common.SchemaOrBool.
func (s SchemaOrBool) Allows() bool { return s.Allowed }
