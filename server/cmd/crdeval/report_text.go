package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// where identifies the document in messages.
func (j *crdReport) where() string {
	if j.source == nil {
		return j.File
	}
	return j.source.where()
}

// print prints the report as text.
func (j *crdReport) print(w io.Writer) error {
	var b bytes.Buffer
	j.printHead(&b)
	for i := range j.Violations {
		v := &j.Violations[i]
		fmt.Fprintf(&b, "  %s: %s\n", placed(j.File, v.Position), v.text())
	}
	if j.Accepted {
		for i := range j.Versions {
			fmt.Fprintf(&b, "  %s\n", j.Versions[i].text())
		}
	}
	for i := range j.Versions {
		j.Versions[i].printBounds(&b)
	}
	if j.Names != nil {
		fmt.Fprintf(&b, "  warning: NamesAccepted False: %s: %s\n", j.Names.Reason, j.Names.Message)
	}
	for _, warning := range j.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

func (j *crdReport) printHead(b *bytes.Buffer) {
	where, update := j.where(), ""
	if j.Name != "" {
		where += ": " + j.Name
	}
	if j.Update {
		update = " as an update"
	}
	switch {
	case j.Skipped != "":
		fmt.Fprintf(b, "%s: skipped: %s\n", where, j.Skipped)
	case j.Error != "" && j.Line > 0:
		fmt.Fprintf(b, "%s:%d: error: %s\n", j.File, j.Line, j.Error)
	case j.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", j.where(), j.Error)
	case j.Accepted:
		fmt.Fprintf(b, "%s: accepted%s\n", where, update)
	default:
		fmt.Fprintf(b, "%s: rejected%s\n", where, update)
		if len(j.Violations) == 0 && j.Rejection != nil {
			fmt.Fprintf(b, "  %s: %s\n", j.File, j.Rejection.Message)
		}
	}
}

// text describes a version in a line.
func (v *versionReport) text() string {
	state := "not served"
	if v.Served {
		state = "served"
	}
	if v.Storage {
		state += ", storage"
	}
	parts := []string{state}
	if v.LowestMinor > engine.OldestMinor {
		parts = append(parts, fmt.Sprintf("needs Kubernetes 1.%d (%s)", v.LowestMinor, v.LowestMinorReason))
	}
	if n := len(v.Rules); n > 0 {
		total, costliest := math.Inf(1), 0.0
		if v.CostLimit > 0 {
			total = float64(v.EstimatedCost) / float64(v.CostLimit)
		}
		for i := range v.Rules {
			costliest = max(costliest, v.Rules[i].ShareOfLimit)
		}
		text := fmt.Sprintf("%s: %s of the total cost budget", counted(n, "rule"), percent(total))
		if n > 1 && costliest >= 0.01 {
			text += fmt.Sprintf(", costliest rule: %s of the per-rule budget", percent(costliest))
		}
		parts = append(parts, text)
	}
	if v.DeprecationWarning != "" {
		parts = append(parts, fmt.Sprintf("deprecated: %q", v.DeprecationWarning))
	}
	return v.Name + ": " + strings.Join(parts, "; ")
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
func (v *versionReport) printBounds(b *bytes.Buffer) {
	over := v.EstimatedCost > v.CostLimit
	for i := range v.Rules {
		over = over || v.Rules[i].ShareOfLimit > 1
	}
	if !over {
		return
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		var bounds []string
		for _, c := range r.Culprits {
			if c.Suggested > 0 {
				bounds = append(bounds, fmt.Sprintf("%s: %d at %s", c.Keyword, c.Suggested, c.SchemaPointer))
			}
		}
		switch {
		case len(bounds) > 0:
			fmt.Fprintf(b, "  %s %s would fit with %s\n", v.Name, r.SchemaPointer, strings.Join(bounds, ", "))
		case r.ShareOfLimit > 1: // such as string(self.x) + 'y'
			fmt.Fprintf(b, "  %s %s does not fit with any bound in the schema: the rule builds a value that is too large, "+
				"or whose size cannot be estimated\n", v.Name, r.SchemaPointer)
		}
	}
}
