package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// crdReport is what an API server answers to a CRD.
type crdReport struct {
	documentID
	Line     int                          `json:"line,omitempty"`   // of the error, if known
	Column   int                          `json:"column,omitempty"` // of the error, if known
	Name     string                       `json:"name,omitempty"`
	Accepted bool                         `json:"accepted"`
	Report   inREST[*crdevalv1.CrdReport] `json:"report,omitzero"`

	Conversion inREST[*crdevalv1.ConversionReport] `json:"conversion,omitzero"` // of a document with conversion rules

	Names   inREST[*crdevalv1.CrdCondition] `json:"namesAccepted,omitzero"` // if its names conflict
	Skipped string                          `json:"skipped,omitempty"`      // why the document was skipped
	Error   string                          `json:"error,omitempty"`        // why the document could not be checked

	source  *workspace.Manifest
	skipped string // what the document is, if it was skipped
}

func newReport(crd *workspace.Manifest) *crdReport {
	return &crdReport{documentID: documentIDOf(crd), source: crd}
}

// takeReport records a report.
func (j *crdReport) takeReport(r *crdevalv1.CrdReport) { j.Report.message = r }

// takeConversion records a report about conversion rules.
func (j *crdReport) takeConversion(r *crdevalv1.ConversionReport) { j.Conversion.message = r }

// takeNames records the condition NamesAccepted of a CRD whose names conflict.
func (j *crdReport) takeNames(c *crdevalv1.CrdCondition) {
	c.LastTransitionTime = nil // without meaning for a file
	j.Names.message = c
}

// skip records what a skipped document is, and why it was skipped.
func (j *crdReport) skip(kind, reason string) { j.skipped, j.Skipped = kind, reason }

// fail records why the document could not be checked.
func (j *crdReport) fail(err error) {
	j.Error = err.Error()
	j.Line, j.Column = placeOf(err, nil)
	if j.Line == 0 && j.source.Conversion {
		j.Line = j.source.Line()
	}
}

const unfitRules = "the registered conversion rules do not fit this CRD, so conversions would fail: "

// print prints the report as text.
func (j *crdReport) print(w io.Writer) error {
	var b bytes.Buffer
	j.printHead(&b)
	report := j.Report.message
	for _, v := range report.GetViolations() {
		fmt.Fprintf(&b, "  %s: %s\n", positionText(j.File, v.GetPosition()), violationText(v))
		printHint(&b, v.GetHint())
	}
	for _, line := range j.conversionLines() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if j.Accepted {
		for _, v := range report.GetVersions() {
			fmt.Fprintf(&b, "  %s\n", versionText(v))
		}
	}
	for _, v := range report.GetVersions() {
		printBounds(&b, v)
	}
	if c := j.Names.message; c != nil {
		fmt.Fprintf(&b, "  warning: NamesAccepted False: %s: %s\n", c.GetReason(), messageText(c.GetMessage()))
	}
	for _, w := range report.GetWarnings() {
		if at := w.GetPosition(); at != nil {
			fmt.Fprintf(&b, "  %s: warning: %s\n", positionText(j.File, at), messageText(w.GetText()))
		} else {
			fmt.Fprintf(&b, "  warning: %s\n", messageText(w.GetText()))
		}
		printHint(&b, w.GetHint())
	}
	for _, v := range report.GetConversion().GetViolations() {
		fmt.Fprintf(&b, "  warning: %s%s\n", unfitRules, violationText(v))
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

// printHint prints a hint. It may be nil.
func printHint(b *bytes.Buffer, h *crdevalv1.Hint) {
	if h != nil {
		fmt.Fprintf(b, "    hint: %s\n", terminal.OneLine(h.GetText()))
	}
}

func (j *crdReport) printHead(b *bytes.Buffer) {
	name, update := where(j.source), ""
	if j.Name != "" {
		name += ": " + terminal.OneLine(j.Name)
	}
	if j.Report.message.GetUpdate() {
		update = " as an update"
	}
	if j.source.Conversion {
		name += ": conversion rules"
	}
	switch {
	case j.Skipped != "":
		fmt.Fprintf(b, "%s: skipped: %s\n", name, messageText(j.Skipped))
	case j.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", errorPlace(j.source, j.Line, j.Column), messageText(j.Error))
	case j.Accepted:
		fmt.Fprintf(b, "%s: accepted%s\n", name, update)
	default:
		fmt.Fprintf(b, "%s: rejected%s\n", name, update)
		if r := j.Report.message; len(r.GetViolations()) == 0 && r.GetRejection() != nil {
			fmt.Fprintf(b, "  %s: %s\n", terminal.OneLine(j.File), messageText(r.GetRejection().GetMessage()))
		}
	}
}

// versionText describes a version in a line.
func versionText(v *crdevalv1.VersionReport) string {
	state := "not served"
	if v.GetVersion().GetServed() {
		state = "served"
	}
	if v.GetVersion().GetStorage() {
		state += ", storage"
	}
	parts := []string{state}
	if v.GetLowestKubernetesReason() != "" {
		parts = append(parts, fmt.Sprintf("needs Kubernetes %s (%s)", v.GetLowestKubernetes(), v.GetLowestKubernetesReason()))
	}
	if n := len(v.GetRules()); n > 0 {
		total, costliest := math.Inf(1), 0.0
		if v.GetCostLimit() > 0 {
			total = float64(v.GetEstimatedCost()) / float64(v.GetCostLimit())
		}
		for _, r := range v.GetRules() {
			costliest = max(costliest, r.GetShareOfLimit())
		}
		text := fmt.Sprintf("%s: %s of the total cost budget", counted(n, "rule"), percent(total))
		if n > 1 && costliest >= 0.01 {
			text += fmt.Sprintf(", costliest rule: %s of the per-rule budget", percent(costliest))
		}
		parts = append(parts, text)
	}
	if warning := v.GetVersion().GetDeprecationWarning(); warning != "" {
		parts = append(parts, fmt.Sprintf("deprecated: %q", warning))
	}
	return v.GetVersion().GetName() + ": " + strings.Join(parts, "; ")
}

func percent(share float64) string {
	switch {
	case share < 0.01:
		return "less than 1%"
	case share > 100:
		return "more than 100 times"
	case share > 10:
		return fmt.Sprintf("%.0f times", share)
	}
	return fmt.Sprintf("%.0f%%", share*100)
}

// printBounds suggests bounds for the rules of a version whose cost exceeds a limit.
func printBounds(b *bytes.Buffer, v *crdevalv1.VersionReport) {
	tooCostly := func(r *crdevalv1.RuleReport) bool { return r.GetShareOfLimit() > 1 }
	if v.GetEstimatedCost() <= v.GetCostLimit() && !slices.ContainsFunc(v.GetRules(), tooCostly) {
		return
	}
	for _, r := range v.GetRules() {
		var bounds []string
		for _, c := range r.GetCulprits() {
			if c.GetSuggested() > 0 {
				bounds = append(bounds, fmt.Sprintf("%s: %d at %s", c.GetKeyword(), c.GetSuggested(), c.GetSchemaPointer()))
			}
		}
		rule := v.GetVersion().GetName() + " " + r.GetSchemaPointer()
		switch {
		case len(bounds) > 0:
			fmt.Fprintf(b, "  %s would be within its limit with %s\n", rule, strings.Join(bounds, ", "))
		case tooCostly(r): // such as string(self.x) + 'y'
			fmt.Fprintf(b, "  %s is over its limit with any bound in the schema: the rule builds a value that is too large, "+
				"or whose size cannot be estimated\n", rule)
		}
	}
}
