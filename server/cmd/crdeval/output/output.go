// Package output prints the results of documents for CI systems: a SARIF log (sarif.go), annotations of GitHub Actions
// (github.go), a JUnit report (junit.go), and a summary in Markdown (summary.go). kinds.go lists the kinds of problems.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// Result is the result for a document of a file.
type Result struct {
	File, Name string
	Line       int // 0: unknown
	Class      string
	Warnings   string
	Skipped    string // why the document was skipped
	Error      string // why the document could not be checked
	Failed     bool   // the document is rejected
	Message    string // of the rejection
	Reason     string // of the rejection
	Details    string // of the rejection; default: a line for each problem
	Problems   []Problem
}

// Run is what a run has besides the results of documents.
type Run struct {
	Counts  string // for people, one or several lines
	Skipped []*workspace.File
	Errors  int   // documents that could not be checked
	Failure error // that ended the run early
}

// Printer prints the results of a run in one format.
type Printer interface {
	Add(*Result) error
	Close(*Run) error
}

// Program describes the command whose results are printed.
type Program struct {
	Title   string // such as "crdeval check"
	Version string
	Root    string // of the repository
}

// New returns the printer of a format: junit, sarif or github. It returns nil for other formats.
func New(w io.Writer, format string, of Program) Printer {
	switch format {
	case "junit":
		return &junitPrinter{w: w, title: of.Title}
	case "sarif":
		return &sarifPrinter{w: w, of: of, seen: map[string]int{}}
	case "github":
		return &githubPrinter{w: w, of: of}
	}
	return nil
}

// Problem is a violation, a warning or an error of a document.
type Problem struct {
	File          string
	Line, Column  int // 0: unknown
	Level         Level
	Kind          string // an id of kinds
	Document      string // title of the document
	Text          string
	Hint          string
	Pointer       string // to the field
	SchemaPointer string
	Rule          string // of x-kubernetes-validations
}

// Level is the severity of a problem, in the words of SARIF.
type Level string

// The levels.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNote    Level = "note"
)

// message is the text with the hint.
func (p *Problem) message() string {
	if p.Hint == "" {
		return p.Text
	}
	return p.Text + " (" + p.Hint + ")"
}

// at formats the position like a compiler.
func (p *Problem) at() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Counted returns the number with the noun in singular or plural.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Printable escapes control characters, which come from manifests and could steer a terminal.
func Printable(text []byte) []byte { return []byte(terminal.Printable(string(text))) }

// YAML returns an object as YAML, or as indented JSON if its YAML has lines or characters that outputs must not
// contain.
func YAML(object []byte) ([]byte, error) {
	text, err := yaml.JSONToYAML(object)
	if err != nil || terminal.PrintableLines(string(text)) == string(text) {
		return text, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, object, "", "  "); err != nil {
		return nil, err
	}
	return append([]byte(terminal.PrintableJSON(strings.TrimSpace(b.String()))), '\n'), nil
}

// validText escapes control characters and invalid UTF-8.
func validText(s string) string { return terminal.Printable(s) }
