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

// environmentPrefix is the prefix of environment variables.
const environmentPrefix = "CRDEVAL_"

// KongOptions returns the options of a parser for Config.
func KongOptions() []kong.Option {
	return []kong.Option{kong.DefaultEnvars(strings.TrimSuffix(environmentPrefix, "_")), kong.Configuration(LoadFile)}
}

// Tolerant returns options for a parser that continues after values that cannot be parsed, so that all errors are
// reported at once. After the parse, unreadable returns the errors of these values.
func Tolerant() (options []kong.Option, unreadable func() error) {
	var errs []error
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
					if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
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

func setByEnvironment(flag *kong.Flag) bool {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return true
		}
	}
	return false
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
	parser, err := kong.New(&c, kong.Configuration(LoadFile))
	if err != nil {
		return c, err
	}
	_, err = parser.Parse(flags)
	return c, err
}

// Reference returns docs/configuration.md, generated from the tags of Config.
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

Every setting of ` + "`crdeval serve`" + ` is a flag, an environment variable, and a key of a YAML file (` + "`--config FILE`" + `):

    crdeval serve --grpc-address :9090 --cache-bytes 1GiB
    CRDEVAL_GRPC_ADDRESS=:9090 CRDEVAL_CACHE_BYTES=1GiB crdeval serve
    printf 'grpc-address: [":9090"]\ncache-bytes: 1GiB\n' > crdeval.yaml && crdeval serve --config crdeval.yaml

- A flag takes precedence over an environment variable, a variable over the file, and the file over the default.
- Unknown flags, unknown keys and contradicting settings are errors. The server reports all of them at once.
- The server logs a warning for unknown variables that start with ` + "`CRDEVAL_`" + `.
- Lists have comma-separated values. Their flags can also be repeated.
- No setting is a secret. Keys and tokens are in files.
- Sizes are bytes, or have a unit: ` + "`KiB`, `MiB`, `GiB` (1024 each) or `kB`, `MB`, `GB` (1000 each)" + `.
- Durations have units: ` + "`500ms`, `20s`, `1m30s`" + `.
`

const referenceTail = `
## Calls without a token

With ` + "`--auth-token-file`" + `, every call over gRPC and REST needs a token, except those of orchestrators:
` + "`grpc.health.v1.Health`, `GET /healthz`, `GET /readyz`, `GET /openapi.json` and `GET /metrics`" + `. With ` + "`--metrics-address`" + `,
the metrics are only on that address.

## Other environment variables

- The variables of OpenTelemetry configure the export of traces and metrics: ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + `,
  ` + "`OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_SERVICE_NAME`" + ` and others. Nothing is exported unless one of
  the first three is set. ` + "`/metrics`" + ` is always available.
- ` + "`GOMAXPROCS`, `GOMEMLIMIT` and `GOGC`" + ` are variables of Go. Without ` + "`GOGC`" + `, a small heap grows to 80 MiB, or a
  quarter of the memory limit, before a collection. A heap of hundreds of MiB grows by 192 MiB, a larger heap by half.
- Without ` + "`GOMEMLIMIT`" + `, the memory limit is nine tenths of the limit of the container, if there is one. With a memory
  limit, the server rejects calls with ` + "`OVERLOADED`" + ` while the live heap is close to it.
`
