package assist

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// Schema is the schema of a field. That of a resource also has apiVersion, kind and metadata.
type Schema struct {
	props    *apiextensionsv1.JSONSchemaProps
	root     bool // a resource or an embedded resource
	required bool // by its parent
}

// typeMeta and objectMeta are the fields of a resource that its CRD need not declare.
var typeMeta = map[string]apiextensionsv1.JSONSchemaProps{
	"apiVersion": {Type: "string", Description: "The group and version of the resource."},
	"kind":       {Type: "string", Description: "The kind of the resource."},
	"metadata":   objectMeta,
}

var objectMeta = apiextensionsv1.JSONSchemaProps{Type: "object", Description: "The metadata of the object.",
	Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"name":         {Type: "string", Description: "The name of the object."},
		"generateName": {Type: "string", Description: "The prefix of a name that the API server generates."},
		"namespace":    {Type: "string", Description: "The namespace of the object."},
		"labels":       {Type: "object", Description: "Labels for selectors.", AdditionalProperties: anyString},
		"annotations": {Type: "object", Description: "Annotations: text for tools and people.",
			AdditionalProperties: anyString},
		"finalizers": {Type: "array", Description: "Finalizers that delay the deletion.",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: anyString.Schema}},
		"ownerReferences": {Type: "array", Description: "The objects that own this object.",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &ownerReference}},
	}}

var anyString = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true,
	Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}

var ownerReference = apiextensionsv1.JSONSchemaProps{Type: "object",
	Required: []string{"apiVersion", "kind", "name", "uid"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "name": {Type: "string"}, "uid": {Type: "string"},
		"controller": {Type: "boolean"}, "blockOwnerDeletion": {Type: "boolean"},
	}}

// step returns the schema of a member or an item, or nil.
func (s *Schema) step(name string) *Schema {
	if s == nil {
		return nil
	}
	if _, err := strconv.Atoi(name); err == nil && s.props.Items != nil && s.props.Items.Schema != nil {
		return below(s.props.Items.Schema, false)
	}
	if p, ok := s.property(name); ok {
		return below(&p, slices.Contains(s.props.Required, name))
	}
	if p := s.props.AdditionalProperties; p != nil && p.Schema != nil {
		return below(p.Schema, false)
	}
	return nil
}

func below(p *apiextensionsv1.JSONSchemaProps, required bool) *Schema {
	return &Schema{props: resolve(p), root: p.XEmbeddedResource, required: required}
}

// property returns the schema of a declared field. The root's schema of metadata only restricts it.
func (s *Schema) property(name string) (p apiextensionsv1.JSONSchemaProps, ok bool) {
	p, ok = s.props.Properties[name]
	own, meta := typeMeta[name]
	if s.root && meta && (!ok || name == "metadata" || p.Description == "") {
		return own, true
	}
	return p, ok
}

// names returns the declared fields, required ones first.
func (s *Schema) names() []string {
	all := slices.Collect(maps.Keys(s.props.Properties))
	for name := range typeMeta {
		if s.root && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if x, y := s.rank(a), s.rank(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	return all
}

// rank orders fields: apiVersion, kind and metadata, then required ones, then others, then the status.
func (s *Schema) rank(name string) int {
	i := slices.Index([]string{"apiVersion", "kind", "metadata"}, name)
	switch {
	case s.root && i >= 0:
		return i
	case slices.Contains(s.props.Required, name):
		return 3
	case s.root && name == "status":
		return 5
	}
	return 4
}

// at returns the schema at a path, and the declared fields on it, without indexes and keys of maps.
func (s *Schema) at(path []string) (_ *Schema, fields []string) {
	for _, name := range path {
		if s == nil {
			return nil, fields
		}
		if _, declared := s.property(name); declared {
			fields = append(fields, name)
		}
		s = s.step(name)
	}
	return s, fields
}

// typeText returns the type as kubectl explain shows it.
func (s *Schema) typeText() string {
	p := s.props
	switch {
	case p.XIntOrString:
		return "IntOrString"
	case p.Type == "array" && p.Items != nil && p.Items.Schema != nil:
		return "[]" + below(p.Items.Schema, false).typeText()
	case p.Type == "object" && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return "map[string]" + below(p.AdditionalProperties.Schema, false).typeText()
	case p.Type == "":
		return "any"
	case p.Format != "":
		return p.Type + " (" + p.Format + ")"
	}
	return p.Type
}

// Detail is a fact about a field, such as Minimum with the value 1. Values are JSON or the text of a rule or a pattern.
type Detail struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// String returns the detail as Markdown.
func (d *Detail) String() string {
	text := d.Name
	if len(d.Values) > 0 {
		text += ": `" + strings.Join(d.Values, "`, `") + "`"
	}
	if d.Note != "" {
		text += " " + d.Note
	}
	return text
}

// details lists the default, the enum values, the bounds and the rules.
func (s *Schema) details() (list []Detail) {
	p := s.props
	add := func(name string, values ...string) { list = append(list, Detail{Name: name, Values: values}) }
	if s.required {
		add("Required")
	}
	if p.Default != nil {
		add("Default", string(p.Default.Raw))
	}
	if len(p.Enum) > 0 {
		add("Values", enumTexts(p)...)
	}
	if p.Minimum != nil {
		add("Minimum", fmt.Sprint(*p.Minimum))
	}
	if p.Maximum != nil {
		add("Maximum", fmt.Sprint(*p.Maximum))
	}
	for _, b := range []struct {
		name string
		v    *int64
	}{
		{"Minimum length", p.MinLength}, {"Maximum length", p.MaxLength}, {"Minimum items", p.MinItems},
		{"Maximum items", p.MaxItems}, {"Minimum properties", p.MinProperties}, {"Maximum properties", p.MaxProperties},
	} {
		if b.v != nil {
			add(b.name, strconv.FormatInt(*b.v, 10))
		}
	}
	if p.Pattern != "" {
		add("Pattern", p.Pattern)
	}
	if p.Nullable {
		add("Can be null")
	}
	if p.XListType != nil {
		add("List type", *p.XListType)
		list[len(list)-1].Note = strings.Join(p.XListMapKeys, ", ")
	}
	for _, r := range p.XValidations {
		add("Rule", strings.Join(strings.Fields(r.Rule), " "))
		if r.Message != "" {
			list[len(list)-1].Note = "(" + r.Message + ")"
		}
	}
	return list
}

// enumTexts returns the values of an enum as JSON.
func enumTexts(p *apiextensionsv1.JSONSchemaProps) (list []string) {
	for _, v := range p.Enum {
		list = append(list, string(v.Raw))
	}
	return list
}

// values returns the JSON values that a scalar can have, if the schema lists them.
func (s *Schema) values() []string {
	switch {
	case len(s.props.Enum) > 0:
		return enumTexts(s.props)
	case s.props.Type == "boolean":
		return []string{"true", "false"}
	case s.props.Default != nil && s.props.Type != "object" && s.props.Type != "array":
		return []string{string(s.props.Default.Raw)}
	}
	return nil
}

// written returns a JSON scalar as it is written in a file.
func written(value string, isJSON bool) string {
	var text string
	if isJSON || json.Unmarshal([]byte(value), &text) != nil || !diagnosis.IsPlain(text) {
		return value
	}
	return text
}

// noFields is the schema of an object of an unknown kind.
var noFields = apiextensionsv1.JSONSchemaProps{Type: "object"}

// Field returns the schema of the field at a JSON pointer for quick fixes, or nil.
func (s *Schema) Field(pointer string) *diagnosis.Schema {
	of, _ := s.at(document.SplitPointer(pointer))
	if of == nil {
		return nil
	}
	text, err := json.Marshal(of.props)
	if err != nil {
		return nil
	}
	return diagnosis.ReadSchema(text)
}
