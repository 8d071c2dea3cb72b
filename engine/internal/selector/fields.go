// Package selector parses and matches field selectors over the selectable fields of custom resources.
package selector

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/jsonpath"

	ourpath "github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Field is a selectable field and its value in an object, "" if it is absent.
type Field struct {
	// Field is the name in selectors: metadata.name, spec.color. Value is "" for a missing field.
	Field, Value string
}

// Fields lists the selectable fields of one version. It is immutable and safe for concurrent use.
//
// Upstream: registry/customresource/strategy.go, GetAttrs; apiserver/conversion/converter.go, ConvertFieldLabel.
type Fields struct {
	// Names are the names in selectors: name, and namespace of namespaced objects, then the declared fields in order.
	Names []string
	// Size is the number of bytes that it retains.
	Size   int64
	fields []selectable // the declared fields
}

// selectable is a declared field.
type selectable struct {
	// slot is its index in Fields.Names. The last of two fields with one name counts; registration rejects duplicates.
	slot int
	// path holds the member names of a plain JSONPath. It is nil for any other JSONPath; upstream's library then parses
	// text.
	path []string
	text string
	// err is the parse error of the JSONPath. It only fails objects.
	err error
}

// CompileFields returns the selectable fields of a version.
func CompileFields(v *apiextensionsv1.CustomResourceDefinitionVersion, namespaced bool) *Fields {
	s := &Fields{Names: []string{"metadata.name", "metadata.namespace"}, Size: int64(unsafe.Sizeof(Fields{}))}
	if !namespaced {
		s.Names = s.Names[:1]
	}
	for _, f := range v.SelectableFields {
		name, one := strings.TrimPrefix(f.JSONPath, "."), compileField(f.JSONPath)
		if one.slot = slices.Index(s.Names, name); one.slot < 0 {
			one.slot = len(s.Names)
			s.Names = append(s.Names, name)
		}
		s.fields = append(s.fields, one)
		s.Size += int64(unsafe.Sizeof(one)) + int64(len(name)+len(one.text)) + int64(1+len(one.path))*int64(unsafe.Sizeof(""))
	}
	return s
}

func compileField(path string) selectable {
	f := selectable{text: "{" + path + "}", path: ourpath.PlainNames(path)}
	if f.path == nil {
		if _, err := jsonpath.Parse("selectableField", f.text); err != nil {
			f.err = fmt.Errorf("unexpected error parsing jsonPath: %w", err)
		}
	}
	return f
}

// Fields returns the fields of an object in the order of Names. The error is upstream's for an object that it cannot
// list.
func (s *Fields) Fields(d *tree.Doc, root uint32) ([]Field, error) {
	list := make([]Field, len(s.Names))
	for i, name := range s.Names {
		list[i].Field = name
	}
	for i, name := range s.Names[:min(len(s.Names), 2)] {
		key, own := strings.CutPrefix(name, "metadata.")
		c := d.Field(d.Field(root, "metadata"), key)
		if own && d.Nodes[c].Kind == tree.String {
			list[i].Value = textOf(d, c)
		}
	}
	for i := range s.fields {
		text, err := s.fields[i].of(d, root)
		if err != nil {
			return nil, err
		}
		list[s.fields[i].slot].Value = text
	}
	return list, nil
}

var errManyResults = errors.New("unexpectedly received more than one JSON path result")

// of returns the value of the field in an object.
func (f *selectable) of(d *tree.Doc, root uint32) (string, error) {
	if f.err != nil {
		return "", f.err
	}
	if f.path == nil {
		return f.evaluate(d, root)
	}
	for _, name := range f.path {
		if root = d.Field(root, name); root == 0 {
			return "", nil
		}
	}
	return textOf(d, root), nil
}

// evaluate evaluates any other path with upstream's library. A parsed JSONPath has state, so each object uses a new
// one. The library panics on some paths, such as two ranges.
func (f *selectable) evaluate(d *tree.Doc, root uint32) (text string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			text, err = "", fmt.Errorf("unexpected error finding value with jsonPath: %v", cause)
		}
	}()
	path := jsonpath.New("selectableField").AllowMissingKeys(true)
	if err := path.Parse(f.text); err != nil {
		return "", fmt.Errorf("unexpected error parsing jsonPath: %w", err)
	}
	results, err := path.FindResults(d.Any(root))
	switch {
	case err != nil:
		return "", fmt.Errorf("unexpected error finding value with jsonPath: %w", err)
	case len(results) == 0 || len(results[0]) == 0:
		return "", nil
	case len(results) > 1 || len(results[0]) > 1:
		return "", errManyResults
	}
	if v := results[0][0].Interface(); v != nil {
		return fmt.Sprint(v), nil
	}
	return "", nil
}

// textOf returns fmt.Sprint of a value, or "" for null.
func textOf(d *tree.Doc, node uint32) string {
	switch d.Nodes[node].Kind {
	case tree.Null:
		return ""
	case tree.String:
		return strings.Clone(d.Str(node))
	}
	return fmt.Sprint(d.Any(node))
}

// Parse parses a field selector: comma-separated terms that must all match. A term is a field, an operator (=, == or
// !=) and a value. In a value, a backslash escapes a comma, an equals sign and a backslash. The error is upstream's.
//
// Upstream: endpoints/handlers/get.go, listOpts, which uses the parser of apimachinery and then converts each label.
func (s *Fields) Parse(selector string) (fields.Selector, error) {
	terms, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	return terms.Transform(func(label, value string) (string, string, error) {
		if !slices.Contains(s.Names, label) {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return label, value, nil
	})
}
