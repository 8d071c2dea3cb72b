package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/repository"
)

// tally counts the results of a run.
type tally struct {
	crds, rules, objects counts         // rules are sets of conversion rules
	skipped              map[string]int // documents, by kind
	files                []repository.Skipped
	others               int    // documents of other kinds that are errors of a command for CRDs
	unreadable           int    // files and other inputs
	rejected             string // the word for a negative result; default: rejected
	evaluated            string // the word for what is done with a document; default: checked
}

// counts are the numbers of results for documents that were not skipped.
type counts struct{ accepted, rejected, errors int }

func (c *counts) all() int { return c.accepted + c.rejected + c.errors }

func (t *tally) crd(j *crdReport) {
	if j.source.Location.Number == 0 { // not a document
		t.unreadable++
		return
	}
	c := &t.crds
	switch s := j.source; {
	case s.Conversion:
		c = &t.rules
	case j.Error != "" && s.Err == nil && !s.IsCRD():
		t.others++
		return
	}
	t.add(c, j.Accepted, j.Error, j.Skipped, j.source.Kind)
}

func (t *tally) object(o *outcome) { t.add(&t.objects, o.allowed(), o.Error, o.Skipped, o.Kind) }

func (t *tally) add(c *counts, accepted bool, failure, skipped, kind string) {
	switch {
	case skipped != "":
		t.skipped[cmp.Or(kind, "without kind")]++
	case failure != "":
		c.errors++
	case accepted:
		c.accepted++
	default:
		c.rejected++
	}
}

// writesSummary returns the counts of objects, those of CRDs if there are no objects, and the skipped documents.
func (t *tally) writesSummary() string {
	text := t.summary(&t.objects, "object", "allowed")
	if t.objects.all()+len(t.skipped) == 0 && t.crds.all()+t.rules.all() > 0 {
		text = t.crdCounts() + "\n" + text
	}
	return text + t.filesSummary()
}

// crdSummary returns the counts of CRDs and of their conversion rules, and the skipped documents and files.
func (t *tally) crdSummary() string { return t.crdCounts() + t.filesSummary() }

// filesSummary returns a further line with the number of skipped files, or "".
func (t *tally) filesSummary() string {
	if len(t.files) == 0 {
		return ""
	}
	kinds := map[string]int{}
	for _, f := range t.files {
		kinds[f.Kind]++
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		noun, plural := strings.CutSuffix(kind, "patch")
		if plural && kinds[kind] > 1 {
			parts = append(parts, fmt.Sprintf("%d %spatches", kinds[kind], noun))
		} else {
			parts = append(parts, counted(kinds[kind], kind))
		}
	}
	return fmt.Sprintf("\nskipped %s: %s", counted(len(t.files), "file"), strings.Join(parts, ", "))
}

// skippedLines returns a line for each skipped file. If verbose is false, only templates without a chart are listed.
func (t *tally) skippedLines(verbose bool) string {
	var b strings.Builder
	for _, f := range t.files {
		if verbose || f.Kind == repository.Template {
			fmt.Fprintf(&b, "%s: skipped: %s\n", f.Name, f.Reason)
		}
	}
	return string(printable([]byte(b.String())))
}

// crdCounts returns the counts of CRDs and of their conversion rules, and the skipped documents.
func (t *tally) crdCounts() string {
	text := t.summary(&t.crds, "CRD", "accepted")
	if t.rules.all() > 0 {
		text += "\nconversion rules of " + (&tally{}).summary(&t.rules, "CRD", "accepted")
	}
	return text
}

// summary returns the counts of CRDs or objects, and the skipped documents.
func (t *tally) summary(c *counts, noun, accepted string) string {
	text := fmt.Sprintf("%s: %d %s, %d %s",
		counted(c.all(), noun), c.accepted, accepted, c.rejected, cmp.Or(t.rejected, "rejected"))
	if c.errors > 0 {
		text += ", " + counted(c.errors, "error")
	}
	if t.others > 0 {
		text += ", " + counted(t.others, "other document")
	}
	if t.unreadable > 0 {
		text += ", " + counted(t.unreadable, "unreadable input")
	}
	n := 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(t.skipped)) {
		n += t.skipped[kind]
		kinds = append(kinds, fmt.Sprintf("%d %s", t.skipped[kind], kind))
	}
	if n > 0 {
		text += fmt.Sprintf("; skipped %s: %s", counted(n, "document"), strings.Join(kinds, ", "))
	}
	return text
}

// errors returns the number of documents and inputs that could not be evaluated.
func (t *tally) errors() int {
	return t.unreadable + t.others + t.crds.errors + t.rules.errors + t.objects.errors
}

// result returns the error that sets the exit code.
func (t *tally) result() error {
	switch n := t.errors(); {
	case n > 0 && n == t.unreadable:
		return incompleteError(counted(n, "input") + " could not be read")
	case n > 0:
		return incompleteError(fmt.Sprintf("%s could not be %s", counted(n, "document"), cmp.Or(t.evaluated, "checked")))
	case t.crds.rejected+t.rules.rejected+t.objects.rejected > 0:
		return errRejected
	}
	return nil
}
