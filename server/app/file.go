package app

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	yaml "go.yaml.in/yaml/v3"
)

// LoadFile reads a configuration file: a YAML mapping of flag names to values. Unknown keys are errors.
func LoadFile(r io.Reader) (kong.Resolver, error) {
	var root map[string]yaml.Node
	d := yaml.NewDecoder(r)
	if err := d.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("configuration file: it has more than one document")
	}
	f := file{}
	var errs []error
	for name, node := range root {
		value, err := text(&node)
		if err != nil {
			errs = append(errs, fmt.Errorf("configuration file: line %d: %s: %w", node.Line, name, err))
		}
		f[name] = value
	}
	return f, errors.Join(errs...)
}

// text returns a value in the syntax of a flag.
func text(n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return n.Value, nil
	case n.Kind == yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return "", errors.New("a list must have scalars")
			}
			parts = append(parts, item.Value)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("a value must be a scalar or a list of scalars")
}

// file is a kong.Resolver of values by flag name.
type file map[string]string

// Validate implements kong.Resolver. It rejects keys that are not flags.
func (f file) Validate(application *kong.Application) error {
	known := map[string]bool{}
	_ = kong.Visit(application.Node, func(node kong.Visitable, next kong.Next) error {
		if n, ok := node.(*kong.Node); ok {
			for _, flag := range n.Flags {
				known[flag.Name] = flag.Name != "help" && flag.Name != "config"
			}
		}
		return next(nil)
	})
	var unknown []string
	for name := range f {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("configuration file: unknown settings %s", strings.Join(unknown, ", "))
	}
	return nil
}

// Resolve implements kong.Resolver. The environment takes precedence over the file.
func (f file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, ok := f[flag.Name]
	if !ok || setByEnvironment(flag) {
		return nil, nil
	}
	return value, nil
}
