package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// ReadMapping returns the mapping that is the only document of a YAML file, or nil if the file is empty.
func ReadMapping(name string) (*yaml.Node, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err // it has the name
	}
	decoder, document := yaml.NewDecoder(bytes.NewReader(text)), yaml.Node{}
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file has more than one document", name)
	}
	if document.Kind == 0 || document.Content[0].Tag == "!!null" {
		return nil, nil
	}
	mapping := document.Content[0]
	if mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: the settings must be a mapping of flags to values", name, mapping.Line)
	}
	return mapping, nil
}

// ReadFile sets settings that no flag and no variable has set to the values in a YAML file: a mapping of the names of
// flags to values. It returns all errors about the keys and about the kinds of values. Valid settings apply
// nevertheless.
func (s *Set) ReadFile(name string) error {
	mapping, err := ReadMapping(name)
	if mapping == nil {
		return err
	}
	var errs []error
	read := map[string]bool{}
	for pair := range slices.Chunk(mapping.Content, 2) {
		key, value := pair[0], Target(pair[1])
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s:%d: %s", name, key.Line, fmt.Sprintf(format, args...)))
		}
		o := s.Lookup(key.Value)
		switch {
		case o == nil || !o.InFile:
			fail("unknown setting %q: there is no such flag", key.Value)
		case read[key.Value]:
			fail("%s is set twice", key.Value)
		default:
			if err := o.CheckNode(value); err != nil {
				fail("%v", err)
				continue
			}
			o.SetNode(name, value, nil)
		}
		read[key.Value] = true
	}
	return errors.Join(errs...)
}

// Target returns the node that an alias refers to. It returns other nodes unchanged.
func Target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// CheckNode returns an error if a node of a file is not a value, or a list of values, as the setting needs it.
func (o *Setting) CheckNode(n *yaml.Node) error {
	isValue := func(n *yaml.Node) bool { return Target(n).Kind == yaml.ScalarNode && Target(n).Tag != "!!null" }
	switch {
	case n.Kind == yaml.SequenceNode && !o.IsList():
		return fmt.Errorf("%s must be a single value", o.Name)
	case isValue(n), n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return !isValue(n) }):
		return nil
	case o.IsList():
		return fmt.Errorf("%s must be a value or a list of values", o.Name)
	}
	return fmt.Errorf("%s must be a value", o.Name)
}

// SetNode sets the setting to a node that CheckNode accepts, unless a flag or a variable has set it. edit changes each
// value, unless it is nil.
func (o *Setting) SetNode(file string, n *yaml.Node, edit func(string) string) {
	var texts []string
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			texts = append(texts, Target(item).Value)
		}
	} else {
		texts = o.split(n.Value)
	}
	for i := range texts {
		if edit != nil && texts[i] != "" {
			texts[i] = edit(texts[i])
		}
	}
	o.take(fromFile, fmt.Sprintf("%s:%d", file, n.Line), texts)
}
