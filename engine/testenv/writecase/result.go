package writecase

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Result is what a surface reports for a case. Each line is one fact, in the order of the surface.
type Result []Line

// Line is a fact of a result. Its Key says what it is, and which other fields it has.
type Line struct {
	Key                                         string
	Position, Step, Type, Pointer, Schema, Text string
	Hint                                        string
}

// columns are the fields of a line before its text, by key. Other keys have only a text.
var columns = map[string]string{
	"violation": "position step type pointer schema", "next": "position step type pointer schema",
	"ratcheted": "position step type pointer schema", "warning": "position type pointer",
	"pruned": "position pointer", "defaulted": "pointer",
}

func (l *Line) field(column string) *string {
	switch column {
	case "position":
		return &l.Position
	case "step":
		return &l.Step
	case "type":
		return &l.Type
	case "pointer":
		return &l.Pointer
	}
	return &l.Schema
}

// Fact returns the key of a line without the call, which it has if that is not the call of the case.
func (l *Line) Fact() string {
	return l.Key[strings.LastIndexByte(l.Key, ' ')+1:]
}

// String returns the line as the files of results have it.
func (l *Line) String() string {
	var b strings.Builder
	b.WriteString(l.Key + ":")
	for column := range strings.FieldsSeq(columns[l.Fact()]) {
		text := *l.field(column)
		if text == "" {
			text = "-"
		}
		b.WriteString(" " + text)
	}
	if l.Text != "" {
		b.WriteString(" " + l.Text)
	}
	if l.Hint != "" {
		b.WriteString(" | " + l.Hint)
	}
	return b.String()
}

// Is reports whether the line is one of these facts, of the call of the case or of Validate.
func (l *Line) Is(facts ...string) bool {
	return slices.Contains(facts, l.Fact())
}

// Sorted returns the line with sorted keys if it is a JSON text.
func (l Line) Sorted() Line {
	var value any
	if json.Unmarshal([]byte(l.Text), &value) == nil {
		text, _ := json.Marshal(value)
		l.Text = string(text)
	}
	return l
}

// escaped returns the line with escape sequences for control characters, and for spaces in pointers.
func (l Line) escaped() Line {
	escape := func(text string) string {
		if !strings.ContainsFunc(text, unicode.IsControl) {
			return text
		}
		var b strings.Builder
		for _, r := range text {
			if unicode.IsControl(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	l.Text, l.Pointer = escape(l.Text), strings.ReplaceAll(escape(l.Pointer), " ", `\u0020`)
	return l
}

// parseLine reverses String.
func parseLine(text string) (l Line, err error) {
	key, rest, ok := strings.Cut(text, ":")
	if !ok {
		return l, fmt.Errorf("a line is KEY: TEXT: %q", text)
	}
	l.Key = key
	rest = strings.TrimPrefix(rest, " ")
	for column := range strings.FieldsSeq(columns[l.Fact()]) {
		var value string
		if value, rest, _ = strings.Cut(rest, " "); value != "-" {
			*l.field(column) = value
		}
	}
	if columns[l.Fact()] != "" {
		rest, l.Hint, _ = strings.Cut(rest, " | ")
	}
	l.Text = rest
	return l, nil
}

// Add adds a fact that only has a text, unless the text is empty.
func (r *Result) Add(key, text string) {
	if text != "" {
		*r = append(*r, Line{Key: key, Text: text})
	}
}

// AddRejection adds the verdict. The code is 0 if the write is allowed.
func (r *Result) AddRejection(code int32, reason, message, cause string) {
	if code == 0 {
		r.Add("verdict", "allowed")
		return
	}
	r.Add("verdict", fmt.Sprintf("%d %s %s", code, reason, message))
	if cause != message {
		r.Add("cause", cause)
	}
}

// AddOther adds the facts of another call of which this result has other ones.
func (r *Result) AddOther(call string, other Result) {
	if r.verdict().text() == other.verdict().text() {
		return
	}
	for _, l := range other {
		l.Key = call + " " + l.Key
		*r = append(*r, l)
	}
}

// verdict returns the facts that do not depend on the call.
func (r Result) verdict() (lines Result) {
	for _, l := range r {
		if slices.Contains([]string{"verdict", "cause", "violation", "next", "ratcheted", "warning", "pruned", "defaulted", "status"}, l.Key) {
			lines = append(lines, l)
		}
	}
	return lines
}

// of returns the result of another call: "" is that of the case.
func (r Result) of(call string) (lines Result) {
	if call == "" {
		return r
	}
	for _, l := range r {
		if key, ok := strings.CutPrefix(l.Key, call+" "); ok {
			l.Key = key
			lines = append(lines, l)
		}
	}
	if lines == nil {
		return r.verdict()
	}
	return lines
}

// text returns the lines of a result.
func (r Result) text() string {
	var b strings.Builder
	for _, l := range r {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}
