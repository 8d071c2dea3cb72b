package rule

import (
	"encoding/json"

	apimachineryvalidation "k8s.io/apimachinery/pkg/util/validation"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// declare makes the CEL declaration of a schema, with the sizes that cost estimates need, nil if expressions cannot see it.
//
// Upstream: schema/cel/model/schemas.go, SchemaDeclType.
func declare(s *schema.Props, resourceRoot bool) *apiservercel.DeclType {
	return common.SchemaDeclType(&propsSchema{s: s}, resourceRoot)
}

// propsSchema shows a CRD's schema as upstream's adaptor shows a structural one (schema/cel/model/adaptor.go), as far as declarations look at it.
type propsSchema struct {
	silent
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
func (p *propsSchema) IsXPreserveUnknownFields() bool { return preserves(p.s) }
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
	return &propsSchema{s: p.s.Items.Schema}
}

func (p *propsSchema) Properties() map[string]common.Schema {
	if p.properties == nil && len(p.s.Properties) > 0 {
		p.properties = make(map[string]common.Schema, len(p.s.Properties))
		for name, s := range p.s.Properties {
			p.properties[name] = &propsSchema{s: &s}
		}
	}
	return p.properties
}

func (p *propsSchema) AdditionalProperties() common.SchemaOrBool {
	switch a := p.s.AdditionalProperties; {
	case a == nil:
		return nil
	case a.Schema == nil:
		return schemaOrBool{allows: a.Allows}
	default:
		return schemaOrBool{schema: &propsSchema{s: a.Schema}, allows: true}
	}
}

// Default tells a default from none; nobody looks at its value.
func (p *propsSchema) Default() any {
	if d := p.s.Default; d != nil && len(d.Raw) > 0 && string(d.Raw) != "null" {
		return d.Raw
	}
	return nil
}

// Enum has the strings of the enum, and something else for other values: sizes are made of strings.
func (p *propsSchema) Enum() []any {
	values := make([]any, len(p.s.Enum))
	for i := range p.s.Enum {
		var text string
		raw := p.s.Enum[i].Raw
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			values[i] = text
		}
	}
	return values
}

func (p *propsSchema) WithTypeAndObjectMeta() common.Schema {
	return &propsSchema{s: withObjectMeta(p.s)}
}

func preserves(s *schema.Props) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// withObjectMeta is the schema of a resource root with apiVersion, kind, metadata.name and metadata.generateName declared: the schema itself if it
// declares all four as what they are, else a copy in which metadata is nothing but its two names. Lengths of names are capped.
//
// Upstream: schema/cel/model/schemas.go, WithTypeAndObjectMeta.
func withObjectMeta(s *schema.Props) *schema.Props {
	metadata := s.Properties["metadata"]
	if !quirk.On(quirk.RulesSeeNamesOnly) {
		return s
	}
	if s.Properties["kind"].Type == "string" && s.Properties["apiVersion"].Type == "string" && metadata.Type == "object" &&
		metadata.Properties["name"].Type == "string" && metadata.Properties["generateName"].Type == "string" {
		return s
	}
	root := *s
	root.Properties = make(map[string]schema.Props, len(s.Properties)+3)
	for name, p := range s.Properties {
		root.Properties[name] = p
	}
	root.Properties["kind"] = schema.Props{Type: "string"}
	root.Properties["apiVersion"] = schema.Props{Type: "string"}
	root.Properties["metadata"] = schema.Props{Type: "object", Properties: map[string]schema.Props{
		"name":         shortString(metadata.Properties["name"], nameMaxLength),
		"generateName": shortString(metadata.Properties["generateName"], nameMaxLength-1), // at least one character is generated
	}}
	root.Items = nil // upstream's copy leaves it out
	return &root
}

const nameMaxLength = int64(apimachineryvalidation.DNS1123SubdomainMaxLength)

// shortString is a string of at most maxLength code points, or of what the declared one says if that is less.
func shortString(declared schema.Props, maxLength int64) schema.Props {
	if declared.MaxLength != nil && *declared.MaxLength < maxLength {
		maxLength = *declared.MaxLength
	}
	return schema.Props{Type: "string", MaxLength: &maxLength}
}
