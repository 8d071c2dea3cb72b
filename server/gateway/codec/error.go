package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
)

// An Error says where a body is not the JSON of its message.
type Error struct {
	Body     []byte
	Offset   int
	Path     string
	Pointer  string // to the path and the member
	Member   string // the key of the member of the object at the path that is wrong
	IsMember bool   // false: the value at the path is wrong
	Kind     string // the type of the violation, "" for a value that is not what it should be
	Text     string
}

// Error returns line, column, path and what is wrong.
func (e *Error) Error() string {
	text := e.Text
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return AtPosition(e.position(), text)
}

// AtPosition returns an error text with a position in the body.
func AtPosition(p document.Position, text string) string {
	if p.Line == 0 {
		return "the body: " + text
	}
	return fmt.Sprintf("the body, line %d, column %d: %s", p.Line, p.Column, text)
}

func (e *Error) position() document.Position {
	return document.NewText(e.Body, document.Position{}).Position(e.Offset)
}

// Violation returns the error as a violation.
func (e *Error) Violation() engine.Violation {
	at := e.position()
	field := e.Path
	if e.IsMember {
		field = strings.TrimPrefix(field+"."+e.Member, ".")
	}
	return engine.Violation{
		Type: cmp.Or(e.Kind, engine.TypeDecode), Field: field, Pointer: e.Pointer, Message: e.Text, Detail: e.Text, Position: &at,
		Step: engine.StepDecode,
	}
}

// FindSyntax makes the error one about the syntax of the JSON, if that is wrong at an earlier place. The end of a value is
// found by its brackets alone.
func (e *Error) FindSyntax() {
	var none struct{}
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(e.Body, &none))
	if !ok {
		return
	}
	e.Kind = engine.TypeSyntax
	if syntax.Error() == "unexpected end of JSON input" {
		return // e says which value does not end
	}
	if at := int(syntax.Offset) - 1; at < e.Offset && len(bytes.TrimSpace(e.Body[:max(at, 0)])) > 0 {
		e.Offset, e.Text = at, "invalid JSON: "+syntax.Error()
		e.Path, e.Pointer, e.Member, e.IsMember = "", "", "", false
	}
}

// ErrEmpty is the error of a body without a value.
var ErrEmpty = errors.New("the body is empty: send the JSON or YAML of the request")
