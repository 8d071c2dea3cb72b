package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// result returns the result for reports of CI systems. Changes of the class failOn or worse are errors. Other changes
// are warnings, except for compatible changes, which are omitted.
func (d *difference) result(failOn string) *output.Result {
	of := d.new
	if of == nil {
		of = d.old
	}
	p := problem{File: of.File, Line: of.Line(), Document: d.Name}
	fails := func(class crdevalv1.ChangeClass) bool { return failOn != "never" && class >= classOf(failOn) }
	r := &output.Result{File: p.File, Line: p.Line, Name: d.Name, Class: workspace.CRDKind, Error: d.Error,
		Failed: fails(d.worst()), Message: "the changes are " + classNames[d.worst()], Reason: classNames[d.worst()]}
	var list problems
	add := func(p problem, class crdevalv1.ChangeClass, kind, text string) {
		level := output.LevelWarning
		if fails(class) {
			level = output.LevelError
		}
		if class != compatible {
			list.add(p.with(level, kind, classNames[class]+text))
		}
	}
	switch {
	case d.Error != "":
		p.File, p.Line = d.File, d.Line
		list.add(p.with(output.LevelError, output.NotChecked, d.Error))
	case d.Deleted:
		add(p, breaking, output.CRDChange, ": the CRD is not in "+d.New+". Deleting a CRD deletes its objects")
	}
	answer := d.Diff.message.GetReport()
	for _, v := range answer.GetViolations() {
		p.Level = output.LevelError
		list.add(p.position(v.GetPosition()).violation(v))
	}
	if rejection := answer.GetRejection(); rejection != nil && len(answer.GetViolations()) == 0 {
		list.add(p.with(output.LevelError, output.Rejected, rejection.GetMessage()))
	}
	for _, c := range d.Diff.message.GetChanges() {
		at := p.position(c.GetNewPosition())
		if d.isRemoval(c) {
			at = p.position(c.GetOldPosition())
			at.File = d.old.File
		}
		at.Pointer, at.SchemaPointer = c.GetManifestPointer(), c.GetSchemaPointer()
		text := sides(c) + ": " + subject(c) + ": " + c.GetMessage() + values(c)
		if e := c.GetCounterexample(); e.GetObject() != nil {
			text += fmt.Sprintf("; counterexample (%s): %s", requestOf(e), e.GetObject().GetJson())
		}
		add(at, c.GetChangeClass(), output.CRDChange, text)
	}
	for i := range d.Replayed {
		o := &d.Replayed[i]
		at := problem{File: o.File, Line: o.Line, Document: titleOfReplayed(d.kind, o)}
		if o.Error != "" {
			list.add(at.with(output.LevelError, output.NotChecked, o.Error))
			continue
		}
		text := o.summary()
		for _, v := range o.Result.message.GetNewViolations() {
			text += fmt.Sprintf("; %s: %s", positionText(o.File, v.GetPosition()), violationText(v))
		}
		add(at, o.class(), output.ReplayedObject, ": "+text)
	}
	r.Problems = list
	return r
}

func titleOfReplayed(kind string, o *replayed) string {
	if o.Namespace != "" {
		return kind + " " + o.Namespace + "/" + o.Name
	}
	return kind + " " + o.Name
}
