package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// configName is the name of the configuration file of check, admit and lsp.
const configName = ".crdeval.yaml"

// configured lists the commands that the file can configure.
var configured = []string{"check", "admit", "lsp"}

// pathFlags are flags with files. In a configuration file, they are relative to its directory.
var pathFlags = []string{"crds", "old", "patch-file", "summary", "tls-ca", "tls-client-cert", "tls-client-key"}

// needsTrust reports whether only a file named with --config can have a setting. The authors of a repository write the
// file that is found in it. It must not choose which server gets the token, or which file is written.
func needsTrust(flag string) bool {
	return flag == "server" || flag == "token" || flag == "summary" || strings.HasPrefix(flag, "tls")
}

// namesCluster reports whether a value or an item of a list is a cluster. Reading its CRDs sends credentials. It does not
// look at items of items, which an alias can repeat without end, and which no setting has.
func namesCluster(value *yaml.Node) bool {
	names := func(n *yaml.Node) bool { return strings.HasPrefix(target(n).Value, repository.Cluster) }
	return names(value) || slices.ContainsFunc(value.Content, names)
}

// urlIn returns the https:// URL in a value or in an item of a list, without secrets, or "". The authors of a
// repository must not make those who check it send requests.
func urlIn(value *yaml.Node) string {
	for _, n := range append([]*yaml.Node{value}, value.Content...) {
		if text := target(n).Value; strings.HasPrefix(text, "https://") {
			return download.WithoutSecrets(text)
		}
	}
	return ""
}

// configFile is a kong.Resolver of the values in a configuration file.
type configFile struct {
	name     string
	found    bool                             // without --config
	settings map[string]map[string]*yaml.Node // by command, "" for all, and by flag
	used     []*yaml.Node                     // keys of the settings that apply to the command
	sources  *crdSources                      // nil without crd-sources
}

// BeforeResolve implements a hook of kong: it reads the configuration file into c.
func (f *ciFlags) BeforeResolve(ctx *kong.Context, c *configFile) error {
	name, found := "", false
	for _, flag := range ctx.Flags() {
		if flag.Name == "config" {
			name, _ = ctx.FlagValue(flag).(string)
		}
	}
	if name == "" {
		name, found = findConfig(), true
	}
	if name == "" {
		return nil
	}
	c.name, c.found = name, found
	if err := c.read(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("--config: %w", err)
		}
		return err
	}
	ctx.AddResolver(c)
	return nil
}

// findConfig returns the configuration file in the working directory or in the nearest parent that has one, up to the
// root of the repository, or "".
func findConfig() string {
	working, err := os.Getwd()
	if err != nil {
		return ""
	}
	return findConfigAt(working)
}

// findConfigAt is findConfig for another directory.
func findConfigAt(working string) string {
	root := repository.RootOf(working)
	for dir := working; ; dir = filepath.Dir(dir) {
		name := filepath.Join(dir, configName)
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			if current, err := os.Getwd(); err == nil {
				if relative, err := filepath.Rel(current, name); err == nil {
					return relative
				}
			}
			return name
		}
		if dir == root || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// read reads the file c.name: a mapping of flags to values, with mappings for single commands.
func (c *configFile) read() error {
	c.settings = map[string]map[string]*yaml.Node{}
	text, err := os.ReadFile(c.name)
	if err != nil {
		return err // it has the name
	}
	decoder, document := yaml.NewDecoder(bytes.NewReader(text)), yaml.Node{}
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the file has more than one document", c.name)
	}
	flags := map[string]map[string]*kong.Flag{"": {}}
	for _, command := range model().Children {
		if slices.Contains(configured, command.Name) {
			flags[command.Name] = map[string]*kong.Flag{}
			for _, flag := range command.Flags {
				if flag.Name != "help" && flag.Name != "config" && flag.Name != "watch" && !flag.Hidden {
					flags[command.Name][flag.Name], flags[""][flag.Name] = flag, flag
				}
			}
		}
	}
	if document.Kind == 0 || document.Content[0].Tag == "!!null" { // empty
		return nil
	}
	return errors.Join(c.add("", document.Content[0], flags)...)
}

// target returns the node that an alias refers to. It returns other nodes unchanged.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// add adds the settings of a mapping.
func (c *configFile) add(command string, mapping *yaml.Node, flags map[string]map[string]*kong.Flag) (errs []error) {
	fail := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", c.name, n.Line, fmt.Sprintf(format, args...)))
	}
	if mapping = target(mapping); mapping.Kind != yaml.MappingNode {
		fail(mapping, "the settings must be a mapping of flags to values")
		return errs
	}
	c.settings[command] = map[string]*yaml.Node{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := target(mapping.Content[i]), target(mapping.Content[i+1])
		flag := flags[command][key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			fail(key, "a key must be the name of a flag or command, not a list, a mapping or <<")
		case c.settings[command][key.Value] != nil || command == "" && c.settings[key.Value] != nil:
			fail(key, "%s is set twice", key.Value)
		case command == "" && key.Value == crdSourcesKey && c.sources != nil:
			fail(key, "%s is set twice", key.Value)
		case command == "" && key.Value == crdSourcesKey:
			errs = append(errs, c.addSources(value)...)
		case command == "" && flags[key.Value] != nil:
			errs = append(errs, c.add(key.Value, value, flags)...)
		case flag == nil && command != "":
			fail(key, "unknown setting %q: crdeval %s has no such flag", key.Value, command)
		case flag == nil:
			fail(key, "unknown setting %q: no command with settings has such a flag", key.Value)
		case c.found && namesCluster(value):
			fail(key, "a cluster can only be chosen by a flag, a variable or a file of --config")
		case c.found && urlIn(value) != "":
			fail(key, "%s has the URL %s: list it in %s, and run %s. A flag, a variable or a file of --config can also name it",
				key.Value, urlIn(value), crdSourcesKey, pullCommand)
		case c.found && needsTrust(key.Value):
			fail(key, "%s can only be set by a flag, a variable or a file of --config", key.Value)
		case value.Kind == yaml.SequenceNode && !flag.IsSlice():
			fail(key, "%s must be a single value", key.Value)
		case value.Kind != yaml.ScalarNode && value.Kind != yaml.SequenceNode, value.Tag == "!!null",
			slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return target(n).Kind != yaml.ScalarNode }):
			fail(key, "%s must be a value or a list of values", key.Value)
		default:
			c.settings[command][key.Value] = value
		}
	}
	return errs
}

// Validate implements kong.Resolver. BeforeResolve has validated the settings.
func (c *configFile) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. Environment variables take precedence over the file. The settings of a command
// take precedence over those for all commands.
func (c *configFile) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value := c.settings[""][flag.Name]
	if of := c.settings[ctx.Selected().Name][flag.Name]; of != nil {
		value = of
	}
	isSet := func(name string) bool { _, ok := os.LookupEnv(name); return ok }
	if value == nil || slices.ContainsFunc(flag.Envs, isSet) {
		return nil, nil
	}
	c.used = append(c.used, &yaml.Node{Value: flag.Name, Line: value.Line})
	texts := c.texts(flag.Name, value)
	if !flag.IsSlice() {
		return texts[0], nil
	}
	values := make([]any, len(texts))
	for i := range texts {
		values[i] = texts[i]
	}
	return values, nil
}

// explain adds to an error about flags the positions at which the file sets them.
func (c *configFile) explain(err error) error {
	for _, n := range c.used {
		if named := regexp.MustCompile("--" + n.Value + `([^-\w]|$)`); named.MatchString(err.Error()) {
			err = fmt.Errorf("%w (%s:%d sets %s)", err, c.name, n.Line, n.Value)
		}
	}
	return err
}

// texts returns the values of a setting. Paths are relative to the working directory.
func (c *configFile) texts(flag string, value *yaml.Node) (all []string) {
	nodes := []*yaml.Node{value}
	if value.Kind != yaml.ScalarNode {
		nodes = value.Content
	}
	for _, n := range nodes {
		text := target(n).Value
		if slices.Contains(pathFlags, flag) && text != "-" && !repository.IsURL(text) && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(c.name), text)
		}
		all = append(all, text)
	}
	return all
}
