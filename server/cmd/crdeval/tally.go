package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// tally counts the results of a run.
type tally struct {
	crds, rules, objects counts         // rules are sets of conversion rules
	skipped              map[string]int // documents, by kind
	files                []*workspace.File
	unreadable           []*workspace.File
	documents            int                       // that cannot be read
	ambiguous            int                       // objects about which CRDs disagree
	warned               int                       // objects that were converted with warnings
	builtIn              int                       // objects of built-in kinds
	withoutCRD           map[string]map[string]int // objects, by group and kind
	allowMissing         bool                      // objects without a CRD are no errors
	allowEmpty           bool                      // a run that evaluates nothing is no error
	own                  int                       // CRDs and rules that the run is about: not those of --crds
	others               int                       // documents of other kinds that are errors of a command for CRDs
	rejected             string                    // the word for a negative result; default: rejected
	evaluated            string                    // the word for what is done with a document; default: checked
	inputs               string                    // what the files need to have, for a run that evaluates nothing
}

// counts are the numbers of results for documents that were not skipped.
type counts struct{ accepted, rejected, errors int }

func (c *counts) all() int { return c.accepted + c.rejected + c.errors }

// newTally returns the tally of a run of crdeval admit.
func newTally(c *admitCommand) *tally {
	return &tally{
		skipped: map[string]int{}, withoutCRD: map[string]map[string]int{}, allowMissing: c.AllowMissingCRDs,
		allowEmpty: c.AllowEmpty, inputs: "no CRD and no object with a CRD",
	}
}

// skip counts a file that is skipped.
func (t *tally) skip(f *workspace.File) {
	if f.Skip.Kind != "" && !slices.ContainsFunc(t.files, func(known *workspace.File) bool { return known.Name == f.Name }) {
		t.files = append(t.files, f)
	}
}

func (t *tally) crd(j *crdReport) {
	c := &t.crds
	switch s := j.source; {
	case s.Conversion:
		c = &t.rules
	case s.Err != nil && j.Skipped == "":
		t.documents++
		return
	case j.Error != "" && s.Err == nil && s.AsCRD() == nil:
		t.others++
		return
	}
	t.add(c, j.Accepted, j.Error, j.Skipped, j.skipped)
}

// object counts the result for an object.
func (t *tally) object(o *outcome) {
	switch {
	case o.skipped != "":
		t.skipped[o.skipped]++
	case o.Class == workspace.ClassUnreadable:
		t.documents++
	case o.Class == workspace.ClassBuiltIn:
		t.builtIn++
	case o.Class == workspace.ClassWithoutCRD:
		group := workspace.GroupOf(o.write.apiVersion)
		if t.withoutCRD[group] == nil {
			t.withoutCRD[group] = map[string]int{}
		}
		t.withoutCRD[group][o.Kind]++
	case len(o.answers) > 1:
		t.ambiguous++
	case o.failure() != nil:
		t.objects.errors++
	case o.allowed():
		t.objects.accepted++
	default:
		t.objects.rejected++
	}
}

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

// writesSummary returns the counts of objects, those of CRDs if there are no objects, and what was not evaluated.
func (t *tally) writesSummary() string {
	var lines []string
	if t.objects.all()+t.ambiguous == 0 && t.crds.all()+t.rules.all() > 0 {
		lines = append(lines, t.crdCounts())
	}
	objects := t.objects
	objects.errors += t.ambiguous
	lines = append(lines, t.counts(&objects, "object", "allowed"))
	if n, groups := t.missing(); n > 0 {
		advice := "use --crds, or add the CRDs to the files"
		if t.allowMissing {
			advice = "--allow-missing-crds"
		}
		lines = append(lines, fmt.Sprintf("without a CRD: %s: %s (%s)", counted(n, "object"), groups, advice))
	}
	if t.builtIn > 0 {
		lines = append(lines, "not checked: "+counted(t.builtIn, "object")+" of built-in kinds")
	}
	return strings.Join(lines, "\n") + t.skippedSummary() + t.unreadableSummary()
}

// missing returns the number of objects without a CRD, and their numbers by group and kind.
func (t *tally) missing() (n int, text string) {
	var groups []string
	for _, group := range slices.Sorted(maps.Keys(t.withoutCRD)) {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(t.withoutCRD[group])) {
			count := t.withoutCRD[group][kind]
			n += count
			kinds = append(kinds, fmt.Sprintf("%d %s", count, terminal.OneLine(kind)))
		}
		groups = append(groups, terminal.OneLine(group)+": "+strings.Join(kinds, ", "))
	}
	return n, strings.Join(groups, "; ")
}

// crdSummary returns the counts of CRDs and of their conversion rules, and the skipped documents and files.
func (t *tally) crdSummary() string {
	return t.crdCounts() + t.skippedSummary() + t.unreadableSummary()
}

// skippedSummary returns further lines with the numbers of skipped files and documents, or "".
func (t *tally) skippedSummary() (text string) {
	files, documents := map[string]int{}, 0
	for _, f := range t.files {
		files[f.Skip.Kind]++
	}
	if len(t.files) > 0 {
		text = fmt.Sprintf("\nskipped %s: %s", counted(len(t.files), "file"), kindsOf(files))
	}
	for _, n := range t.skipped {
		documents += n
	}
	if documents > 0 {
		text += fmt.Sprintf("\nskipped %s: %s", counted(documents, "document"), kindsOf(t.skipped))
	}
	if n := files[workspace.SkipHelmTemplate] + files[workspace.SkipTemplate] + t.skipped[workspace.SkipTemplate]; n > 0 {
		text += fmt.Sprintf("\n%s skipped: render the manifests first, for example with helm template", were(n, "template"))
	}
	return text
}

// kindsOf returns the numbers of kinds: 2 Helm templates, 1 kustomization.
func kindsOf(kinds map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		n := kinds[kind]
		noun, patch := strings.CutSuffix(kind, "patch")
		switch {
		case n > 1 && patch:
			parts = append(parts, fmt.Sprintf("%d %spatches", n, noun))
		case kind == skipKind:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		case kind == string(workspace.ClassUntyped) && n == 1:
			parts = append(parts, "1 that is not a manifest")
		case kind == string(workspace.ClassUntyped):
			parts = append(parts, fmt.Sprintf("%d that are not manifests", n))
		default:
			parts = append(parts, counted(n, terminal.OneLine(kind)))
		}
	}
	return strings.Join(parts, ", ")
}

// were returns the number with the noun, and the verb: 1 template was, 2 templates were.
func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return counted(n, noun) + " were"
}

// unreadableSummary returns a further line with the number of files and documents that cannot be read, or "".
func (t *tally) unreadableSummary() string {
	var parts []string
	if n := len(t.unreadable); n > 0 {
		parts = append(parts, counted(n, "file"))
	}
	if t.documents > 0 {
		parts = append(parts, counted(t.documents, "document"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\nunreadable: " + strings.Join(parts, ", ")
}

// skippedLines returns a line for each skipped file. If verbose is false, only templates without a chart are listed.
func (t *tally) skippedLines(verbose bool) string {
	var b strings.Builder
	for _, f := range t.files {
		if verbose || f.Skip.Kind == workspace.SkipTemplate {
			fmt.Fprintf(&b, "%s: skipped: %s\n", terminal.OneLine(f.Name), terminal.OneLine(f.Skip.Reason))
		}
	}
	return b.String()
}

// crdCounts returns the counts of CRDs and of their conversion rules.
func (t *tally) crdCounts() string {
	text := t.counts(&t.crds, "CRD", "accepted")
	if t.others > 0 {
		text += ", " + counted(t.others, "other document")
	}
	if t.rules.all() > 0 {
		text += "\nconversion rules of " + (&tally{}).counts(&t.rules, "CRD", "accepted")
	}
	return text
}

// counts returns the counts of CRDs or objects.
func (t *tally) counts(c *counts, noun, accepted string) string {
	text := fmt.Sprintf("%s: %d %s, %d %s",
		counted(c.all(), noun), c.accepted, accepted, c.rejected, cmp.Or(t.rejected, "rejected"))
	if c.errors > 0 {
		text += ", " + counted(c.errors, "error")
	}
	return text
}

// errors returns the number of documents and files that could not be evaluated, without those that lack a CRD.
func (t *tally) errors() int {
	return len(t.unreadable) + t.documents + t.others + t.crds.errors + t.rules.errors + t.objects.errors + t.ambiguous
}

// result returns the error that sets the exit code.
func (t *tally) result() error {
	missing, _ := t.missing()
	switch errs := t.errors(); {
	case errs > 0 && errs == len(t.unreadable):
		return incompleteError(counted(errs, "file") + " could not be read")
	case errs > 0:
		return incompleteError(fmt.Sprintf("%s could not be %s", counted(errs, "document"), cmp.Or(t.evaluated, "checked")))
	case missing > 0 && !t.allowMissing:
		return incompleteError(fmt.Sprintf("%s: give the CRDs with --crds, or use --allow-missing-crds",
			haveNoCRD(missing)))
	case t.crds.rejected+t.rules.rejected+t.objects.rejected > 0:
		return errRejected
	case !t.allowEmpty && t.own+t.objects.all()+t.ambiguous == 0:
		return errNothing(t.inputs)
	}
	return nil
}

// errNothing is the error of a run that evaluates nothing. inputs is what its files need to have.
func errNothing(inputs string) error {
	return incompleteError("nothing was evaluated: the files have " + inputs + " (--allow-empty: this is no error)")
}

// haveNoCRD returns the number of objects with the verb: 1 object has no CRD.
func haveNoCRD(n int) string {
	if n == 1 {
		return "1 object has no CRD"
	}
	return counted(n, "object") + " have no CRD"
}

// summary is the last line of JSON.
type summary struct {
	CRDs       *summaryCRDs   `json:"crds,omitempty"`
	Evaluated  int            `json:"evaluated"` // the sum of the next three
	Allowed    int            `json:"allowed"`
	Rejected   int            `json:"rejected"`
	Ambiguous  int            `json:"ambiguous"` // several CRDs apply, and their answers differ
	Errors     int            `json:"errors"`
	BuiltIn    int            `json:"builtin"`
	WithoutCRD map[string]int `json:"withoutCRD"` // by group
	Skipped    map[string]int `json:"skipped"`    // files and documents, by kind
	Unreadable int            `json:"unreadable"` // files and documents
}

type summaryCRDs struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Errors   int `json:"errors"`
}

func (t *tally) summary() summary {
	s := summary{
		Evaluated: t.objects.accepted + t.objects.rejected + t.ambiguous, Allowed: t.objects.accepted, Rejected: t.objects.rejected,
		Ambiguous: t.ambiguous, Errors: t.objects.errors, BuiltIn: t.builtIn, WithoutCRD: map[string]int{},
		Skipped: maps.Clone(t.skipped), Unreadable: len(t.unreadable) + t.documents,
	}
	if t.crds.all()+t.others > 0 {
		s.CRDs = &summaryCRDs{t.crds.accepted, t.crds.rejected, t.crds.errors + t.others}
	}
	for group, kinds := range t.withoutCRD {
		for _, n := range kinds {
			s.WithoutCRD[group] += n
		}
	}
	for _, f := range t.files {
		s.Skipped[f.Skip.Kind]++
	}
	return s
}

// run returns what printers of reports print after the results.
func (t *tally) run(counts string) *output.Run {
	missing, _ := t.missing()
	if t.allowMissing {
		missing = 0
	}
	return &output.Run{Counts: counts, Skipped: t.files, Errors: t.errors() + missing}
}
