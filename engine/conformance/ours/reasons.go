package ours

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// withoutViolation marks a rejection without a violation, which upstream's answer does not have.
const withoutViolation = " (no violation)"

// Explained counts the rejections whose violations were checked, and the violations and warnings whose positions were.
var Explained struct{ Definitions, Objects, Positions atomic.Int64 }

// reasons checks that a rejection has a violation, and that each violation and warning has a position if the document
// has the value: that of the value or of its key, as an independent search finds it.
func (d *Definition) reasons(r oracle.Request, v *engine.Verdict) (diffs []string) {
	if v.Rejection != nil {
		Explained.Objects.Add(1)
	}
	if v.Rejection != nil && len(v.Violations) == 0 {
		diffs = append(diffs, "rejected without a violation: "+v.Rejection.Message)
	}
	if v.Rejection == nil && len(v.Violations)+len(v.Next) > 0 {
		diffs = append(diffs, fmt.Sprintf("allowed with violations %v, next %v", v.Violations, v.Next))
	}
	if len(v.Violations)+len(v.Next)+len(v.Warnings) == 0 || r.Patch != "" || r.Op == oracle.Scale {
		return diffs
	}
	in := documentOf(r)
	check := func(kind, pointer, text string, at *engine.Position) {
		Explained.Positions.Add(1)
		switch {
		case at != nil && (at.Line < 1 || at.Column < 1 || at.Offset < 0 || at.Offset > len(r.Body)):
			diffs = append(diffs, fmt.Sprintf("%s %s: position %+v is not in the document", kind, text, *at))
		case at != nil:
			if in.misplaced(pointer, *at) {
				diffs = append(diffs, fmt.Sprintf("%s %s: position %+v is not that of %q, %+v", kind, text, *at, pointer, in.places[pointer]))
			}
		case kind == engine.TypeRejected && pointer == "", kind == engine.TypeNotice, kind == engine.TypeWarning && pointer == "":
		case d.ofOldObject(r, pointer):
		case !in.readable || in.has(pointer):
			diffs = append(diffs, fmt.Sprintf("%s %s at %q has no position", kind, text, pointer))
		}
	}
	for _, list := range [][]engine.Violation{v.Violations, v.Next} {
		for i := range list {
			check(list[i].Type, list[i].Pointer, list[i].Error(), list[i].Position)
		}
	}
	for i := range v.Warnings {
		check(v.Warnings[i].Type, v.Warnings[i].Pointer, v.Warnings[i].Text, v.Warnings[i].Position)
	}
	return diffs
}

// ofOldObject reports whether the value at a pointer can be that of the old object instead of the document's: an update
// keeps the status, and an update of the status keeps everything else.
func (d *Definition) ofOldObject(r oracle.Request, pointer string) bool {
	ofStatus := pointer == "/status" || strings.HasPrefix(pointer, "/status/")
	return r.Op == oracle.Update && ofStatus || r.Op == oracle.Status && !ofStatus
}
