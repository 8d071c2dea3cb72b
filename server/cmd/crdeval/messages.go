package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// inREST is a message of the API. Its JSON is that of the REST API.
type inREST[M proto.Message] struct{ message M }

func (r inREST[M]) MarshalJSON() ([]byte, error) { return codec.Marshal(r.message) }

// violationText returns the violation in the words of an API server.
func violationText(v *crdevalv1.Violation) string {
	if v.GetField() == "" {
		return messageText(v.GetMessage())
	}
	return terminal.OneLine(v.GetField()) + ": " + messageText(v.GetMessage())
}

// furtherLine matches the lines of errors in YAML and in CEL expressions after the first one.
var furtherLine = regexp.MustCompile(`^(  line | \| |ERROR: <input>:)`)

// messageText returns a message that may quote a manifest. It escapes line breaks, except before a furtherLine.
func messageText(message string) string {
	var b strings.Builder
	for i, line := range strings.Split(message, "\n") {
		switch {
		case i == 0:
		case furtherLine.MatchString(line):
			b.WriteByte('\n')
		default:
			b.WriteString(`\n`)
		}
		b.WriteString(terminal.OneLine(line))
	}
	return b.String()
}

// locate returns the position in the file of a field. own is its position in the manifest.
func locate(s *workspace.Manifest, pointer string, own *crdevalv1.Position) *crdevalv1.Position {
	if s == nil || own == nil {
		return nil
	}
	at := s.Position(pointer, engine.Position{
		Line: int(own.GetLine()), Column: int(own.GetColumn()), Offset: int(own.GetOffset()),
	})
	//nolint:gosec // files are smaller
	return &crdevalv1.Position{Line: int32(at.Line), Column: int32(at.Column), Offset: int32(at.Offset)}
}

// locateAll changes the positions of violations to positions in the file.
func locateAll(s *workspace.Manifest, lists ...[]*crdevalv1.Violation) {
	for _, v := range slices.Concat(lists...) {
		v.Position = locate(s, v.GetPointer(), v.GetPosition())
	}
}

// positionText formats a position like a compiler. p may be nil.
func positionText(file string, p *crdevalv1.Position) string {
	file = terminal.OneLine(file)
	if p == nil {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.GetLine(), p.GetColumn())
}

// printable replaces control characters, which come from manifests and could steer a terminal.
func printable(text []byte) []byte { return output.Printable(text) }

// counted returns the number with the noun in singular or plural.
func counted(n int, noun string) string { return output.Counted(n, noun) }
