package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/server/cmd/crdeval/crdsources"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/settings"
)

// configName is the name of the configuration file of check, admit and lsp.
const configName = ".crdeval.yaml"

// configured has the commands that the file can configure.
var configured = map[string]func() any{
	"check": func() any { return &checkCommand{} },
	"admit": func() any { return &admitCommand{} },
	"lsp":   func() any { return &lspCommand{} },
}

// needsTrust reports whether only a file named with --config can have a setting. The authors of a repository write the
// file that is found in it. It must not choose which server gets the token, or which file is written.
func needsTrust(flag string) bool {
	return flag == "server" || flag == "token" || flag == "summary" || strings.HasPrefix(flag, "tls")
}

// namesCluster reports whether a value or an item of a list is a cluster. Reading its CRDs sends credentials. It does not
// look at items of items, which an alias can repeat without end, and which no setting has.
func namesCluster(value *yaml.Node) bool {
	names := func(n *yaml.Node) bool { return strings.HasPrefix(settings.Target(n).Value, repository.Cluster) }
	return names(value) || slices.ContainsFunc(value.Content, names)
}

// urlIn returns the https:// URL in a value or in an item of a list, without secrets, or "". The authors of a
// repository must not make those who check it send requests.
func urlIn(value *yaml.Node) string {
	for _, n := range append([]*yaml.Node{value}, value.Content...) {
		if text := settings.Target(n).Value; strings.HasPrefix(text, "https://") {
			return download.WithoutSecrets(text)
		}
	}
	return ""
}

// configFile has the values in a configuration file.
type configFile struct {
	name     string
	found    bool                             // without --config
	settings map[string]map[string]*yaml.Node // by command, "" for all, and by flag
	sources  *crdsources.Sources              // nil without crd-sources
}

// Load implements commandline.Loader: it reads the configuration file. The settings of the command take precedence over
// those for all commands.
func (f *ciFlags) Load(set *settings.Set) error {
	f.config = &configFile{name: f.Config, found: f.Config == ""}
	if f.config.found {
		f.config.name = findConfig()
	}
	if f.config.name == "" {
		return nil
	}
	if err := f.config.read(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("--config: %w", err)
		}
		return err
	}
	f.config.apply(set, f.section, "")
	return nil
}

// apply sets the settings that no flag and no variable has set. The first section that has a setting sets it; "" are
// the settings of all commands.
func (c *configFile) apply(set *settings.Set, sections ...string) {
	for _, o := range set.Settings {
		for _, section := range sections {
			if value := c.settings[section][o.Name]; value != nil {
				o.SetNode(c.name, value, c.editor(o))
				break
			}
		}
	}
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
	mapping, err := settings.ReadMapping(c.name)
	if mapping == nil {
		return err
	}
	flags := map[string]map[string]*settings.Setting{"": {}}
	for command, target := range configured {
		flags[command] = map[string]*settings.Setting{}
		for _, o := range settings.Declare(target(), "").Settings {
			if o.InFile {
				flags[command][o.Name], flags[""][o.Name] = o, o
			}
		}
	}
	return errors.Join(c.add("", mapping, flags)...)
}

// add adds the settings of a mapping.
func (c *configFile) add(command string, mapping *yaml.Node, flags map[string]map[string]*settings.Setting) (errs []error) {
	fail := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", c.name, n.Line, fmt.Sprintf(format, args...)))
	}
	if mapping = settings.Target(mapping); mapping.Kind != yaml.MappingNode {
		fail(mapping, "the settings must be a mapping of flags to values")
		return errs
	}
	c.settings[command] = map[string]*yaml.Node{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := settings.Target(mapping.Content[i]), settings.Target(mapping.Content[i+1])
		flag := flags[command][key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			fail(key, "a key must be the name of a flag or command, not a list, a mapping or <<")
		case c.settings[command][key.Value] != nil || command == "" && c.settings[key.Value] != nil:
			fail(key, "%s is set twice", key.Value)
		case command == "" && key.Value == crdsources.Key && c.sources != nil:
			fail(key, "%s is set twice", key.Value)
		case command == "" && key.Value == crdsources.Key:
			sources, bad := crdsources.Read(c.name, value)
			c.sources, errs = sources, append(errs, bad...)
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
				key.Value, urlIn(value), crdsources.Key, crdsources.PullCommand)
		case c.found && needsTrust(key.Value):
			fail(key, "%s can only be set by a flag, a variable or a file of --config", key.Value)
		case flag.CheckNode(value) != nil:
			fail(key, "%v", flag.CheckNode(value))
		default:
			c.settings[command][key.Value] = value
		}
	}
	return errs
}

// editor returns what a value of the file means for a flag: files are relative to the working directory.
func (c *configFile) editor(o *settings.Setting) func(string) string {
	if o.Placeholder != "FILE" {
		return nil
	}
	return c.path
}

// path returns the path of a file relative to the working directory.
func (c *configFile) path(name string) string {
	if name == "-" || repository.IsURL(name) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.name), name)
}
