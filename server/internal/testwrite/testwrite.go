// Package testwrite returns what messages of the API report for cases of package writecase.
package testwrite

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/testenv/writecase"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// lines collects the lines of a message.
type lines struct {
	writecase.Result
	moved func(*crdevalv1.Position)
}

// Verdict returns the lines of a verdict, none for nil. moved, if not nil, changes positions in the body of a request to
// those in the document.
func Verdict(v *crdevalv1.Verdict, moved func(*crdevalv1.Position)) writecase.Result {
	l := &lines{moved: moved}
	if v == nil {
		return nil
	}
	if v.GetAllowed() != (v.GetRejection() == nil) {
		l.Add("inconsistent", v.String())
	}
	r := v.GetRejection()
	l.AddRejection(r.GetCode(), r.GetReason(), r.GetMessage(), r.GetCause())
	l.addViolations("violation", v.GetViolations())
	l.addViolations("next", v.GetNext())
	l.addViolations("ratcheted", v.GetRatcheted())
	l.addWarnings(v.GetWarnings())
	l.addChanges(v.GetChanges())
	l.Add("object", string(v.GetObject().GetJson()))
	l.Add("stored", string(v.GetStoredObject().GetJson()))
	l.Add("old", string(v.GetOldObject().GetJson()))
	l.Add("status", string(r.GetStatus().GetJson()))
	if v.GetDeletes() {
		l.Add("deletes", "true")
	}
	if v.GetUnchanged() {
		l.Add("unchanged", "true")
	}
	return l.Result
}

// Transformed returns the lines of an object, none for nil. moved is as in Verdict.
func Transformed(v *crdevalv1.TransformedObject, moved func(*crdevalv1.Position)) writecase.Result {
	l := &lines{moved: moved}
	switch r := v.GetRejection(); {
	case v == nil:
		return nil
	case r != nil:
		l.AddRejection(r.GetCode(), r.GetReason(), r.GetMessage(), r.GetCause())
		l.addViolations("violation", v.GetViolations())
		return l.Result
	}
	l.Add("verdict", "transformed")
	l.addWarnings(v.GetWarnings())
	l.addChanges(v.GetChanges())
	l.Add("object", string(v.GetObject().GetJson()))
	if !v.GetChanged() {
		l.Add("unchanged", "true")
	}
	return l.Result
}

func (l *lines) addViolations(key string, list []*crdevalv1.Violation) {
	for _, v := range list {
		text := v.GetMessage()
		if v.GetField() != "" {
			text = v.GetField() + ": " + text
		}
		l.Result = append(l.Result, writecase.Line{
			Key: key, Position: l.position(v.GetPosition()), Step: strings.TrimPrefix(v.GetStep().String(), "PIPELINE_STEP_"),
			Type: v.GetType(), Pointer: v.GetPointer(), Schema: v.GetSchemaPointer(), Text: text, Hint: v.GetHint().GetText(),
		})
	}
}

func (l *lines) addWarnings(list []*crdevalv1.Warning) {
	for _, w := range list {
		l.Result = append(l.Result, writecase.Line{
			Key: "warning", Position: l.position(w.GetPosition()), Type: w.GetType(), Pointer: w.GetPointer(), Text: w.GetText(),
			Hint: w.GetHint().GetText(),
		})
	}
}

func (l *lines) addChanges(c *crdevalv1.ObjectChanges) {
	for _, f := range c.GetPruned() {
		l.Result = append(l.Result, writecase.Line{
			Key: "pruned", Position: l.position(f.GetPosition()), Pointer: f.GetPointer(),
			Text: f.GetPath() + " " + string(f.GetValue().GetJson()), Hint: f.GetHint().GetText(),
		})
	}
	for _, f := range c.GetDefaulted() {
		l.Result = append(l.Result, writecase.Line{
			Key: "defaulted", Pointer: f.GetPointer(), Text: f.GetPath() + " " + string(f.GetValue().GetJson()),
		})
	}
}

func (l *lines) position(p *crdevalv1.Position) string {
	if p == nil {
		return ""
	}
	if l.moved != nil {
		l.moved(p)
	}
	return fmt.Sprintf("%d:%d", p.GetLine(), p.GetColumn())
}
