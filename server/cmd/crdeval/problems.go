package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// problem is a violation, a warning or an error of a document, as SARIF and GitHub show it.
type problem struct {
	location
	line, column  int // 0: unknown
	level         level
	kind          string // an id of problemKinds
	document      string // title of the document
	text          string
	hint          string
	pointer       string // to the field
	schemaPointer string
	rule          string // of x-kubernetes-validations
}

// level is the severity of a problem, in the words of SARIF.
type level string

const (
	levelError   level = "error"
	levelWarning level = "warning"
	levelNote    level = "note"
)

// Kinds of problems. The kind of another violation is its type, such as FieldValueRequired.
const (
	celViolation     = "x-kubernetes-validations"
	unknownField     = "UnknownField"
	duplicateField   = "DuplicateField"
	rejectedDocument = "Rejected"
	namesConflict    = "NamesNotAccepted"
	brokenConversion = "ConversionRules"
	apiWarning       = "Warning"
	uncheckedFile    = "NotChecked"
	otherViolation   = "InternalError"
)

// message is the text with the hint.
func (p *problem) message() string {
	if p.hint == "" {
		return p.text
	}
	return p.text + " (" + p.hint + ")"
}

// at formats the position like a compiler.
func (p *problem) at() string {
	switch {
	case p.line == 0:
		return p.File
	case p.column == 0:
		return p.File + ":" + strconv.Itoa(p.line)
	}
	return p.File + ":" + strconv.Itoa(p.line) + ":" + strconv.Itoa(p.column)
}

// violation returns p with the content of a violation.
func (p problem) violation(v *crdevalv1.Violation) problem {
	p.text, p.hint = violationText(v), v.GetHint().GetText()
	p.pointer, p.schemaPointer = v.GetPointer(), v.GetSchemaPointer()
	p.rule = v.GetRule().GetRule()
	p.kind = cmp.Or(v.GetType(), otherViolation)
	if v.GetRule() != nil {
		p.kind = celViolation
	}
	return p
}

// position returns p with a position. If it is nil, p keeps its own.
func (p problem) position(at *crdevalv1.Position) problem {
	if at != nil {
		p.line, p.column = int(at.GetLine()), int(at.GetColumn())
	}
	return p
}

// with returns p with a level, kind and text.
func (p problem) with(l level, kind, text string) problem {
	p.level, p.kind, p.text = l, kind, text
	return p
}

// problems returns the problems of a CRD or of conversion rules.
func (j *crdReport) problems() (list []problem) {
	p := problem{location: j.location, line: cmp.Or(j.Line, j.source.Line()), level: levelError}
	p.document = cmp.Or(j.Name, j.source.title())
	if j.source.Number == 0 { // an unreadable file
		p.line, p.document = j.Line, j.File
	}
	if j.Error != "" {
		return append(list, p.with(levelError, uncheckedFile, j.Error))
	}
	report := j.Report.message
	for _, v := range report.GetViolations() {
		list = append(list, p.position(v.GetPosition()).violation(v))
	}
	if r := report.GetRejection(); r != nil && len(list) == 0 {
		list = append(list, p.with(levelError, rejectedDocument, r.GetMessage()))
	}
	for _, v := range j.Conversion.message.GetViolations() {
		of := p.position(v.GetPosition()).violation(v)
		of.kind = brokenConversion
		list = append(list, of)
	}
	for _, text := range j.brokenLaws() {
		list = append(list, p.with(levelError, brokenConversion, text))
	}
	if c := j.Names.message; c != nil {
		list = append(list, p.with(levelWarning, namesConflict, c.GetReason()+": "+c.GetMessage()))
	}
	for _, warning := range report.GetWarnings() {
		list = append(list, p.with(levelWarning, apiWarning, warning))
	}
	for _, v := range report.GetConversion().GetViolations() {
		list = append(list, p.with(levelWarning, brokenConversion, unfitRules+violationText(v)))
	}
	return list
}

// problems returns the problems of an object.
func (o *outcome) problems() (list []problem) {
	p := problem{location: o.location, line: o.Line, level: levelError, document: o.title()}
	if o.Error != "" {
		return append(list, p.with(levelError, uncheckedFile, o.Error))
	}
	position := p.position
	switch o.patchName {
	case "":
	case inlinePatch: // it has no file
		position = func(*crdevalv1.Position) problem { return p }
	default:
		position = func(at *crdevalv1.Position) problem {
			of := p.position(at)
			if at != nil {
				of.File = o.patchName
			}
			return of
		}
	}
	add := func(v *crdevalv1.Violation) {
		list = append(list, position(v.GetPosition()).violation(v))
	}
	verdict := o.Verdict.message
	for _, v := range verdict.GetViolations() {
		add(v)
	}
	for _, v := range o.Next {
		add(v.message)
	}
	unknown := levelNote // of --field-validation ignore
	switch {
	case slices.ContainsFunc(verdict.GetWarnings(), isUnknownField):
		unknown = levelWarning
	case isUnknownField(verdict.GetRejection().GetMessage()):
		unknown = levelError
	}
	for _, f := range verdict.GetChanges().GetPruned() {
		of := position(f.GetPosition()).with(unknown, unknownField, "unknown field "+f.GetPath())
		if of.hint, of.pointer = f.GetHint().GetText(), f.GetPointer(); unknown != levelNote || of.hint != "" {
			list = append(list, of)
		}
	}
	if r := verdict.GetRejection(); r != nil && len(verdict.GetViolations()) == 0 {
		list = append(list, p.rejection(r, len(verdict.GetChanges().GetPruned()) > 0)...)
	}
	for _, warning := range verdict.GetWarnings() {
		switch {
		case isUnknownField(warning) && unknown == levelWarning:
		case isDuplicateField(warning):
			list = append(list, p.atLineOf(warning).with(levelWarning, duplicateField, warning))
		default:
			list = append(list, p.with(levelWarning, apiWarning, warning))
		}
	}
	return list
}

// rejection returns the problems of a rejection without violations. If known is true, the unknown fields are known.
func (p problem) rejection(r *crdevalv1.Rejection, known bool) (list []problem) {
	message := r.GetMessage()
	switch {
	case isDuplicateField(message):
		return []problem{p.atLineOf(message).with(levelError, duplicateField, message)}
	case known && strings.Contains(message, "strict decoding error"):
		return nil
	}
	return []problem{p.atLineOf(message).with(levelError, rejectedDocument, message)}
}

func isUnknownField(text string) bool { return strings.Contains(text, `unknown field "`) }

// isDuplicateField recognises what the decoders of JSON and of YAML report.
func isDuplicateField(text string) bool {
	return strings.Contains(text, `duplicate field "`) || strings.Contains(text, "already set in map")
}

var lineOfText = regexp.MustCompile(`\bline (\d+)`)

// atLineOf returns p at the line that the text names, if it names one.
func (p problem) atLineOf(text string) problem {
	if m := lineOfText.FindStringSubmatch(text); m != nil {
		p.line, _ = strconv.Atoi(m[1])
	}
	return p
}
