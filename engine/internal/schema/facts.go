package schema

// Facts describes what a schema and all schemas below it contain.
type Facts struct {
	// Rules, Defaults and Sets report whether any schema has x-kubernetes-validations, a default (also null), and a list
	// of type set. Unsupported is that of the function.
	Rules, Defaults, Sets, Unsupported bool
	// Formats are the distinct formats and their types.
	Formats map[Format]struct{}
}

// Format is a format and the type of the schema that has it.
type Format struct{ Name, Type string }

// factsOf returns the Facts of a schema, also nil.
func factsOf(s *Props) *Facts {
	f := &Facts{}
	Any(s, func(s *Props) bool {
		f.Rules = f.Rules || len(s.XValidations) > 0
		f.Defaults = f.Defaults || s.Default != nil
		f.Sets = f.Sets || s.XListType != nil && *s.XListType == "set"
		f.Unsupported = f.Unsupported || SaysUnsupported(s)
		if s.Format != "" {
			if f.Formats == nil {
				f.Formats = map[Format]struct{}{}
			}
			f.Formats[Format{s.Format, s.Type}] = struct{}{}
		}
		return false
	})
	return f
}

// Survey holds the Facts of the schemas of one CRD, which must stay in place. A nil Survey holds nothing.
type Survey map[*Props]*Facts

// Of returns the Facts of a schema.
func (v Survey) Of(s *Props) *Facts {
	f := v[s]
	if f == nil {
		f = factsOf(s)
		if v != nil {
			v[s] = f
		}
	}
	return f
}

// Unsupported is the function Unsupported for a schema of the Survey.
func (v Survey) Unsupported(s *Props) error {
	if !v.Of(s).Unsupported {
		return nil
	}
	return firstUnsupported(s)
}
