package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// print prints the difference as text, the worst changes first. It omits changes below the class from.
func (d *difference) print(w io.Writer, from crdevalv1.ChangeClass) error {
	var b bytes.Buffer
	d.printHead(&b)
	if d.Error == "" {
		d.printRejection(&b)
		d.printChanges(&b, from)
		d.printObjects(&b)
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

func (d *difference) printHead(b *bytes.Buffer) {
	switch name := terminal.OneLine(cmp.Or(d.Name, d.New)); {
	case d.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", errorPlace(d.failed, d.Line, 0), messageText(d.Error))
	case d.Deleted:
		fmt.Fprintf(b, "%s: breaking: the CRD is not in %s. Deleting a CRD deletes its objects\n", name, terminal.OneLine(d.New))
	case d.Created && d.Diff.message.GetAccepted():
		fmt.Fprintf(b, "%s: compatible: new CRD\n", name)
	case d.Diff.message.GetIdentical():
		fmt.Fprintf(b, "%s: identical\n", name)
	default:
		fmt.Fprintf(b, "%s: %s%s\n", name, classNames[d.class()], d.counts())
	}
}

// counts returns the number of changes of each class.
func (d *difference) counts() string {
	diff, count := d.Diff.message, map[string]int{}
	for _, c := range diff.GetChanges() {
		count[classNames[c.GetChangeClass()]]++
	}
	parts := countsOf(count, []string{"breaking", "care", "compatible"})
	if n := diff.GetOmittedChanges(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d omitted", n))
	}
	switch {
	case len(parts) == 0 && diff.GetAccepted():
		return ": no change of meaning"
	case len(parts) == 0:
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func countsOf(count map[string]int, names []string) (parts []string) {
	for _, name := range names {
		if n := count[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return parts
}

// printRejection prints why an API server rejects the new CRD, and its warnings.
func (d *difference) printRejection(b *bytes.Buffer) {
	what := "rejected as an update"
	if d.Created {
		what = "rejected"
	}
	report := d.Diff.message.GetReport()
	if len(report.GetViolations()) == 0 && report.GetRejection() != nil {
		fmt.Fprintf(b, "  %s: %s: %s\n", d.New, what, messageText(report.GetRejection().GetMessage()))
	}
	for _, v := range report.GetViolations() {
		fmt.Fprintf(b, "  %s: %s: %s\n", positionText(d.new.File, v.GetPosition()), what, violationText(v))
	}
	for _, warning := range report.GetWarnings() {
		fmt.Fprintf(b, "  warning: %s\n", messageText(warning.GetText()))
	}
}

func (d *difference) printChanges(b *bytes.Buffer, from crdevalv1.ChangeClass) {
	for class := breaking; class >= from; class-- {
		for _, c := range d.Diff.message.GetChanges() {
			if c.GetChangeClass() == class {
				fmt.Fprintf(b, "  %s: %s%s: %s: %s%s\n",
					d.positionText(c), classNames[class], sides(c), terminal.OneLine(subject(c)), messageText(c.GetMessage()), terminal.OneLine(values(c)))
				d.printCounterexample(b, c)
			}
		}
	}
	if n := d.Diff.message.GetOmittedChanges(); n > 0 {
		fmt.Fprintf(b, "  and %s more\n", counted(int(n), "change"))
	}
	if d.Diff.message.GetSearchIncomplete() {
		fmt.Fprintf(b, "  the search for counterexamples is incomplete, because its time was over\n")
	}
}

// isRemoval reports whether a change removes something from OLD. Its position is in OLD.
func (d *difference) isRemoval(c *crdevalv1.CrdChange) bool {
	removed := c.GetNewValue() == nil && (c.GetOldValue() != nil || strings.HasSuffix(c.GetKind(), "Removed"))
	return removed && c.GetOldPosition() != nil && d.old != nil
}

// positionText returns the position of a change.
func (d *difference) positionText(c *crdevalv1.CrdChange) string {
	if d.isRemoval(c) {
		return positionText(d.old.File, c.GetOldPosition())
	}
	return positionText(d.new.File, c.GetNewPosition())
}

// sides returns who is affected by a change that is not compatible.
func sides(c *crdevalv1.CrdChange) string {
	if c.GetChangeClass() == compatible {
		return ""
	}
	var affected []string
	for i, class := range []crdevalv1.ChangeClass{c.GetStored(), c.GetWriters(), c.GetReaders()} {
		if class == c.GetChangeClass() {
			affected = append(affected, []string{"stored objects", "writers", "readers"}[i])
		}
	}
	if len(affected) == 3 {
		return " for all"
	}
	return " for " + strings.Join(affected, " and ")
}

// subject names what changed: the version, the field, the keyword.
func subject(c *crdevalv1.CrdChange) string {
	path, keyword := fieldPath(c.GetSchemaPointer())
	if c.GetSchemaPointer() == "" {
		path = manifestPath(c.GetManifestPointer(), c.GetVersion() != "")
	}
	parts := []string{c.GetVersion(), path, keyword}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// fieldPath splits a pointer into a schema into the field of the objects and the keyword.
func fieldPath(pointer string) (at, keyword string) {
	list := document.SplitPointer(pointer)
	for len(list) > 0 {
		switch {
		case list[0] == "properties" && len(list) > 1:
			if at != "" {
				at += "."
			}
			at, list = at+list[1], list[2:]
		case list[0] == "items":
			at, list = at+"[]", list[1:]
		case list[0] == "additionalProperties" && len(list) > 1:
			at, list = at+".*", list[1:]
		default:
			return at, dottedPath(list)
		}
	}
	return at, ""
}

// manifestPath returns the path of a field of a manifest, or below a version of it.
func manifestPath(pointer string, inVersion bool) string {
	list := document.SplitPointer(pointer)
	if inVersion && len(list) >= 2 && list[1] == "versions" {
		list = list[min(3, len(list)):]
	}
	return dottedPath(list)
}

func dottedPath(list []string) (text string) {
	for _, token := range list {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			text += "[" + token + "]"
		case text == "":
			text = token
		default:
			text += "." + token
		}
	}
	return text
}

// values returns the old and the new value if both are short.
func values(c *crdevalv1.CrdChange) string {
	const limit = 24
	before, after := c.GetOldValue().GetJson(), c.GetNewValue().GetJson()
	short := func(v []byte) bool { return len(v) > 0 && len(v) <= limit && v[0] != '{' && v[0] != '[' }
	if !short(before) || !short(after) || bytes.Equal(before, after) {
		return ""
	}
	return fmt.Sprintf(" [%s → %s]", before, after)
}

// Summaries of an object that are not outcomes.
const (
	notReplayed      = "not replayed"
	keptAfterChanges = "newly rejected, but kept by ratcheting"
)

// summaries are the summaries of objects in the order of their counts.
var summaries = []string{
	notReplayed, "newly rejected", keptAfterChanges, "newly accepted", "pruned differently", "defaulted differently",
	"converted differently", "same",
}

func (d *difference) printObjects(b *bytes.Buffer) {
	if len(d.Replayed) == 0 {
		if d.foreign > 0 && d.kind != "" && d.Diff.message.GetAccepted() {
			fmt.Fprintf(b, "  no objects of kind %s among %d\n", d.kind, d.foreign)
		}
		return
	}
	count := map[string]int{}
	for i := range d.Replayed {
		count[d.Replayed[i].summary()]++
	}
	fmt.Fprintf(b, "  %s replayed: %s\n", counted(len(d.Replayed), "object"),
		strings.Join(countsOf(count, summaries), ", "))
	for i := range d.Replayed {
		d.Replayed[i].print(b, d.kind)
	}
}

// summary returns the most important result for an object.
func (r *replayed) summary() string {
	switch outcomes := r.Result.message.GetOutcomes(); {
	case len(outcomes) == 0:
		return notReplayed
	case slices.Contains(outcomes, keptByRatcheting):
		return keptAfterChanges
	default:
		return outcomeName(outcomes[0])
	}
}

func (r *replayed) print(b *bytes.Buffer, kind string) {
	result := r.Result.message
	outcomes := result.GetOutcomes()
	if len(outcomes) == 1 && outcomes[0] == same && r.Error == "" {
		return
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	var parts []string
	for _, o := range outcomes {
		parts = append(parts, outcomeName(o))
	}
	text := strings.Join(parts, ", ")
	if r.Error != "" {
		text = strings.TrimPrefix(text+": "+r.Error, ": ")
	}
	fmt.Fprintf(b, "  %s:%d: %s: %s: %s\n",
		terminal.OneLine(r.File), r.Line, classNames[r.class()], terminal.OneLine(kind+" "+name), messageText(text))
	known := map[string]bool{}
	for _, v := range result.GetOldViolations() {
		known[violationText(v)] = true
	}
	for _, v := range result.GetNewViolations() {
		if !known[violationText(v)] {
			fmt.Fprintf(b, "    %s: %s\n", positionText(r.File, v.GetPosition()), violationText(v))
		}
	}
	for _, f := range result.GetDifferences() {
		version := ""
		if f.GetVersion() != "" {
			version = " at " + f.GetVersion()
		}
		fmt.Fprintf(b, "    %s%s: %s: %s → %s\n", terminal.OneLine(f.GetPath()), version, outcomeName(f.GetOutcome()),
			shortened(f.GetOldValue()), shortened(f.GetNewValue()))
	}
	if n := result.GetOmittedDifferences(); n > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(int(n), "difference"))
	}
}

// shortened returns a value that fits into a line.
func shortened(d *crdevalv1.Document) string {
	const limit = 60
	text := []rune(string(d.GetJson()))
	switch {
	case d == nil:
		return "(none)"
	case len(text) > limit:
		return string(text[:limit]) + "…"
	}
	return string(text)
}
