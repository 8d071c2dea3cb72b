package page

import (
	"context"
	"strings"
	"testing"
)

// TestExamples checks the verdict of each example of the gallery, and that its description is one sentence.
func TestExamples(t *testing.T) {
	want := map[string]func(r *Report) bool{
		"defaults": func(r *Report) bool {
			return r.Object.Allowed && has(r.Object.Changes, OpDefaulted, "spec.fuel") &&
				has(r.Object.Changes, OpDefaulted, "spec.decks") &&
				has(r.Object.Changes, OpPruned, "spec.temprature") && r.Table.Text == "NAME   FUEL   DEGREES\nbig    wood   \n"
		},
		"ratcheting": func(r *Report) bool {
			return r.Object.Allowed && r.Object.Operation == "update" && len(r.Object.Ratcheted) == 2 &&
				r.Traces[0].Outcome == "ratcheted"
		},
		"transition": func(r *Report) bool {
			return !r.Object.Allowed && len(r.Object.Violations) == 1 && r.Object.Violations[0].Rule == "self >= oldSelf"
		},
		"cost": func(r *Report) bool {
			rule := r.CRD.Rules[0]
			return !r.CRD.Accepted && r.Object == nil && rule.Percent > 100 && len(rule.Bounds) == 2 &&
				rule.Bounds[0].Suggested > 0 && len(rule.Bounds[0].Fixes) == 1
		},
		"map-list": func(r *Report) bool {
			return !r.Object.Allowed && r.Object.Violations[0].Type == "FieldValueDuplicate" &&
				r.Object.Violations[0].Field == "spec.stops[2]"
		},
		"int-or-string": func(r *Report) bool {
			return !r.Object.Allowed && r.Object.Violations[0].Field == "spec.inRepair" && len(r.Traces[0].Tree.Children) == 2
		},
		"quantity": func(r *Report) bool {
			return !r.Object.Allowed && len(r.Object.Violations) == 1 && r.Object.Violations[0].Field == "spec.used"
		},
		"one-of": func(r *Report) bool {
			v := r.Object.Violations[0]
			return !r.Object.Allowed && strings.Contains(v.Message, "must validate one and only one schema (oneOf)") &&
				v.Field == "<nil>" && v.Range != nil && v.Range.Start == (Position{7, 3, 105}) && v.Range.End == (Position{7, 9, 111})
		},
	}
	examples := Examples()
	if len(examples) != len(want) {
		t.Fatalf("%d examples, and %d expectations", len(examples), len(want))
	}
	for _, e := range examples {
		t.Run(e.ID, func(t *testing.T) {
			r := evaluate(context.Background(), e.Input)
			if len(r.Errors) > 0 || !want[e.ID](r) {
				t.Errorf("unexpected report: %s", encode(r))
			}
			if e.Title == "" || strings.Count(e.Description, ".") != 1 || !strings.HasSuffix(e.Description, ".") {
				t.Errorf("%q is not one sentence", e.Description)
			}
		})
	}
}

func has(changes []Change, op, path string) bool {
	for _, c := range changes {
		if c.Op == op && c.Path == path {
			return true
		}
	}
	return false
}

// TestCostFixes applies all suggested bounds of the example, which must make the CRD acceptable.
func TestCostFixes(t *testing.T) {
	var in Input
	for _, e := range Examples() {
		if e.ID == "cost" {
			in = e.Input
		}
	}
	for _, bound := range evaluate(context.Background(), in).CRD.Rules[0].Bounds {
		// The bounds are suggested together, and a fix refers to the text in which it was made.
		for _, fresh := range evaluate(context.Background(), in).CRD.Rules[0].Bounds {
			if fresh.Path == bound.Path && len(fresh.Fixes) > 0 && strings.Contains(fresh.Hint, ": set it to") {
				in.CRD = apply(in.CRD, fresh.Fixes[0])
				break
			}
		}
	}
	if r := evaluate(context.Background(), in); !r.CRD.Accepted || r.Object == nil || !r.Object.Allowed {
		t.Errorf("%s\n%s", in.CRD, encode(r))
	}
}

// apply applies the edits of a fix to a text in ASCII.
func apply(text string, f Fix) string {
	for i := len(f.Edits) - 1; i >= 0; i-- {
		e := f.Edits[i]
		text = text[:e.Start.Offset] + e.Text + text[e.End.Offset:]
	}
	return text
}
