// Package diagnosis turns the answers about a document into findings: what is wrong, where, how severe it is, and what
// was probably meant. All outputs of the command, the language server and the playground show these findings. It also
// makes their quick fixes. It does no I/O, and also runs as WebAssembly.
//
// finding.go has the findings, and fix.go the fixes. edit.go makes edits, and offers a fix only if the edited text is the
// document with exactly the wanted change. schema.go suggests values.
package diagnosis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
)

// Severity is how severe a finding is.
type Severity int

// The severities, from the most severe.
const (
	Error       Severity = iota // the document is rejected, or could not be evaluated
	Warning                     // the document is accepted, but something is probably wrong
	Information                 // a consequence of other findings, or something that is ratcheted
)

// Types of findings besides those of violations and warnings. Users refer to them in filters and suppressions.
const (
	// Rule: a CEL rule of the CRD is violated.
	Rule = "x-kubernetes-validations"
	// NotChecked: the document could not be evaluated.
	NotChecked = "NotChecked"
	// SeveralCRDs: several CRDs apply to the object.
	SeveralCRDs = "SeveralCRDs"
	// RuleCost: a bound would reduce the cost of a rule.
	RuleCost = "RuleCost"
)

// Finding is something about a document.
type Finding struct {
	Severity Severity
	// Type is the type of a violation or of a warning of the engine, or one of the types above.
	Type string
	// Field is upstream's text for the field, "" for a finding that is not about a field.
	Field string
	// Message is the text without the field.
	Message string
	// Hint says what was probably meant, nil if unknown.
	Hint *engine.Hint
	// Pointer is the JSON pointer of the field in the document.
	Pointer string
	// Position is the position in the file, nil if it is not known.
	Position *engine.Position
	// SchemaPointer is the JSON pointer of the violated keyword in the schema, or "".
	SchemaPointer string
	// Rule is the text of the violated rule, "" for other findings.
	Rule string
	// Ratcheted says that the update does not change the value.
	Ratcheted bool
	// CRD is that of the object, nil if it is not known, and for findings of a CRD.
	CRD *workspace.CRD
	// Source is what the finding was made of: an *engine.Violation, *engine.Warning, *engine.FieldChange, *Cost or error.
	Source any
}

// Cost is the source of a finding of type RuleCost.
type Cost struct {
	Version int // in the CRD
	Culprit rules.Culprit
}

// Text returns the field and the message, as an API server prints them.
func (f *Finding) Text() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// Sentence returns the Text, the hint and whether the violation is ratcheted.
func (f *Finding) Sentence() string {
	text := f.Text()
	if f.Field == "<nil>" { // upstream's text for the whole object
		text = f.Message
	}
	if f.Ratcheted {
		text += " (ratcheted: allowed because the update does not change the value)"
	}
	if f.Hint != nil {
		text += " (" + f.Hint.Text + ")"
	}
	return text
}

// isMember reports whether the finding is about a member of an object, not about its value.
func (f *Finding) isMember() bool {
	return f.Type == engine.TypeUnknownField || f.Type == engine.TypeDuplicateField
}

// OfVerdict returns the findings of a verdict: violations, those that strict decoding hides, ratcheted ones, warnings,
// and removed fields with a hint that no violation or warning is about.
func OfVerdict(v *engine.Verdict) (list []Finding) {
	for i := range v.Violations {
		list = append(list, ofViolation(&v.Violations[i]))
	}
	for i := range v.Next {
		list = append(list, ofViolation(&v.Next[i]))
	}
	for i := range v.Ratcheted {
		f := ofViolation(&v.Ratcheted[i])
		f.Severity, f.Ratcheted = Information, true
		if slices.ContainsFunc(v.Warnings, func(w engine.Warning) bool {
			return w.Type == engine.TypeRatcheted && w.Text == f.Text()
		}) {
			f.Severity = Warning // the API server warns about rules
		}
		list = append(list, f)
	}
	for i := range v.Warnings {
		if w := &v.Warnings[i]; w.Type != engine.TypeRatcheted { // it is in the list
			list = append(list, ofWarning(w))
		}
	}
	known := map[string]bool{}
	for _, f := range list {
		known[f.Pointer] = known[f.Pointer] || f.Type == engine.TypeUnknownField
	}
	for i := range v.Pruned {
		if p := &v.Pruned[i]; p.Hint != nil && !known[p.Pointer] {
			list = append(list, Finding{
				Severity: Information, Type: engine.TypeUnknownField, Field: p.Path, Message: "unknown field", Hint: p.Hint,
				Pointer: p.Pointer, Position: p.Position, Source: p,
			})
		}
	}
	return list
}

// OfReport returns the findings of a report about a CRD: violations, those that strict decoding hides, and warnings.
func OfReport(r *engine.Report) (list []Finding) {
	for i := range r.Violations {
		list = append(list, ofViolation(&r.Violations[i]))
	}
	for i := range r.Next {
		list = append(list, ofViolation(&r.Next[i]))
	}
	for i := range r.Warnings {
		list = append(list, ofWarning(&r.Warnings[i]))
	}
	return list
}

// OfCosts returns a finding for each bound that would reduce the cost of the rules of a CRD to their limits.
func OfCosts(r *engine.Report) (list []Finding) {
	for i := range r.Versions {
		v, seen := &r.Versions[i], map[string]bool{}
		root := fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema", v.Index)
		for k := range v.Rules {
			rule := &v.Rules[k]
			if rule.ShareOfLimit <= 1 && v.EstimatedCost <= v.CostLimit {
				continue
			}
			for _, c := range rule.Culprits {
				if key := c.SchemaPointer + " " + c.Keyword; c.Suggested > 0 && !seen[key] {
					seen[key] = true
					list = append(list, Finding{
						Severity: Information, Type: RuleCost, Pointer: root + c.SchemaPointer, Source: &Cost{v.Index, c},
						Message: fmt.Sprintf("With %s: %d, the cost of the rule at %s would be within its limit.",
							c.Keyword, c.Suggested, rule.SchemaPointer),
					})
				}
			}
		}
	}
	return list
}

// OfManifest returns the findings of a manifest that do not depend on its CRD: why it cannot be read, and warnings about
// its place in the file.
func OfManifest(m *workspace.Manifest) (list []Finding) {
	if m.Err != nil {
		list = append(list, OfError(m.Err))
	}
	for i := range m.Warnings {
		list = append(list, ofWarning(&m.Warnings[i]))
	}
	return list
}

// OfError returns the finding of a document that could not be evaluated.
func OfError(err error) Finding {
	f := Finding{Severity: Error, Type: NotChecked, Message: err.Error(), Source: err}
	var e *engine.Error
	if errors.As(err, &e) {
		f.Position = e.Position
		if len(e.Violations) > 0 && e.Violations[0].Type == engine.TypeSyntax {
			f.Type = engine.TypeSyntax
		}
		if f.Position == nil && len(e.Violations) > 0 {
			f.Pointer, f.Position = e.Violations[0].Pointer, e.Violations[0].Position
		}
		if e.Reason == engine.ReasonNotACRD {
			f.Pointer = "/kind"
		}
		if e.Reason == engine.ReasonVersionNotFound || e.Reason == engine.ReasonVersionNotServed {
			f.Pointer = "/apiVersion"
		}
	}
	switch without := (*workspace.WithoutCRDError)(nil); {
	case errors.As(err, &without) && without.Similar == without.Kind: // of another group
		f.Pointer = "/apiVersion"
	case without != nil, errors.As(err, new(*workspace.RejectedCRDError)):
		f.Pointer = "/kind"
	}
	return f
}

// ofSeveral returns the finding that several CRDs apply to an object.
func ofSeveral(a *workspace.Answer) Finding {
	return Finding{
		Severity: Warning, Type: SeveralCRDs, Pointer: "/kind",
		Message: "several CRDs apply, and all give this answer: " + a.Files() + ": name one with --crds",
	}
}

// OfAnswers returns the findings of the answers of workspace.Evaluate. If there are several, each finding says which CRD
// it is from.
func OfAnswers(answers []workspace.Answer) (list []Finding) {
	for i := range answers {
		a := &answers[i]
		var own []Finding
		if a.Err != nil {
			own = []Finding{OfError(a.Err)}
		} else {
			own = OfVerdict(a.Verdict)
		}
		for i := range own {
			if len(a.CRDs) > 0 {
				own[i].CRD = a.CRDs[0]
			}
		}
		if len(answers) > 1 {
			from := " (with the CRD in " + a.Files() + ")"
			if len(own) == 0 {
				own = []Finding{{Severity: Information, Type: SeveralCRDs, Pointer: "/kind", Message: "allowed"}}
			}
			for i := range own {
				own[i].Message += from
			}
		} else if len(a.CRDs) > 1 {
			own = append(own, ofSeveral(a))
		}
		list = append(list, own...)
	}
	if len(answers) > 1 {
		list = append(list, Finding{Severity: Error, Type: SeveralCRDs, Pointer: "/kind",
			Message: "several CRDs apply, and their answers differ: name one with --crds"})
	}
	return list
}

func ofViolation(v *engine.Violation) Finding {
	f := Finding{
		Type: v.Type, Field: v.Field, Message: v.Message, Hint: v.Hint, Pointer: v.Pointer, Position: v.Position,
		SchemaPointer: v.SchemaPointer, Source: v,
	}
	if v.Step == engine.StepRulesSkipped {
		f.Severity = Information
	}
	if v.Rule != nil {
		f.Type, f.Rule = Rule, v.Rule.Text
	}
	return f
}

func ofWarning(w *engine.Warning) Finding {
	return Finding{
		Severity: Warning, Type: w.Type, Message: w.Text, Hint: w.Hint, Pointer: w.Pointer, Position: w.Position, Source: w,
	}
}
