package usage

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar is a command line with each kind of argument and flag.
type grammar struct {
	Quiet bool `short:"q" help:"Print nothing."`
	Run   struct {
		Files  []string `arg:"" optional:"" help:"Files."`
		Output string   `short:"o" default:"text" enum:"text,json" help:"Format."`
		Secret string   `hidden:""`
	} `cmd:"" help:"Run it. Then stop."`
	Shell struct {
		Name string `arg:"" enum:"bash,zsh" help:"The shell."`
	} `cmd:"" help:"Print a script."`
	Internal struct{} `cmd:"" hidden:""`
}

func TestCandidates(t *testing.T) {
	node := kong.Must(&grammar{}).Model.Node
	for line, want := range map[string]string{
		"":                 "run shell",
		"r":                "run",
		"i":                "",
		"run --o":          "--output",
		"run --":           "--help --quiet --output",
		"run --output j":   "json",
		"run -o ":          "text json",
		"run --output=t":   "--output=text",
		"run --output = j": "json",
		"run --output =":   "text json",
		"run -q sh":        "", // a file
		"run -o shell --":  "--help --quiet --output",
		"shell z":          "zsh",
	} {
		var words []string
		for _, c := range Candidates(node, strings.Split(line, " ")) {
			words = append(words, c.Word)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	if got, want := Candidates(node, nil), []Candidate{{"run", "Run it"}, {"shell", "Print a script."}}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".crdeval.yaml": `\&.crdeval.yaml`, "'a'\nb": `\&'a'` + "\nb", `--a\b`: `\-\-a\eb`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
