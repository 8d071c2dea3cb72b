package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/diff"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// tries is the value of --counterexamples: 0 without the flag, diff.DefaultTries for the flag without a number.
type tries int32

// maxTries is the limit of the API.
const maxTries = 100_000

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *tries) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > maxTries {
		return fmt.Errorf("%q is not a number of tries: it must be from 1 to %d", text, maxTries)
	}
	*t = tries(n)
	return nil
}

// printCounterexample prints the result of the search for a counterexample of a change. A search without a result is
// printed only for breaking changes.
func (d *difference) printCounterexample(b *bytes.Buffer, c *crdevalv1.CrdChange) {
	switch e := c.GetCounterexample(); {
	case e == nil && (!d.searched || c.GetChangeClass() != breaking):
	case e == nil && !d.Diff.message.GetAccepted():
		fmt.Fprintf(b, "    counterexample: no search, because the new CRD is rejected\n")
	case e == nil:
		fmt.Fprintf(b, "    counterexample: no search, because there are more than %d changes\n", diff.MaxCounterexamples)
	case e.GetNoObjectReason() != "":
		fmt.Fprintf(b, "    counterexample: no object shows this change: %s\n", e.GetNoObjectReason())
	case e.GetObject() != nil:
		if old := e.GetOldObject(); old != nil {
			fmt.Fprintf(b, "    old object: %s\n", old.GetJson())
		}
		fmt.Fprintf(b, "    counterexample (%s): %s\n", requestOf(e), e.GetObject().GetJson())
		if fields := e.GetIgnoredFields(); len(fields) > 0 {
			fmt.Fprintf(b, "      accepted, but not stored: %s\n", strings.Join(fields, ", "))
			return
		}
		for _, v := range e.GetViolations() {
			if v.GetStep() != crdevalv1.PipelineStep_PIPELINE_STEP_RULES_SKIPPED {
				fmt.Fprintf(b, "      %s\n", violationText(v))
			}
		}
		for _, v := range e.GetHiddenViolations() {
			fmt.Fprintf(b, "      with this change alone: %s\n", violationText(v))
		}
		if len(e.GetViolations()) == 0 {
			fmt.Fprintf(b, "      %s\n", e.GetRejection().GetMessage())
		}
	case c.GetChangeClass() != breaking:
	case e.GetTries() == 0:
		fmt.Fprintf(b, "    counterexample: no search, because no time was left\n")
	default:
		fmt.Fprintf(b, "    counterexample: none found in %d tries\n", e.GetTries())
	}
}

// requestOf names the write of a counterexample.
func requestOf(e *crdevalv1.ChangeCounterexample) string {
	switch sub := e.GetSubresource(); {
	case sub != "":
		return "update of " + sub
	case e.GetOldObject() != nil:
		return "update"
	}
	return "create"
}
