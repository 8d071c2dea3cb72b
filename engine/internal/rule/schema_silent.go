package rule

import "k8s.io/apiserver/pkg/cel/common"

// silent answers what neither CEL declarations nor CEL values ask of a schema, and what few schemas have.
type silent struct{}

func (silent) Format() string                        { return "" }
func (silent) Pattern() string                       { return "" }
func (silent) Minimum() *float64                     { return nil }
func (silent) IsExclusiveMinimum() bool              { return false }
func (silent) Maximum() *float64                     { return nil }
func (silent) IsExclusiveMaximum() bool              { return false }
func (silent) MultipleOf() *float64                  { return nil }
func (silent) MinItems() *int64                      { return nil }
func (silent) MaxItems() *int64                      { return nil }
func (silent) MinLength() *int64                     { return nil }
func (silent) MaxLength() *int64                     { return nil }
func (silent) MinProperties() *int64                 { return nil }
func (silent) MaxProperties() *int64                 { return nil }
func (silent) Required() []string                    { return nil }
func (silent) Enum() []any                           { return nil }
func (silent) UniqueItems() bool                     { return false }
func (silent) Default() any                          { return nil }
func (silent) AllOf() []common.Schema                { return nil }
func (silent) OneOf() []common.Schema                { return nil }
func (silent) AnyOf() []common.Schema                { return nil }
func (silent) Not() common.Schema                    { return nil }
func (silent) XMapType() string                      { return "" }
func (silent) XValidations() []common.ValidationRule { return nil }

// schemaOrBool is additionalProperties.
type schemaOrBool struct {
	schema common.Schema
	allows bool
}

func (s schemaOrBool) Schema() common.Schema { return s.schema }
func (s schemaOrBool) Allows() bool          { return s.allows }
