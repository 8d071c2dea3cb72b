package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// The types of this file are printed as JSON. Their fields are named as in the REST API.

type rejection struct {
	Code    int32  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func rejectionOf(r *crdevalv1.Rejection) *rejection {
	if r == nil {
		return nil
	}
	return &rejection{Code: r.GetCode(), Reason: r.GetReason(), Message: r.GetMessage()}
}

type violation struct {
	Type          string          `json:"type"`
	Field         string          `json:"field"`
	Message       string          `json:"message"`
	Detail        string          `json:"detail"`
	BadValue      json.RawMessage `json:"badValue,omitempty"`
	Pointer       string          `json:"pointer"`
	SchemaPointer string          `json:"schemaPointer"`
	Position      *position       `json:"position,omitempty"`
	Hint          *hint           `json:"hint,omitempty"`
}

// text returns the violation in the words of an API server.
func (v *violation) text() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// locator returns the position in a file of a field at a JSON pointer.
type locator func(pointer string, own *crdevalv1.Position) *position

func violationsOf(list []*crdevalv1.Violation, locate locator) []violation {
	all := make([]violation, len(list))
	for i, v := range list {
		all[i] = violation{
			Type: v.GetType(), Field: v.GetField(), Message: v.GetMessage(), Detail: v.GetDetail(),
			BadValue: rawJSON(v.GetBadValue()), Pointer: v.GetPointer(), SchemaPointer: v.GetSchemaPointer(),
			Position: locate(v.GetPointer(), v.GetPosition()), Hint: hintOf(v.GetHint()),
		}
	}
	return all
}

// fieldChange is a field that was pruned or defaulted.
type fieldChange struct {
	Path     string          `json:"path"`
	Pointer  string          `json:"pointer"`
	Value    json.RawMessage `json:"value"`
	Position *position       `json:"position,omitempty"`
	Hint     *hint           `json:"hint,omitempty"`
}

func fieldChangesOf(list []*crdevalv1.FieldChange, locate locator) []fieldChange {
	all := make([]fieldChange, len(list))
	for i, c := range list {
		all[i] = fieldChange{
			Path: c.GetPath(), Pointer: c.GetPointer(), Value: rawJSON(c.GetValue()),
			Position: locate(c.GetPointer(), c.GetPosition()), Hint: hintOf(c.GetHint()),
		}
	}
	return all
}

type hint struct {
	Text        string          `json:"text"`
	Pointer     string          `json:"pointer,omitempty"`
	Replacement json.RawMessage `json:"replacement,omitempty"`
}

func hintOf(h *crdevalv1.Hint) *hint {
	if h == nil {
		return nil
	}
	return &hint{Text: h.GetText(), Pointer: h.GetPointer(), Replacement: rawJSON(h.GetReplacement())}
}

func toDocument(d engine.Document) *crdevalv1.Document {
	if d.YAML != nil {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: d.YAML}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: d.JSON}}
}

// rawJSON returns the JSON of a document, nil if there is none.
func rawJSON(d *crdevalv1.Document) json.RawMessage { return d.GetJson() }

// printable replaces control characters, which come from manifests and could steer a terminal.
func printable(text []byte) []byte {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if bytes.IndexFunc(text, control) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if control(r) {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// counted returns the number with the noun in singular or plural.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
