package app

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/settings"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const referenceFile = "../../docs/configuration.md"

// TestReferenceIsUpToDate compares docs/configuration.md with the tags of Config.
func TestReferenceIsUpToDate(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the tags of Config say: go test ./server/app -update", referenceFile)
	}
}

// reference returns docs/configuration.md, generated from the tags of Config.
func reference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(referenceHead)
	group := ""
	for _, o := range settings.Declare(&Config{}, EnvironmentPrefix).Settings {
		if o.Group != group {
			group = o.Group
			fmt.Fprintf(&b, "\n## %s\n\n| flag | default | description |\n|---|---|---|\n", group)
		}
		fallback := "none"
		if o.Default != "" {
			fallback = "`" + o.Default + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", o.Name, fallback, strings.ReplaceAll(o.Help, "|", `\|`))
		if want := EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_")); o.Variable != want {
			t.Errorf("the variable of --%s is %s, the page says %s", o.Name, o.Variable, want)
		}
	}
	b.WriteString(referenceTail)
	return b.String()
}

const referenceHead = `# Configuration

<!-- Generated from the tags of Config in server/app/config.go: go test ./server/app -update -->

Every setting of ` + "`crdeval serve`" + ` is a flag, an environment variable (` + "`CRDEVAL_`" + ` and the flag in upper case, with
underscores), and a key of a YAML file (` + "`--config FILE`" + `):

    crdeval serve --grpc-address :9090 --cache-bytes 1GiB
    CRDEVAL_GRPC_ADDRESS=:9090 CRDEVAL_CACHE_BYTES=1GiB crdeval serve
    printf 'grpc-address: [":9090"]\ncache-bytes: 1GiB\n' > crdeval.yaml && crdeval serve --config crdeval.yaml

- If a setting has several values, a flag takes precedence over an environment variable, and a variable over the file.
- Empty flags and empty values in the file are errors. An empty variable is ignored.
- Unknown flags, unknown keys and invalid or contradicting settings are errors. The server reports all invalid settings together.
- The server logs a warning for unknown variables that start with ` + "`CRDEVAL_`" + `.
- Lists have comma-separated values. Their flags can also be repeated.
- No setting is a secret. Keys and tokens are in files.
- Sizes are bytes, or have a unit: ` + "`KiB`, `MiB`, `GiB` (1024 each) or `kB`, `MB`, `GB` (1000 each)" + `.
- Durations have units: ` + "`500ms`, `20s`, `1m30s`" + `.
`

const referenceTail = `
## Other environment variables

- The variables of OpenTelemetry configure the export of traces and metrics: ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + `,
  ` + "`OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_SERVICE_NAME`" + ` and others. Nothing is exported unless one of
  the first three is set. ` + "`/metrics`" + ` is always available.
- ` + "`GOMAXPROCS`, `GOMEMLIMIT` and `GOGC`" + ` are variables of Go. If ` + "`GOGC`" + ` is not set, the server adapts it: a small heap
  grows to 80 MiB, or to a quarter of the memory limit, before a collection. A heap of more than 96 MiB grows by 96 MiB,
  one of more than 192 MiB by half.
- If ` + "`GOMEMLIMIT`" + ` is not set, the server sets it to four fifths of ` + "`--memory`" + ` ([sizing](operations.md#sizing)).
`
