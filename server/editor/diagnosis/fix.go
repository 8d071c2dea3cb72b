package diagnosis

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
)

// Fix is a correction of a document.
type Fix struct {
	Title string
	// Preferred reports whether the fix is probably what the user wants.
	Preferred bool
	// Edits do not overlap, are sorted, and refer to the text of the document.
	Edits []Edit
}

// maxValues bounds the values that are offered for a field.
const maxValues = 10

// Fixes returns the fixes of a finding. schema returns the schema of a field, or nil.
func (d *Document) Fixes(f *Finding, schema func(pointer string) *Schema) []Fix {
	switch of := f.Source.(type) {
	case *engine.FieldChange:
		return d.Unknown(of)
	case *engine.Violation:
		if f.Type == engine.TypeUnknownField {
			return d.Unknown(&engine.FieldChange{Path: f.Field, Pointer: f.Pointer, Hint: f.Hint})
		}
		return d.violation(of, schema(f.Pointer))
	case *engine.Warning:
		return d.warning(of, f.CRD)
	case *Cost:
		return d.SetBound(of.Version, of.Culprit)
	case error:
		return d.failure(of, f)
	}
	return nil
}

// warning returns the fixes of a warning. crd is that of the object, nil for a CRD.
func (d *Document) warning(w *engine.Warning, crd *workspace.CRD) []Fix {
	switch {
	case w.Type == engine.TypeUnknownField:
		field := w.Field
		if field == "" {
			field = Dotted(w.Pointer)
		}
		return d.Unknown(&engine.FieldChange{Path: field, Pointer: w.Pointer, Hint: w.Hint})
	case w.Type == engine.TypeDeprecated && crd != nil && crd.Compiled() != nil && crd.Compiled().Definition != nil:
		return d.Deprecated(crd.Group, crd.Compiled().Definition.Versions())
	case w.Type == engine.TypeWarning && slices.Contains(uselessKeywords, name(w.Pointer)):
		return d.Remove(w.Pointer, name(w.Pointer))
	}
	return nil
}

// uselessKeywords are the keywords of a schema without effect, if API servers send a warning about them.
var uselessKeywords = []string{"format", "x-kubernetes-list-type"}

// failure returns the fixes of a document that could not be evaluated.
func (d *Document) failure(err error, f *Finding) []Fix {
	var values []json.RawMessage
	add := func(v string) { values = append(values, document.AppendString(nil, v)) }
	if without := (*workspace.WithoutCRDError)(nil); errors.As(err, &without) && without.Similar != "" {
		if without.Similar != d.Kind {
			add(without.Similar)
			return d.Change("/kind", values...)
		}
		add(without.SimilarGroup + "/" + workspace.VersionOf(without.APIVersion))
		return d.Change("/apiVersion", values...)
	}
	reason := engine.ReasonOf(err)
	if f.CRD == nil || reason != engine.ReasonVersionNotFound && reason != engine.ReasonVersionNotServed {
		return nil
	}
	for _, v := range f.CRD.Versions {
		if v.Served {
			add(f.CRD.Group + "/" + v.Name)
		}
	}
	return d.Change("/apiVersion", values...)
}

// Deprecated returns the fix of a deprecated version of an object: the first of the versions by priority that is served
// and not deprecated.
func (d *Document) Deprecated(group string, of []engine.VersionInfo) []Fix {
	next := slices.IndexFunc(of, func(v engine.VersionInfo) bool { return v.Served && !v.Deprecated })
	if next < 0 {
		return nil
	}
	return d.Change("/apiVersion", document.AppendString(nil, group+"/"+of[next].Name))
}

// violation returns the fixes of a violation of an object or a CRD. s is the schema of the field, or nil.
func (d *Document) violation(v *engine.Violation, s *Schema) (list []Fix) {
	hinted := v.Hint != nil && v.Hint.Replacement != nil
	switch {
	case v.Rule != nil || v.Pointer == "":
		return nil
	case v.Type == "FieldValueRequired":
		return d.add(v.Pointer, s)
	case v.Step != engine.StepSchema && v.Step != engine.StepCRD && !hinted:
		return nil
	}
	var values []json.RawMessage
	if hinted {
		values = append(values, v.Hint.Replacement)
	}
	switch {
	case s == nil:
	case v.Type == "FieldValueNotSupported":
		values = append(values, s.Enum...)
	case strings.HasSuffix(v.SchemaPointer, "/minimum") && s.Minimum != nil && !s.ExclusiveMinimum:
		values = append(values, json.RawMessage(*s.Minimum))
	case strings.HasSuffix(v.SchemaPointer, "/maximum") && s.Maximum != nil && !s.ExclusiveMaximum:
		values = append(values, json.RawMessage(*s.Maximum))
	}
	list = d.Change(v.Pointer, values...)
	if hinted && len(list) > 0 {
		list[0].Preferred = true
	}
	return list
}

// Change returns the fixes that give a field one of several values.
func (d *Document) Change(pointer string, values ...json.RawMessage) (list []Fix) {
	p, ok := d.Find(pointer)
	if !ok {
		return nil
	}
	offered := map[string]bool{}
	for _, v := range values {
		if text := string(v); !offered[text] && len(offered) < maxValues {
			offered[text] = true
			list = append(list, d.fix("Change to "+text, false, change{set: pointer, value: v}, d.replace(p, v))...)
		}
	}
	return list
}

// add returns the fix that adds a missing field with a fitting value.
func (d *Document) add(pointer string, s *Schema) []Fix {
	object, ok := d.Find(Parent(pointer))
	if !ok || s == nil {
		return nil
	}
	sample, _ := json.Marshal(s.sample(0)) // maps, lists and scalars always encode
	return d.fix("Add "+name(pointer), true, change{set: pointer, value: sample},
		d.insert(object, name(pointer), sample)...)
}

// Unknown returns the fixes of a field that the schema does not declare.
func (d *Document) Unknown(c *engine.FieldChange) (list []Fix) {
	p, ok := d.Find(c.Pointer)
	if !ok || !p.HasKey() {
		return nil
	}
	if c.Hint != nil && c.Hint.Pointer != "" {
		to := c.Hint.Pointer
		sent := d.JSON(c.Pointer)
		both := change{remove: c.Pointer, set: to, value: sent}
		if Parent(to) == Parent(c.Pointer) {
			list = d.fix("Rename to "+name(to), true, both, d.rename(p, name(to)))
		} else if object, ok := d.Find(Parent(to)); ok {
			candidates := d.insert(object, name(to), sent)
			for i := range candidates {
				candidates[i] = append(candidates[i], d.remove(p)...)
			}
			list = d.fix("Move to "+Dotted(to), true, both, candidates...)
		}
	}
	return append(list, d.Remove(c.Pointer, c.Path)...)
}

// Remove returns the fix that removes a member, which its title names.
func (d *Document) Remove(pointer, title string) []Fix {
	p, ok := d.Find(pointer)
	if !ok || !p.HasKey() {
		return nil
	}
	return d.fix("Remove "+title, false, change{remove: pointer}, d.remove(p))
}

// SetBound returns the fix that sets the suggested bound in the schema of a version of a CRD.
func (d *Document) SetBound(version int, c rules.Culprit) []Fix {
	pointer := d.SchemaPointer(version) + c.SchemaPointer
	number := json.RawMessage(strconv.FormatInt(c.Suggested, 10))
	field := SchemaPath(c.SchemaPointer)
	if field == "" {
		field = "the root"
	}
	to := change{set: pointer + "/" + c.Keyword, value: number}
	title := fmt.Sprintf("Set %s of %s to %s", c.Keyword, field, number)
	if current, ok := d.Find(to.set); ok {
		return d.fix(title, true, to, d.replace(current, number))
	}
	if object, ok := d.Find(pointer); ok {
		return d.fix(title, true, to, d.insert(object, c.Keyword, number)...)
	}
	return nil
}

// SchemaPointer returns the pointer of the schema of a version of a CRD.
func (d *Document) SchemaPointer(version int) string {
	pointer := "/spec/versions/" + strconv.Itoa(version) + "/schema/openAPIV3Schema"
	if _, ok := d.Find(pointer); !ok {
		return "/spec/validation/openAPIV3Schema" // v1beta1
	}
	return pointer
}

// SchemaPath returns a pointer in a schema as the path of the field: spec.jobs[*].name.
func SchemaPath(pointer string) string {
	var path strings.Builder
	tokens := document.SplitPointer(pointer)
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "properties":
			if i++; i < len(tokens) {
				if path.Len() > 0 {
					path.WriteByte('.')
				}
				path.WriteString(tokens[i])
			}
		case "items", "additionalProperties":
			path.WriteString("[*]")
		default: // a keyword, such as the rule itself
			return path.String()
		}
	}
	return path.String()
}
