package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// print prints the difference as text, the worst changes first. It omits changes below the class from.
func (d *difference) print(w io.Writer, from string) error {
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
	name := d.Name
	if name == "" {
		name = d.New
	}
	switch {
	case d.Error != "" && d.Line > 0:
		fmt.Fprintf(b, "%s:%d: error: %s\n", d.failed.File, d.Line, d.Error)
	case d.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", d.failed.where(), d.Error)
	case d.Gone:
		fmt.Fprintf(b, "%s: breaking: it is not in %s, and deleting a CRD deletes its objects\n", name, d.New)
	case d.Created && d.Accepted:
		fmt.Fprintf(b, "%s: compatible: new CRD\n", name)
	case d.Identical:
		fmt.Fprintf(b, "%s: identical\n", name)
	default:
		fmt.Fprintf(b, "%s: %s%s\n", name, d.Class, d.counts())
	}
}

var classes = []string{breaking, care, compatible}

// counts returns the number of changes of each class.
func (d *difference) counts() string {
	count := map[string]int{}
	for i := range d.Changes {
		count[d.Changes[i].Class]++
	}
	parts := countsOf(count, classes)
	if d.OmittedChanges > 0 {
		parts = append(parts, fmt.Sprintf("%d omitted", d.OmittedChanges))
	}
	switch {
	case len(parts) == 0 && d.Accepted:
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
	if len(d.Violations) == 0 && d.Rejection != nil {
		fmt.Fprintf(b, "  %s: %s: %s\n", d.New, what, d.Rejection.Message)
	}
	for i := range d.Violations {
		fmt.Fprintf(b, "  %s: %s: %s\n", placed(d.new.File, d.Violations[i].Position), what, d.Violations[i].text())
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", warning)
	}
}

func (d *difference) printChanges(b *bytes.Buffer, from string) {
	for _, class := range classes[:len(classes)-rank[from]] {
		for i := range d.Changes {
			if c := &d.Changes[i]; c.Class == class {
				fmt.Fprintf(b, "  %s: %s%s: %s: %s%s\n", d.placed(c), class, c.sides(), c.subject(), c.Message, c.values())
			}
		}
	}
	if d.OmittedChanges > 0 {
		fmt.Fprintf(b, "  and %s more\n", counted(d.OmittedChanges, "change"))
	}
}

// placed returns the position of a change: in OLD if something was removed, else in NEW.
func (d *difference) placed(c *change) string {
	removed := c.NewValue == nil && (c.OldValue != nil || strings.HasSuffix(c.Kind, "Removed"))
	if removed && c.OldPosition != nil {
		return placed(d.old.File, c.OldPosition)
	}
	return placed(d.new.File, c.NewPosition)
}

// sides returns who is affected by a change that is not compatible.
func (c *change) sides() string {
	if c.Class == compatible {
		return ""
	}
	var affected []string
	sides := []struct{ class, name string }{{c.Stored, "stored objects"}, {c.Writers, "writers"}, {c.Readers, "readers"}}
	for _, side := range sides {
		if side.class == c.Class {
			affected = append(affected, side.name)
		}
	}
	if len(affected) == len(sides) {
		return " for all"
	}
	return " for " + strings.Join(affected, " and ")
}

// subject names what changed: the version, the field, the keyword.
func (c *change) subject() string {
	at, keyword := fieldPath(c.SchemaPointer)
	if c.SchemaPointer == "" {
		at = manifestPath(c.ManifestPointer, c.Version != "")
	}
	parts := []string{c.Version, at, keyword}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// pointerTokens returns the tokens of a JSON pointer.
func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(list[i])
	}
	return list
}

// fieldPath splits a pointer into a schema into the field of the objects and the keyword.
func fieldPath(pointer string) (at, keyword string) {
	list := pointerTokens(pointer)
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
	list := pointerTokens(pointer)
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
func (c *change) values() string {
	const limit = 24
	short := func(v json.RawMessage) bool {
		return len(v) > 0 && len(v) <= limit && v[0] != '{' && v[0] != '['
	}
	if !short(c.OldValue) || !short(c.NewValue) || string(c.OldValue) == string(c.NewValue) {
		return ""
	}
	return fmt.Sprintf(" [%s → %s]", c.OldValue, c.NewValue)
}

// Summaries of an object that are not outcomes.
const (
	notReplayed      = "not replayed"
	keptAfterChanges = "newly rejected, but kept by ratcheting"
)

// summaries are the summaries of objects in the order of their counts.
var summaries = []string{
	notReplayed, newlyRejected, keptAfterChanges, newlyAccepted, "pruned differently", "defaulted differently",
	"converted differently", same,
}

func (d *difference) printObjects(b *bytes.Buffer) {
	if len(d.Replayed) == 0 {
		if d.foreign > 0 && d.kind != "" && d.Accepted {
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
	switch {
	case len(r.Outcomes) == 0:
		return notReplayed
	case slices.Contains(r.Outcomes, keptByRatcheting):
		return keptAfterChanges
	}
	return r.Outcomes[0]
}

func (r *replayed) print(b *bytes.Buffer, kind string) {
	if len(r.Outcomes) == 1 && r.Outcomes[0] == same && r.Error == "" {
		return
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	result := strings.Join(r.Outcomes, ", ")
	if r.Error != "" {
		result = strings.TrimPrefix(result+": "+r.Error, ": ")
	}
	fmt.Fprintf(b, "  %s:%d: %s: %s %s: %s\n", r.File, r.Line, r.class(), kind, name, result)
	for i := range r.Violations {
		fmt.Fprintf(b, "    %s: %s\n", placed(r.File, r.Violations[i].Position), r.Violations[i].text())
	}
	for i := range r.Differences {
		f := &r.Differences[i]
		at := ""
		if f.Version != "" {
			at = " at " + f.Version
		}
		fmt.Fprintf(b, "    %s%s: %s: %s → %s\n", f.Path, at, f.Outcome, shortened(f.OldValue), shortened(f.NewValue))
	}
	if r.OmittedDifferences > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(r.OmittedDifferences, "difference"))
	}
}

// shortened returns a value that fits into a line.
func shortened(v json.RawMessage) string {
	const limit = 60
	if v == nil {
		return "(none)"
	}
	if text := []rune(string(v)); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return string(v)
}
