package rule

import "k8s.io/apiserver/pkg/cel/common"

// schemaOf wraps the schema of a value so that looking at the value's elements and members keeps watch: upstream's values ask their schema whenever
// they convert one (k8s.io/apiserver pkg/cel/common, UnstructuredToVal). It is worth its tables for large values only.
func (s *stopper) schemaOf(of common.Schema) common.Schema {
	if of == nil {
		return nil
	}
	return &watchedSchema{Schema: of, s: s}
}

// watchedSchema asks at each question whether to go on. What lies below is made once an evaluation.
type watchedSchema struct {
	common.Schema
	s          *stopper
	items      common.Schema
	properties map[string]common.Schema
	additional common.SchemaOrBool
	made       bool
}

func (w *watchedSchema) below() {
	if w.made {
		return
	}
	w.made = true
	if items := w.Schema.Items(); items != nil {
		w.items = w.s.schemaOf(items)
	}
	if properties := w.Schema.Properties(); properties != nil {
		w.properties = make(map[string]common.Schema, len(properties))
		for name, p := range properties {
			w.properties[name] = w.s.schemaOf(p)
		}
	}
	if a := w.Schema.AdditionalProperties(); a != nil {
		w.additional = schemaOrBool{schema: w.s.schemaOf(a.Schema()), allows: a.Allows()}
	}
}

// IsXIntOrString is the first question about a value that is no null.
func (w *watchedSchema) IsXIntOrString() bool {
	w.s.poll()
	return w.Schema.IsXIntOrString()
}

func (w *watchedSchema) Nullable() bool {
	w.s.poll()
	return w.Schema.Nullable()
}

func (w *watchedSchema) Items() common.Schema {
	w.below()
	return w.items
}

// Properties is asked for each member that is looked for.
func (w *watchedSchema) Properties() map[string]common.Schema {
	w.s.poll()
	w.below()
	return w.properties
}

func (w *watchedSchema) AdditionalProperties() common.SchemaOrBool {
	w.s.poll()
	w.below()
	return w.additional
}

// WithTypeAndObjectMeta is the schema itself, as that of a closure.Type.
func (w *watchedSchema) WithTypeAndObjectMeta() common.Schema { return w }
