package schema

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// types lists the types of OpenAPI v3.
var types = []string{"array", "boolean", "integer", "number", "object", "string"}

// Keywords returns errors for rejected and mutually exclusive keywords in a schema and all schemas below it. It visits
// properties in name order. A nil schema has no errors. Checks that lenient names are skipped. The search stops when
// the budget is exhausted, and the result is then incomplete.
//
// Keywords checks only the form of x-kubernetes-validations. It calls rules to compile them; nil means that they are
// not compiled.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
// ValidateCustomResourceDefinitionOpenAPISchema)
func Keywords(path *field.Path, s *Props, rules Rules, budget *violation.Budget, lenient Lenient) field.ErrorList {
	c := checker{budget: budget, lenient: lenient}
	c.keywords(s, path, position{root: true, rules: rules})
	return c.errs
}

// Rules follows the walk of Keywords along the spine and compiles the rules of each schema.
type Rules interface {
	// Property, Values and Items return the Rules of a property, of additionalProperties and of items.
	Property(name string, s *Props) Rules
	Values(s *Props) Rules
	Items(s *Props) Rules
	// Compile is called for each schema that has rules and no errors in itself or below it, after all schemas below it.
	// uncorrelatable is the path of the outermost enclosing schema whose values cannot be matched with old values, or
	// nil.
	Compile(path, uncorrelatable *field.Path)
}

// position is what the keywords above a schema impose on it.
type position struct {
	root bool
	// meta is set inside apiVersion, kind and metadata of the root or of an embedded resource.
	meta bool
	// noDefaults describes the position if defaults are forbidden there, else it is "".
	noDefaults string
	// rules is nil where upstream does not compile rules: below logical operators and in rejected keywords.
	rules Rules
	// uncorrelatable is described at Rules.Compile.
	uncorrelatable *field.Path
}

// off returns the position of a schema that is not on the spine.
func (p position) off() position {
	p.root, p.rules = false, nil
	return p
}

// keywords checks a schema and all schemas below it.
func (c *checker) keywords(s *Props, path *field.Path, at position) {
	if s == nil || !c.budget.Open() {
		return
	}
	before, below := len(c.errs), at.off()

	c.unsupported(s, path, at)
	c.mapValues(s, path, at)
	var shared *Props // reused because Props is large, unless rules keep the pointer
	for _, name := range Names(s.Properties) {
		if shared == nil || at.rules != nil {
			shared = new(Props)
		}
		p := shared
		*p = s.Properties[name]
		c.keywords(p, path.Child("properties").Key(name), property(s, p, name, path, at))
	}
	clauses(s, path, func(clause *Props, _ string, _ int, path *field.Path) { c.keywords(clause, path, below) })
	for _, name := range Names(s.Definitions) {
		p := s.Definitions[name]
		c.keywords(&p, path.Child("definitions").Key(name), below)
	}
	c.items(s, path, at)
	for _, name := range Names(s.Dependencies) {
		c.keywords(s.Dependencies[name].Schema, path.Child("dependencies").Key(name), below)
	}
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		c.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
	}
	c.lists(s, path)
	c.ruleShapes(s, path)
	if len(s.XValidations) > 0 && at.rules != nil && len(c.errs) == before {
		at.rules.Compile(path, at.uncorrelatable)
	}
}

// property returns the position of property p of s, where s has the given position.
func property(s, p *Props, name string, path *field.Path, at position) position {
	below := at
	below.root = false
	if at.rules != nil {
		below.rules = at.rules.Property(name, p)
	}
	if s.XMapType != nil && *s.XMapType != "granular" && *s.XMapType != "atomic" && at.uncorrelatable == nil {
		below.uncorrelatable = path // the map type is rejected too, but after the schemas below
	}
	if (at.root || s.XEmbeddedResource) && (name == "metadata" || name == "kind" || name == "apiVersion") {
		below.meta = true
		if at.root {
			below.noDefaults = "in top-level " + name
		}
	}
	return below
}

// mapValues checks additionalProperties.
func (c *checker) mapValues(s *Props, path *field.Path, at position) {
	a := s.AdditionalProperties
	if a == nil {
		return
	}
	below := at
	below.root = false
	if at.rules != nil && a.Schema != nil {
		below.rules = at.rules.Values(a.Schema)
	}
	if len(s.Properties) != 0 && (!a.Allows || a.Schema != nil) {
		c.add(field.Forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
	}
	if below.meta {
		// Without an object, the value that would be pruned is unknown.
		below.noDefaults = "inside additionalProperties applying to object metadata"
	}
	c.keywords(a.Schema, path.Child("additionalProperties"), below)
}

// items checks the schemas of array elements. Only the elements of a list-type map can be matched with old values.
func (c *checker) items(s *Props, path *field.Path, at position) {
	if s.Items == nil {
		return
	}
	below := at.off()
	if (s.XListType == nil || *s.XListType != "map") && at.uncorrelatable == nil {
		below.uncorrelatable = path
	}
	if one := s.Items.Schema; one != nil {
		each := below
		if at.rules != nil {
			each.rules = at.rules.Items(one)
		}
		c.keywords(one, path.Child("items"), each)
	}
	for i := range s.Items.JSONSchemas {
		c.keywords(&s.Items.JSONSchemas[i], path.Child("items").Index(i), below)
	}
}

// unsupported reports keywords that Kubernetes rejects, either everywhere or at this position.
// (validation.go, specStandardValidatorV3.validate)
func (c *checker) unsupported(s *Props, path *field.Path, at position) {
	forbid := c.forbidden(path)
	if s.Type != "" && !c.lenient.AnyTypes && !slices.Contains(types, s.Type) {
		c.add(field.NotSupported(path.Child("type"), s.Type, types))
	}
	forbid(s.Default != nil && at.noDefaults != "", "default", "must not be set "+at.noDefaults)
	forbid(s.ID != "", "id", "id is not supported")
	forbid(s.AdditionalItems != nil, "additionalItems", "additionalItems is not supported")
	forbid(len(s.PatternProperties) != 0, "patternProperties", "patternProperties is not supported")
	forbid(len(s.Definitions) != 0, "definitions", "definitions is not supported")
	forbid(s.Dependencies != nil, "dependencies", "dependencies is not supported")
	forbid(s.Ref != nil, "$ref", "$ref is not supported")
	forbid(s.Type == "null", "type", "type cannot be set to null, use nullable as an alternative")
	forbid(s.Items != nil && len(s.Items.JSONSchemas) != 0, "items", "items must be a schema object and not an array")
	forbid(at.meta && s.XEmbeddedResource, "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
	forbid(s.UniqueItems && quirk.On(quirk.ForbiddenKeywords), "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
}

// Lenient lists the keyword checks that an update skips because the stored CRD already fails them. The zero value skips
// no check.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, requireValidPropertyType,
// requireAtomicSetType, requireMapListKeysMapSetValidation)
type Lenient struct {
	// AnyTypes accepts types that OpenAPI does not define.
	AnyTypes bool
	// GranularSets accepts sets whose items are not atomic.
	GranularSets bool
	// OptionalKeys accepts nullable items of sets and maps, and optional or nullable keys of maps.
	OptionalKeys bool
}

// Learn adds the checks that a stored schema fails.
func (l *Lenient) Learn(s *Props) {
	Any(s, func(s *Props) bool {
		l.AnyTypes = l.AnyTypes || s.Type != "" && !slices.Contains(types, s.Type) && quirk.On(quirk.RatchetUnknownTypes)
		if s.XListType == nil || Items(s) == nil {
			return false
		}
		listType := *s.XListType
		l.GranularSets = l.GranularSets || listType == "set" && len(setItems(Items(s), nil)) > 0 &&
			quirk.On(quirk.RatchetGranularSets)
		l.OptionalKeys = l.OptionalKeys || (listType == "set" || listType == "map") &&
			len(definite(s, listType, field.NewPath(""))) > 0 && quirk.On(quirk.RatchetOptionalListKeys)
		return false
	})
}
