package page

import (
	"errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// findings has the findings of a document as the report has them.
type findings struct {
	violations, ratcheted []Violation
	warnings              []Warning
	rule                  func(*diagnosis.Finding) *Range // returns the place of a rule that failed
}

// add adds the findings, except removed fields, which are in Object.Changes.
func (to *findings) add(d *manifestText, list []diagnosis.Finding, of schemas) {
	for i := range list {
		f := &list[i]
		switch source := f.Source.(type) {
		case *engine.Violation:
			v := Violation{Warning: d.warning(f, of), Field: f.Field, Pointer: f.Pointer, BadValue: validJSON(source.BadValue),
				Rule: f.Rule}
			if f.Rule != "" {
				v.RuleRange = to.rule(f)
			}
			if f.Ratcheted {
				to.ratcheted = append(to.ratcheted, v)
			} else {
				to.violations = append(to.violations, v)
			}
		case *engine.Warning:
			to.warnings = append(to.warnings, d.warning(f, of))
		}
	}
}

// newFindings returns findings whose lists are not null in JSON.
func newFindings(rule func(*diagnosis.Finding) *Range) *findings {
	return &findings{violations: []Violation{}, ratcheted: []Violation{}, warnings: []Warning{}, rule: rule}
}

var severities = map[diagnosis.Severity]string{
	diagnosis.Error: "error", diagnosis.Warning: "warning", diagnosis.Information: "info",
}

func (d *manifestText) warning(f *diagnosis.Finding, of schemas) Warning {
	out := Warning{Document: d.name, Severity: severities[f.Severity], Type: f.Type, Message: f.Message,
		Range: d.rangeOfFinding(f), Fixes: d.fixes(f, of)}
	if f.Hint != nil {
		out.Hint = f.Hint.Text
	}
	return out
}

// failed returns the Error for an error of the engine about the document. crd is that of the object, or nil. An error
// without a place is marked where the document begins.
func (d *manifestText) failed(err error, crd *workspace.CRD) *Error {
	out := failure(err)
	out.Document = d.name
	f := diagnosis.OfError(err)
	f.CRD = crd
	reason := engine.ReasonOf(err)
	if f.Position == nil && f.Pointer == "" && reason != engine.ReasonItemDeadline && reason != engine.ReasonInternal {
		start := d.Start()
		f.Position = &start
	}
	out.Range, out.Fixes = d.rangeOfFinding(&f), d.fixes(&f, nil)
	return out
}

// failure returns the Error for an error of the engine that is not about a document.
func failure(err error) *Error {
	out := &Error{Reason: string(engine.ReasonInternal), Message: err.Error(), Fixes: []Fix{}}
	var e *engine.Error
	if errors.As(err, &e) {
		out.Reason = string(e.Reason)
		if e.Reason == engine.ReasonItemDeadline {
			out.Message += " (the playground limits the time of an evaluation: for large documents, use the command crdeval)"
		}
	}
	return out
}
