// Package selector knows the fields of custom resources that field selectors may name, and parses and matches field selectors.
package selector

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/value"
)

// The fields of metadata that selectors may name; objects without a namespace have the name alone.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// Field is one field that selectors may name, and what it is of an object: "" if it is absent.
type Field struct {
	Name, Value string
}

// Fields are the fields of the objects of one version that field selectors may name: name and namespace, then those that the version
// declares, in its order. It is immutable; any number of goroutines share it.
//
// Upstream: registry/customresource/strategy.go, GetAttrs; apiserver/conversion/converter.go, ConvertFieldLabel.
type Fields struct {
	names  []string
	fields []selectable // those that the version declares
	size   int64
}

// selectable is a declared field.
type selectable struct {
	// slot is its place in Fields.names. Of two fields with one name, which registration refuses, the last counts.
	slot int
	// path are the members that lead to it, nil if its JSONPath is more than names joined by dots: then text is what upstream parses.
	path []string
	text string
	// err is why the JSONPath cannot be parsed. Only objects are refused for it.
	err error
}

// What most versions have.
var (
	clusterFields   = &Fields{names: []string{nameField}}
	namespaceFields = &Fields{names: []string{nameField, namespaceField}}
)

// CompileFields compiles what a version's objects can be selected by.
func CompileFields(v *apiextensionsv1.CustomResourceDefinitionVersion, namespaced bool) *Fields {
	plain := clusterFields
	if namespaced {
		plain = namespaceFields
	}
	if len(v.SelectableFields) == 0 {
		return plain
	}
	s := &Fields{names: slices.Clone(plain.names), size: int64(unsafe.Sizeof(Fields{}))}
	for _, f := range v.SelectableFields {
		name, one := strings.TrimPrefix(f.JSONPath, "."), compileField(f.JSONPath)
		if one.slot = slices.Index(s.names, name); one.slot < 0 {
			one.slot = len(s.names)
			s.names = append(s.names, name)
		}
		s.fields = append(s.fields, one)
		s.size += int64(unsafe.Sizeof(one)) + int64(len(name)+len(one.text)) + int64(1+len(one.path))*int64(unsafe.Sizeof(""))
	}
	return s
}

func compileField(path string) selectable {
	f := selectable{text: "{" + path + "}"}
	parsed, err := jsonpath.Parse("selectableField", f.text)
	if err != nil {
		f.err = fmt.Errorf("unexpected error parsing jsonPath: %w", err)
		return f
	}
	f.path = plainPath(parsed)
	return f
}

// plainPath gives the names of a JSONPath that is nothing but names, {.spec.color}; nil for any other.
func plainPath(p *jsonpath.Parser) []string {
	if len(p.Root.Nodes) != 1 {
		return nil
	}
	list, ok := p.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return nil
	}
	path := make([]string, 0, len(list.Nodes))
	for _, n := range list.Nodes {
		name, ok := n.(*jsonpath.FieldNode)
		if !ok {
			return nil
		}
		path = append(path, name.Value)
	}
	if len(path) == 0 {
		return nil
	}
	return path
}

// Size is what it retains, in bytes.
func (s *Fields) Size() int64 { return s.size }

// Names lists the fields as selectors write them. The caller must not change the slice.
func (s *Fields) Names() []string { return s.names }

// Fields gives the fields of an object, in the order of Names. The error is upstream's, for an object that it could not list.
func (s *Fields) Fields(d *value.Doc, root uint32) ([]Field, error) {
	list := make([]Field, len(s.names))
	for i, name := range s.names {
		list[i].Name = name
	}
	meta := d.Field(root, "metadata")
	list[0].Value = text(d, meta, "name")
	if len(list) > 1 && s.names[1] == namespaceField {
		list[1].Value = text(d, meta, "namespace")
	}
	for i := range s.fields {
		shown, err := s.fields[i].of(d, root)
		if err != nil {
			return nil, err
		}
		list[s.fields[i].slot].Value = shown
	}
	return list, nil
}

// text is a member that is a string, "" for any other.
func text(d *value.Doc, object uint32, key string) string {
	if c := d.Field(object, key); c != 0 && d.Nodes[c].Kind == value.String {
		return strings.Clone(d.Str(c))
	}
	return ""
}

var errManyResults = errors.New("unexpectedly received more than one JSON path result")

// of is what the field is of an object.
func (f *selectable) of(d *value.Doc, root uint32) (string, error) {
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
	return shown(d, root), nil
}

// evaluate leaves a path of another form to the library that upstream has. A JSONPath holds state while it is evaluated, so each object has its own;
// and of some it panics, such as two ranges, which the name of a property may be taken for.
func (f *selectable) evaluate(d *value.Doc, root uint32) (text string, err error) {
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

// shown is what fmt.Sprint makes of a value, and "" of null.
func shown(d *value.Doc, node uint32) string {
	switch d.Nodes[node].Kind {
	case value.Null:
		return ""
	case value.False:
		return "false"
	case value.True:
		return "true"
	case value.Int:
		return strconv.FormatInt(d.Int(node), 10)
	case value.Float:
		return strconv.FormatFloat(d.Float(node), 'g', -1, 64)
	case value.String:
		return strings.Clone(d.Str(node))
	}
	return fmt.Sprint(d.Any(node))
}
