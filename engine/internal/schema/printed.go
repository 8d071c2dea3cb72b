package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Printed is a schema as the API server prints it in a field error. It has the field names of upstream's internal type,
// and all fields are printed.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go)
type Printed struct {
	ID                     string
	Schema                 string
	Ref                    *string
	Description            string
	Type                   string
	Nullable               bool
	Format                 string
	Title                  string
	Default                *any
	Maximum                *float64
	ExclusiveMaximum       bool
	Minimum                *float64
	ExclusiveMinimum       bool
	MaxLength              *int64
	MinLength              *int64
	Pattern                string
	MaxItems               *int64
	MinItems               *int64
	UniqueItems            bool
	MultipleOf             *float64
	Enum                   []any
	MaxProperties          *int64
	MinProperties          *int64
	Required               []string
	Items                  *PrintedOrArray
	AllOf                  []Printed
	OneOf                  []Printed
	AnyOf                  []Printed
	Not                    *Printed
	Properties             map[string]Printed
	AdditionalProperties   *PrintedOrBool
	PatternProperties      map[string]Printed
	Dependencies           map[string]PrintedOrNames
	AdditionalItems        *PrintedOrBool
	Definitions            map[string]Printed
	ExternalDocs           *PrintedDocs
	Example                *any
	XPreserveUnknownFields *bool
	XEmbeddedResource      bool
	XIntOrString           bool
	XListMapKeys           []string
	XListType              *string
	XMapType               *string
	XValidations           []PrintedRule
}

// PrintedOrArray is the value of items: one schema, or a list of schemas.
type PrintedOrArray struct {
	Schema      *Printed
	JSONSchemas []Printed
}

// PrintedOrBool is the value of additionalProperties and additionalItems: a schema or a boolean.
type PrintedOrBool struct {
	Allows bool
	Schema *Printed
}

// PrintedOrNames is a value of dependencies: a schema or a list of property names.
type PrintedOrNames struct {
	Schema   *Printed
	Property []string
}

// PrintedDocs is the value of externalDocs.
type PrintedDocs struct{ Description, URL string }

// PrintedRule is one entry of x-kubernetes-validations.
type PrintedRule struct {
	Rule, Message, MessageExpression string
	Reason                           *apiextensionsv1.FieldValueErrorReason
	FieldPath                        string
	OptionalOldSelf                  *bool
}

// Print returns the schema in the form that field errors show. It returns nil for nil.
func Print(s *Props) *Printed {
	if s == nil {
		return nil
	}
	p := &Printed{
		ID: s.ID, Schema: string(s.Schema), Ref: s.Ref, Description: s.Description, Type: s.Type, Nullable: s.Nullable,
		Format: s.Format, Title: s.Title, Default: printedJSON(s.Default), Maximum: s.Maximum, ExclusiveMaximum: s.ExclusiveMaximum,
		Minimum: s.Minimum, ExclusiveMinimum: s.ExclusiveMinimum, MaxLength: s.MaxLength, MinLength: s.MinLength,
		Pattern: s.Pattern, MaxItems: s.MaxItems, MinItems: s.MinItems, UniqueItems: s.UniqueItems, MultipleOf: s.MultipleOf,
		MaxProperties: s.MaxProperties, MinProperties: s.MinProperties, Required: s.Required, Items: printedItems(s.Items),
		AllOf: printedList(s.AllOf), OneOf: printedList(s.OneOf), AnyOf: printedList(s.AnyOf), Not: Print(s.Not),
		Properties: printedMap(s.Properties), AdditionalProperties: printedOrBool(s.AdditionalProperties),
		PatternProperties: printedMap(s.PatternProperties), AdditionalItems: printedOrBool(s.AdditionalItems),
		Definitions: printedMap(s.Definitions), Example: printedJSON(s.Example),
		XPreserveUnknownFields: s.XPreserveUnknownFields, XEmbeddedResource: s.XEmbeddedResource, XIntOrString: s.XIntOrString,
		XListMapKeys: s.XListMapKeys, XListType: s.XListType, XMapType: s.XMapType,
	}
	if s.Enum != nil {
		p.Enum = make([]any, len(s.Enum))
		for i := range s.Enum {
			p.Enum[i] = *printedJSON(&s.Enum[i])
		}
	}
	if s.Dependencies != nil {
		p.Dependencies = make(map[string]PrintedOrNames, len(s.Dependencies))
		for name, d := range s.Dependencies {
			p.Dependencies[name] = PrintedOrNames{Schema: Print(d.Schema), Property: d.Property}
		}
	}
	if s.ExternalDocs != nil {
		p.ExternalDocs = &PrintedDocs{Description: s.ExternalDocs.Description, URL: s.ExternalDocs.URL}
	}
	if s.XValidations != nil {
		p.XValidations = make([]PrintedRule, len(s.XValidations))
		for i := range s.XValidations {
			p.XValidations[i] = PrintRule(&s.XValidations[i])
		}
	}
	return p
}

// PrintRule returns a rule in the form that field errors show.
func PrintRule(r *apiextensionsv1.ValidationRule) PrintedRule {
	return PrintedRule{
		Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression,
		Reason: r.Reason, FieldPath: r.FieldPath, OptionalOldSelf: r.OptionalOldSelf,
	}
}

func printedItems(s *apiextensionsv1.JSONSchemaPropsOrArray) *PrintedOrArray {
	if s == nil {
		return nil
	}
	return &PrintedOrArray{Schema: Print(s.Schema), JSONSchemas: printedList(s.JSONSchemas)}
}

func printedOrBool(s *apiextensionsv1.JSONSchemaPropsOrBool) *PrintedOrBool {
	if s == nil {
		return nil
	}
	return &PrintedOrBool{Allows: s.Allows, Schema: Print(s.Schema)}
}

func printedList(list []Props) []Printed {
	if list == nil {
		return nil
	}
	out := make([]Printed, len(list))
	for i := range list {
		out[i] = *Print(&list[i])
	}
	return out
}

func printedMap(m map[string]Props) map[string]Printed {
	if m == nil {
		return nil
	}
	out := make(map[string]Printed, len(m))
	for name, s := range m {
		out[name] = *Print(&s)
	}
	return out
}

// printedJSON returns the value of a default, an example or an enum entry. For null and for invalid JSON it returns a
// pointer to nil.
func printedJSON(j *apiextensionsv1.JSON) *any {
	if j == nil {
		return nil
	}
	var v any
	if holdsValue(j) {
		if err := json.Unmarshal(j.Raw, &v); err != nil {
			v = nil
		}
	}
	return &v
}
