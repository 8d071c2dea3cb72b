package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/crdeval/crdeval/engine"
)

func (c *checkCommand) print(w io.Writer, j judgement) error {
	if c.Output == "json" {
		return json.NewEncoder(w).Encode(j)
	}
	return printJudgement(w, &j)
}

// printJudgement prints for people what an API server would say to a CRD.
func printJudgement(w io.Writer, j *judgement) error {
	var b bytes.Buffer
	j.head(&b)
	for i := range j.Violations {
		place := j.File
		if p := j.Violations[i].Position; p != nil {
			place = fmt.Sprintf("%s:%d:%d", j.File, p.Line, p.Column)
		}
		fmt.Fprintf(&b, "  %s: %s\n", place, j.Violations[i].text())
	}
	for i := 0; i < len(j.Versions) && j.Accepted; i++ {
		fmt.Fprintf(&b, "  %s\n", &j.Versions[i])
	}
	printBounds(&b, j.Versions)
	if j.Names != nil {
		fmt.Fprintf(&b, "  warning: NamesAccepted False: %s: %s\n", j.Names.Reason, j.Names.Message)
	}
	for _, warning := range j.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

// printable is a text as it may go to a terminal: control characters in it, which come from manifests, are spelled out.
func printable(text []byte) []byte {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if bytes.IndexFunc(text, control) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if control(r) {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func (j *judgement) head(b *bytes.Buffer) {
	update := ""
	if j.Update {
		update = " as an update"
	}
	switch {
	case j.Error != "" && j.Line > 0:
		fmt.Fprintf(b, "%s:%d: error: %s\n", j.File, j.Line, j.Error)
	case j.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", j.where, j.Error)
	case j.Accepted:
		fmt.Fprintf(b, "%s: accepted%s\n", j.where+named(j.Name), update)
	default:
		fmt.Fprintf(b, "%s: refused%s\n", j.where+named(j.Name), update)
		if len(j.Violations) == 0 && j.Refusal != nil {
			fmt.Fprintf(b, "  %s: %s\n", j.File, j.Refusal.Message)
		}
	}
}

// named is what stands behind the file: the CRD's name, nothing if it has none that could be read.
func named(crd string) string {
	if crd == "" {
		return ""
	}
	return ": " + crd
}

// String is what there is to say about a version in a line.
func (v *judgedVersion) String() string {
	var parts []string
	switch {
	case v.Served && v.Storage:
		parts = append(parts, "served, storage")
	case v.Served:
		parts = append(parts, "served")
	case v.Storage:
		parts = append(parts, "not served, storage")
	default:
		parts = append(parts, "not served")
	}
	if v.LowestMinor > engine.OldestMinor {
		parts = append(parts, fmt.Sprintf("needs Kubernetes 1.%d (%s)", v.LowestMinor, v.LowestMinorBecause))
	}
	if n := len(v.Rules); n > 0 {
		text := counted(n, "rule", "rules") + ", " + share(v.EstimatedCost, v.CostLimit) + " of what all may cost"
		if dearest := v.dearest(); n > 1 && dearest >= 0.01 {
			text += fmt.Sprintf(", the dearest %s of what one may", percent(dearest))
		}
		parts = append(parts, text)
	}
	if v.DeprecationWarning != "" {
		parts = append(parts, fmt.Sprintf("deprecated: %q", v.DeprecationWarning))
	}
	return v.Name + ": " + strings.Join(parts, "; ")
}

// dearest is the largest share of its limit that a rule takes.
func (v *judgedVersion) dearest() (most float64) {
	for i := range v.Rules {
		most = max(most, v.Rules[i].ShareOfLimit)
	}
	return most
}

func share(cost, limit uint64) string {
	if limit == 0 {
		return percent(math.Inf(1))
	}
	return percent(float64(cost) / float64(limit))
}

// percent words a share.
func percent(share float64) string {
	switch {
	case share < 0.01:
		return "less than 1 %"
	case share > 100:
		return "more than 100 times"
	case share > 10:
		return fmt.Sprintf("%.0f times", share)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}
