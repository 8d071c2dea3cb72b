package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/crdeval/crdeval/server/settings"
)

// EnvironmentPrefix begins the names of environment variables.
const EnvironmentPrefix = "CRDEVAL_"

// Parse returns the configuration of arguments, environment variables and the file of --config, and all errors in them.
// lookup is like os.LookupEnv.
func Parse(args []string, lookup func(string) (string, bool)) (Config, error) {
	var c Config
	set := settings.Declare(&c, EnvironmentPrefix)
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	set.AddTo(flags)
	if err := flags.Parse(args); err != nil {
		return c, errors.Join(set.Err(), err)
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %s", flags.Arg(0))
	}
	set.ReadEnvironment(lookup)
	loaded := c.Load(set)
	return c, set.Explain(errors.Join(set.Err(), loaded, c.Validate()))
}

// Defaults returns the default configuration, changed by flags. It ignores the environment.
func Defaults(flags ...string) (Config, error) {
	return Parse(flags, func(string) (string, bool) { return "", false })
}

// Load reads the file of --config.
func (c *Config) Load(set *settings.Set) error {
	if c.Config == "" {
		return nil
	}
	return set.ReadFile(c.Config)
}

// WarnOfEnvironment logs a warning for each variable of environ (see os.Environ) that looks like a setting and is not.
func WarnOfEnvironment(ctx context.Context, environ []string, known *settings.Set, log *slog.Logger) {
	variables := map[string]bool{}
	for _, o := range known.Settings {
		variables[o.Variable] = true
	}
	slices.Sort(environ)
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, EnvironmentPrefix) && !variables[name] {
			log.WarnContext(ctx, "unknown variable ignored: see crdeval serve --help", "variable", name)
		}
	}
}
