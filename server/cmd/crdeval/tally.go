package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts the results of a run.
type tally struct {
	crds, crdsRejected, crdErrors int
	allowed, rejected, errors     int            // objects
	skipped                       map[string]int // documents, by kind
}

func (t *tally) skip(kind string) {
	if t.skipped == nil {
		t.skipped = map[string]int{}
	}
	if kind == "" {
		kind = "without kind"
	}
	t.skipped[kind]++
}

func (t *tally) crd(j *crdReport) {
	switch {
	case j.Skipped != "":
		t.skip(j.source.id.Kind)
		return
	case j.Error != "":
		t.crdErrors++
	case !j.Accepted:
		t.crdsRejected++
	}
	t.crds++
}

func (t *tally) object(o *outcome) {
	switch {
	case o.Skipped != "":
		t.skip(o.Kind)
	case o.Error != "":
		t.errors++
	case o.Allowed:
		t.allowed++
	default:
		t.rejected++
	}
}

// crdSummary returns the counts of CRDs.
func (t *tally) crdSummary() string {
	text := fmt.Sprintf("%s: %d accepted, %d rejected", counted(t.crds, "CRD"), t.crds-t.crdsRejected-t.crdErrors,
		t.crdsRejected)
	return text + t.rest(t.crdErrors)
}

// objectSummary returns the counts of objects.
func (t *tally) objectSummary() string {
	text := fmt.Sprintf("%s: %d allowed, %d rejected", counted(t.allowed+t.rejected+t.errors, "object"), t.allowed,
		t.rejected)
	return text + t.rest(t.errors)
}

// rest returns the counts of errors and skipped documents.
func (t *tally) rest(errors int) (text string) {
	if errors > 0 {
		text = ", " + counted(errors, "error")
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

// result returns the error that sets the exit code.
func (t *tally) result() error {
	switch n := t.errors + t.crdErrors; {
	case n > 0:
		return errors.New(counted(n, "document") + " could not be checked")
	case t.rejected > 0 || t.crdsRejected > 0:
		return errRejected
	}
	return nil
}

// objects returns the number of documents that are not CRDs.
func (t *tally) objects() int { return t.allowed + t.rejected + t.errors + len(t.skipped) }
