package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// environmentPrefix begins the names of all environment variables.
const environmentPrefix = "CRDEVAL_"

// KongOptions are what a parser of a command line with a Config needs.
func KongOptions() []kong.Option {
	return []kong.Option{kong.DefaultEnvars(strings.TrimSuffix(environmentPrefix, "_")), kong.Configuration(LoadFile)}
}

// Tolerant are options for a parser that goes on behind values that cannot be read, so that a person is told of all of them at once; unreadable returns them after
// the parse. What is wrong with values that can be read Config.Validate says, which the parser calls.
func Tolerant() (options []kong.Option, unreadable func() error) {
	var told []error
	for _, t := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[Bytes](), reflect.TypeFor[time.Duration](), reflect.TypeFor[slog.Level]()} {
		strict := kong.NewRegistry().RegisterDefaults().ForType(t)
		options = append(options, kong.TypeMapper(t, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			value := reflect.New(t).Elem()
			if err := strict.Decode(ctx, value); err != nil {
				err = fmt.Errorf("--%s: %w", ctx.Value.Name, err)
				if !slices.ContainsFunc(told, func(e error) bool { return e.Error() == err.Error() }) {
					told = append(told, err)
				}
				// The default in its place, so that nothing else is said of it.
				value.SetZero()
				if ctx.Value.HasDefault {
					ctx = &kong.DecodeContext{Value: ctx.Value, Scan: kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: ctx.Value.Default})}
					if err := strict.Decode(ctx, value); err != nil {
						return err
					}
				}
			}
			target.Set(value)
			return nil
		})))
	}
	return options, func() error { return errors.Join(told...) }
}

func setByEnvironment(flag *kong.Flag) bool {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return true
		}
	}
	return false
}

// WarnOfEnvironment logs every variable of the environment (as os.Environ gives it) that looks like a setting and is none: a misspelt one would
// be ignored in silence.
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
			log.WarnContext(ctx, "this variable is no setting and is ignored: crdeval serve --help lists them", "variable", name)
		}
	}
}

// Defaults returns the configuration of a server that nobody configured. Flags may be given as on a command line; the environment
// is not looked at.
func Defaults(flags ...string) (Config, error) {
	var c Config
	parser, err := kong.New(&c, kong.Configuration(LoadFile))
	if err != nil {
		return c, err
	}
	_, err = parser.Parse(flags)
	return c, err
}

// Reference is docs/configuration.md: what can be set, from the tags of Config.
func Reference() (string, error) {
	var c Config
	parser, err := kong.New(&c, KongOptions()...)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(referenceHead)
	group := ""
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		if flag.Group.Title != group {
			group = flag.Group.Title
			fmt.Fprintf(&b, "\n## %s\n\n| flag | environment | default | |\n|---|---|---|---|\n", group)
		}
		fallback := "none"
		if flag.HasDefault {
			fallback = "`" + flag.Default + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", flag.Name, strings.Join(flag.Envs, "`, `"), fallback, strings.ReplaceAll(flag.Help, "|", `\|`))
	}
	b.WriteString(referenceTail)
	return b.String(), nil
}

const referenceHead = `# Configuration

<!-- Generated from the tags of Config in server/app/config.go: go test ./server/app -update -->

` + "`crdeval serve`" + ` takes every setting as a flag, as an environment variable, and as a key of a YAML file (` + "`--config FILE`" + `) that is the flag's name:

    crdeval serve --grpc-address :9090 --cache-bytes 1GiB
    CRDEVAL_GRPC_ADDRESS=:9090 CRDEVAL_CACHE_BYTES=1GiB crdeval serve
    printf 'grpc-address: [":9090"]\ncache-bytes: 1GiB\n' > crdeval.yaml && crdeval serve --config crdeval.yaml

A flag goes before the environment, the environment before the file, the file before the default. Unknown flags and unknown keys of the file are
errors; so are settings that contradict each other, and all of those are told at once. A variable that begins with ` + "`CRDEVAL_`" + ` and is no setting is
warned of. A list takes its values by commas, or several flags. Secrets are never settings: they are in files whose paths are.

Sizes are bytes, or have a unit: ` + "`KiB`, `MiB`, `GiB` (1024 each) or `kB`, `MB`, `GB` (1000 each)" + `. Durations are written as ` + "`500ms`, `20s`, `1m30s`" + `.
`

const referenceTail = `
## What needs no token

With ` + "`--auth-token-file`" + ` every call needs a token, over gRPC and REST, but for those of orchestrators: ` + "`grpc.health.v1.Health`, `GET /healthz`, `GET /readyz`, `GET /openapi.json` and `GET /metrics`" + `. With ` + "`--metrics-address`" + ` the metrics are there and no longer on ` + "`--http-address`" + `.

## What else is read from the environment

- Traces and metrics are exported as OpenTelemetry's own variables say: ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_SERVICE_NAME`" + `
  and so on. Unless one of the first three is set, nothing is exported; ` + "`/metrics`" + ` is there always.
- ` + "`GOMAXPROCS`, `GOMEMLIMIT` and `GOGC`" + ` are Go's. Without ` + "`GOGC`" + ` a small heap grows to 80 MiB, or a quarter of the memory limit, before it is collected, one of hundreds of MiB by 192 MiB, a larger one by half.
  Without ` + "`GOMEMLIMIT`" + ` the memory limit is nine tenths of the container's, if there is one. With a memory limit, calls are
  refused with ` + "`OVERLOADED`" + ` while what is live in memory comes close to it.
`
