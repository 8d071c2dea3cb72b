package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/server/settings"
)

// node is a value in the access file. The zero value is that of a missing field.
type node struct {
	*yaml.Node
	path string // such as bindings[0].role
	errs *[]error
}

// parseDocument returns the root of the only document. Problems in it are added to errs.
func parseDocument(text []byte, errs *[]error) (node, error) {
	root := node{Node: &yaml.Node{Kind: yaml.MappingNode, Line: 1}, errs: errs}
	d, document := yaml.NewDecoder(bytes.NewReader(text)), yaml.Node{}
	if err := d.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return root, err
	}
	var second yaml.Node
	if err := d.Decode(&second); err == nil {
		return root, fmt.Errorf("line %d: the file has more than one document", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return root, err
	}
	if len(document.Content) > 0 && document.Content[0].Tag != "!!null" {
		root.Node = document.Content[0]
	}
	return root, nil
}

// wrong adds an error about the value.
func (n node) wrong(format string, args ...any) {
	at := fmt.Sprintf("line %d: ", n.Line)
	if n.path != "" {
		at += n.path + ": "
	}
	*n.errs = append(*n.errs, errors.New(at+fmt.Sprintf(format, args...)))
}

// child returns a value in this one.
func (n node) child(v *yaml.Node, path string) node {
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	return node{v, strings.TrimPrefix(path, "."), n.errs}
}

// fields returns the fields of a mapping that are not null. Unknown and repeated fields are errors.
func (n node) fields(valid ...string) map[string]node {
	all, names := map[string]node{}, strings.Join(valid, ", ")
	if n.Kind != yaml.MappingNode {
		n.wrong("the value is not a mapping: use the fields %s", names)
		return all
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		path := n.path + "." + name
		switch _, repeated := all[name]; {
		case !slices.Contains(valid, name):
			n.child(n.Content[i], path).wrong("unknown field: use %s", names)
		case repeated:
			n.child(n.Content[i], path).wrong("the field is set twice: remove one of the two")
		case n.Content[i+1].Tag != "!!null":
			all[name] = n.child(n.Content[i+1], path)
		}
	}
	return all
}

// field returns a required field of the mapping n. If it is missing, it is an error, which ends with what to do.
func (n node) field(all map[string]node, name, action string) node {
	f := all[name]
	if f.Node == nil && n.Kind == yaml.MappingNode {
		n.child(n.Node, n.path+"."+name).wrong("the field is missing: %s", action)
	}
	return f
}

// list returns the items of a list.
func (n node) list() (items []node) {
	if n.Node == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		n.wrong("the value is not a list: write [a, b]")
		return nil
	}
	for i, item := range n.Content {
		items = append(items, n.child(item, fmt.Sprintf("%s[%d]", n.path, i)))
	}
	return items
}

// names returns a list of names of catalogs, users or groups.
func (n node) names() (names []string) {
	for _, item := range n.list() {
		if item.Kind != yaml.ScalarNode || item.Value == "" || item.Tag == "!!null" {
			item.wrong("the value is not a name: write a text that is not empty")
		}
		names = append(names, item.Value)
	}
	return names
}

// catalogs returns the names in the required field catalogs.
func (n node) catalogs(all map[string]node) []string {
	const action = "list names of catalogs, or use ['*'] for all catalogs"
	list := n.field(all, "catalogs", action)
	names := list.names()
	if len(names) == 0 && list.Node != nil && list.Kind == yaml.SequenceNode {
		list.wrong("the list is empty: %s", action)
	}
	return names
}

// number returns a number of at least 1, or 0 if the field is missing.
func (n node) number() (number int) {
	if n.Node == nil {
		return 0
	}
	if err := n.Decode(&number); err != nil || number < 1 {
		n.wrong("%q is not a number of at least 1: remove the line if the catalog has no such quota", n.Value)
	}
	return number
}

// bytes returns a size of at least 1, or 0 if the field is missing.
func (n node) bytes() int64 {
	if n.Node == nil {
		return 0
	}
	var bytes settings.Bytes
	if err := bytes.UnmarshalText([]byte(n.Value)); err != nil {
		n.wrong("%v", err)
	} else if bytes < 1 {
		n.wrong("%q is less than 1: remove the line if the catalog has no such quota", n.Value)
	}
	return int64(bytes)
}
