package engine

import "github.com/crdeval/crdeval/engine/internal/compare"

// ChangeKind says in one word, stable across releases, what changed.
type ChangeKind string

// The kinds of changes to what all versions share.
const (
	NameChanged                  = ChangeKind(compare.NameChanged)     // metadata.name: it is another CRD
	GroupChanged                 = ChangeKind(compare.GroupChanged)    // spec.group
	ScopeChanged                 = ChangeKind(compare.ScopeChanged)    // spec.scope
	PluralChanged                = ChangeKind(compare.PluralChanged)   // spec.names.plural
	KindChanged                  = ChangeKind(compare.KindChanged)     // spec.names.kind
	ListKindChanged              = ChangeKind(compare.ListKindChanged) // spec.names.listKind
	SingularChanged              = ChangeKind(compare.SingularChanged) // spec.names.singular
	ShortNameAdded               = ChangeKind(compare.ShortNameAdded)
	ShortNameRemoved             = ChangeKind(compare.ShortNameRemoved)
	CategoryAdded                = ChangeKind(compare.CategoryAdded)
	CategoryRemoved              = ChangeKind(compare.CategoryRemoved)
	ConversionStrategyChanged    = ChangeKind(compare.ConversionStrategyChanged)    // None instead of Webhook, or the other way round
	ConversionWebhookChanged     = ChangeKind(compare.ConversionWebhookChanged)     // another webhook, authority or version of ConversionReview
	PreserveUnknownFieldsChanged = ChangeKind(compare.PreserveUnknownFieldsChanged) // spec.preserveUnknownFields
	MetadataChanged              = ChangeKind(compare.MetadataChanged)              // labels, annotations and finalizers of the CRD
)

// The kinds of changes to versions and to what they have beside a schema.
const (
	VersionAdded              = ChangeKind(compare.VersionAdded)
	VersionRemoved            = ChangeKind(compare.VersionRemoved)
	VersionServed             = ChangeKind(compare.VersionServed)   // served: true
	VersionUnserved           = ChangeKind(compare.VersionUnserved) // served: false
	VersionDeprecated         = ChangeKind(compare.VersionDeprecated)
	VersionUndeprecated       = ChangeKind(compare.VersionUndeprecated)
	DeprecationWarningChanged = ChangeKind(compare.DeprecationWarningChanged)
	StorageMoved              = ChangeKind(compare.StorageMoved)       // another version is the storage version
	StorageLosesFields        = ChangeKind(compare.StorageLosesFields) // the storage version cannot hold fields of a version, which it could before or which is new; New lists them
	VersionHidesFields        = ChangeKind(compare.VersionHidesFields) // a version lacks fields of the storage version, which it had before or as it is new; New lists them
	StatusAdded               = ChangeKind(compare.StatusAdded)
	StatusRemoved             = ChangeKind(compare.StatusRemoved)
	ScaleAdded                = ChangeKind(compare.ScaleAdded)
	ScaleRemoved              = ChangeKind(compare.ScaleRemoved)
	ScaleChanged              = ChangeKind(compare.ScaleChanged) // a path of the scale subresource
	ColumnAdded               = ChangeKind(compare.ColumnAdded)  // a printer column
	ColumnRemoved             = ChangeKind(compare.ColumnRemoved)
	ColumnChanged             = ChangeKind(compare.ColumnChanged) // a printer column of the same name
	SelectableFieldAdded      = ChangeKind(compare.SelectableFieldAdded)
	SelectableFieldRemoved    = ChangeKind(compare.SelectableFieldRemoved)
	SchemaAdded               = ChangeKind(compare.SchemaAdded)   // a version without a schema has one (v1beta1)
	SchemaRemoved             = ChangeKind(compare.SchemaRemoved) // a version has no schema any more
)

// The kinds of changes to schemas.
const (
	DocumentationChanged     = ChangeKind(compare.DocumentationChanged) // title, description, example, externalDocs: one change for all of a version
	TypeChanged              = ChangeKind(compare.TypeChanged)          // type and x-kubernetes-int-or-string
	NullableAdded            = ChangeKind(compare.NullableAdded)
	NullableRemoved          = ChangeKind(compare.NullableRemoved)
	FormatAdded              = ChangeKind(compare.FormatAdded) // a format that Kubernetes knows for the type; others have no consequence
	FormatRemoved            = ChangeKind(compare.FormatRemoved)
	FormatChanged            = ChangeKind(compare.FormatChanged)
	EnumAdded                = ChangeKind(compare.EnumAdded)   // an enum where there was none
	EnumRemoved              = ChangeKind(compare.EnumRemoved) // the whole enum is gone
	EnumValueAdded           = ChangeKind(compare.EnumValueAdded)
	EnumValueRemoved         = ChangeKind(compare.EnumValueRemoved)
	BoundTightened           = ChangeKind(compare.BoundTightened) // minimum, maxLength, multipleOf and all other bounds
	BoundLoosened            = ChangeKind(compare.BoundLoosened)  // likewise
	PatternAdded             = ChangeKind(compare.PatternAdded)
	PatternRemoved           = ChangeKind(compare.PatternRemoved)
	PatternChanged           = ChangeKind(compare.PatternChanged)
	RequiredAdded            = ChangeKind(compare.RequiredAdded) // a name in required; Compatible if the property has a default
	RequiredRemoved          = ChangeKind(compare.RequiredRemoved)
	PropertyAdded            = ChangeKind(compare.PropertyAdded)
	PropertyRemoved          = ChangeKind(compare.PropertyRemoved)  // a property that was renamed is one that was removed and one that was added
	MapValuesAdded           = ChangeKind(compare.MapValuesAdded)   // additionalProperties
	MapValuesRemoved         = ChangeKind(compare.MapValuesRemoved) // likewise
	MapValuesChanged         = ChangeKind(compare.MapValuesChanged) // between a schema, true and false
	ItemsAdded               = ChangeKind(compare.ItemsAdded)
	ItemsRemoved             = ChangeKind(compare.ItemsRemoved)
	DefaultAdded             = ChangeKind(compare.DefaultAdded) // of a property that was there before
	DefaultRemoved           = ChangeKind(compare.DefaultRemoved)
	DefaultChanged           = ChangeKind(compare.DefaultChanged)
	PreserveUnknownAdded     = ChangeKind(compare.PreserveUnknownAdded) // x-kubernetes-preserve-unknown-fields
	PreserveUnknownRemoved   = ChangeKind(compare.PreserveUnknownRemoved)
	EmbeddedResourceAdded    = ChangeKind(compare.EmbeddedResourceAdded) // x-kubernetes-embedded-resource
	EmbeddedResourceRemoved  = ChangeKind(compare.EmbeddedResourceRemoved)
	ListTypeChanged          = ChangeKind(compare.ListTypeChanged)          // x-kubernetes-list-type
	ListMapKeysChanged       = ChangeKind(compare.ListMapKeysChanged)       // x-kubernetes-list-map-keys
	MapTypeChanged           = ChangeKind(compare.MapTypeChanged)           // x-kubernetes-map-type
	LogicalOperatorTightened = ChangeKind(compare.LogicalOperatorTightened) // allOf, anyOf, oneOf, not: some values are refused for sure
	LogicalOperatorLoosened  = ChangeKind(compare.LogicalOperatorLoosened)  // likewise: none is
	LogicalOperatorChanged   = ChangeKind(compare.LogicalOperatorChanged)   // likewise: it is not certain
	RuleAdded                = ChangeKind(compare.RuleAdded)                // x-kubernetes-validations
	RuleRemoved              = ChangeKind(compare.RuleRemoved)
	RuleChanged              = ChangeKind(compare.RuleChanged)        // another text, or optionalOldSelf, of what is else the same rule
	RuleMessageChanged       = ChangeKind(compare.RuleMessageChanged) // message, messageExpression, reason or fieldPath
)
