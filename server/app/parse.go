package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	yaml "go.yaml.in/yaml/v3"
)

// environmentPrefix is the prefix of environment variables.
const environmentPrefix = "CRDEVAL_"

// KongOptions returns the options of a parser for Config.
func KongOptions() []kong.Option {
	return []kong.Option{kong.DefaultEnvars(strings.TrimSuffix(environmentPrefix, "_")), kong.Configuration(loadFile)}
}

// Tolerant returns options for a parser that continues after values that cannot be parsed and after errors in the
// configuration file, so that all errors are reported at once. After the parse, unreadable returns these errors.
func Tolerant() (options []kong.Option, unreadable func() error) {
	var errs []error
	options = append(options, kong.Configuration(func(r io.Reader) (kong.Resolver, error) {
		f, err := loadFile(r)
		errs = append(errs, err)
		return f, nil
	}))
	types := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[Bytes](), reflect.TypeFor[time.Duration](), reflect.TypeFor[slog.Level](),
	}
	for _, t := range types {
		strict := kong.NewRegistry().RegisterDefaults().ForType(t)
		options = append(options,
			kong.TypeMapper(t, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
				value := reflect.New(t).Elem()
				if err := strict.Decode(ctx, value); err != nil {
					err = fmt.Errorf("--%s: %w", ctx.Value.Name, err)
					if !slices.ContainsFunc(errs, func(e error) bool { return e != nil && e.Error() == err.Error() }) {
						errs = append(errs, err)
					}
					// Use the default, so that Config.Validate reports no further error.
					value.SetZero()
					if ctx.Value.HasDefault {
						scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: ctx.Value.Default})
						ctx = &kong.DecodeContext{Value: ctx.Value, Scan: scan}
						if err := strict.Decode(ctx, value); err != nil {
							return err
						}
					}
				}
				target.Set(value)
				return nil
			})))
	}
	return options, func() error { return errors.Join(errs...) }
}

// loadFile reads a configuration file: a YAML mapping of flag names to values. It returns the valid settings with all
// errors. Unknown keys are errors.
func loadFile(r io.Reader) (kong.Resolver, error) {
	name := "configuration file"
	if named, ok := r.(interface{ Name() string }); ok {
		name = named.Name()
	}
	var document yaml.Node
	var root map[string]yaml.Node
	d := yaml.NewDecoder(r)
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return file{}, nil
	} else if err != nil {
		return file{}, fmt.Errorf("%s: %w", name, err)
	}
	if top := document.Content[0]; top.Kind != yaml.MappingNode && top.Tag != "!!null" {
		return file{}, fmt.Errorf(`%s:%d: the file must be a mapping of settings to values, such as "log-level: debug"`, name, top.Line)
	}
	if err := document.Decode(&root); err != nil { // reports duplicate keys
		return file{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return file{}, fmt.Errorf("%s: the file has more than one document", name)
	}
	f, known := file{}, settings()
	var errs []error
	for pair := range slices.Chunk(document.Content[0].Content, 2) {
		key := pair[0]
		flag := known[key.Value]
		value, err := text(pair[1], flag != nil && (flag.IsSlice() || flag.IsMap()))
		switch {
		case flag == nil:
			errs = append(errs, fmt.Errorf("%s:%d: unknown setting %q: crdeval serve has no such flag",
				name, key.Line, key.Value))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", name, key.Line, key.Value, err))
		default:
			f[key.Value] = value
		}
	}
	return f, errors.Join(errs...)
}

// settings returns the settings that a configuration file can have, by name.
func settings() map[string]*kong.Flag {
	known := map[string]*kong.Flag{}
	for _, flag := range kong.Must(&Config{}).Model.Flags {
		if flag.Name != "help" && flag.Name != "config" {
			known[flag.Name] = flag
		}
	}
	return known
}

// text returns a value in the syntax of a flag. isList says that it can be a list.
func text(n *yaml.Node, isList bool) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return n.Value, nil
	case !isList:
		return "", errors.New("a value must be a scalar")
	case n.Kind == yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return "", errors.New("a list must contain only scalars")
			}
			parts = append(parts, item.Value)
		}
		return kong.JoinEscaped(parts, ','), nil
	}
	return "", errors.New("a value must be a scalar or a list of scalars")
}

// file is a kong.Resolver of values by flag name.
type file map[string]string

// Validate implements kong.Resolver. loadFile has validated the names.
func (f file) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. The environment takes precedence over the file.
func (f file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	if value, ok := f[flag.Name]; ok {
		return value, nil
	}
	return nil, nil
}

// WarnOfEnvironment logs a warning for each variable of environ (see os.Environ) that looks like a setting and is not.
func WarnOfEnvironment(ctx context.Context, environ []string, known []*kong.Flag, log *slog.Logger) {
	settings := map[string]bool{}
	for _, flag := range known {
		for _, name := range flag.Envs {
			settings[name] = true
		}
	}
	slices.Sort(environ)
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, environmentPrefix) && !settings[name] {
			log.WarnContext(ctx, "unknown variable ignored: see crdeval serve --help", "variable", name)
		}
	}
}

// Defaults returns the default configuration, changed by flags. It ignores the environment.
func Defaults(flags ...string) (Config, error) {
	var c Config
	parser, err := kong.New(&c, kong.Configuration(loadFile))
	if err != nil {
		return c, err
	}
	_, err = parser.Parse(flags)
	return c, err
}
