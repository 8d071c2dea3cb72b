package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// print prints a difference for people: a line each, the worst first.
func (d *difference) print(w io.Writer, from string) error {
	var b bytes.Buffer
	d.head(&b)
	if d.Error == "" {
		d.refused(&b)
		d.changes(&b, from)
		d.objects(&b)
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

func (d *difference) head(b *bytes.Buffer) {
	name := d.Name
	if name == "" {
		name = d.New
	}
	switch {
	case d.Error != "" && d.Line > 0:
		fmt.Fprintf(b, "%s:%d: error: %s\n", d.failed.file, d.Line, d.Error)
	case d.Error != "" && d.failed != nil:
		fmt.Fprintf(b, "%s: error: %s\n", d.failed.where(), d.Error)
	case d.Error != "":
		fmt.Fprintf(b, "%s: error: %s\n", d.New, d.Error)
	case d.Gone:
		fmt.Fprintf(b, "%s: breaking: it is not in %s; deleting a CRD deletes its objects\n", name, d.New)
	case d.Created && d.Accepted:
		fmt.Fprintf(b, "%s: compatible: it is new\n", name)
	case d.Identical:
		fmt.Fprintf(b, "%s: identical\n", name)
	default:
		fmt.Fprintf(b, "%s: %s%s\n", name, d.Class, d.counts())
	}
}

// counts says how many changes of which class there are.
func (d *difference) counts() string {
	count := map[string]int{}
	for i := range d.Changes {
		count[d.Changes[i].Class]++
	}
	var parts []string
	for _, class := range []string{breaking, care, compatible} {
		if n := count[class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, class))
		}
	}
	if d.OmittedChanges > 0 {
		parts = append(parts, fmt.Sprintf("%d not shown", d.OmittedChanges))
	}
	switch {
	case len(parts) == 0 && d.Accepted:
		return ": nothing that matters changed"
	case len(parts) == 0:
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// refused prints what an API server has against the new CRD, and its warnings.
func (d *difference) refused(b *bytes.Buffer) {
	what := "refused as an update"
	if d.Created {
		what = "refused"
	}
	if !d.Accepted && !d.Gone && len(d.Violations) == 0 && d.Refusal != nil {
		fmt.Fprintf(b, "  %s: %s: %s\n", d.New, what, d.Refusal.Message)
	}
	for i := range d.Violations {
		fmt.Fprintf(b, "  %s: %s: %s\n", placed(d.new, d.New, d.Violations[i].Position), what, d.Violations[i].text())
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", warning)
	}
}

// changes prints the changes, the worst first, those of a class in their order.
func (d *difference) changes(b *bytes.Buffer, from string) {
	for _, class := range []string{breaking, care, compatible} {
		if rank[class] < rank[from] {
			break
		}
		for i := range d.Changes {
			if c := &d.Changes[i]; c.Class == class {
				fmt.Fprintf(b, "  %s: %s%s: %s: %s%s\n", d.placeOf(c), class, c.whom(), c.what(), c.Message, c.values())
			}
		}
	}
	if d.OmittedChanges > 0 {
		fmt.Fprintf(b, "  and %s more\n", counted(d.OmittedChanges, "change", "changes"))
	}
}

// gone says that the new CRD does not have what changed.
func (c *change) gone() bool {
	return c.NewValue == nil && (c.OldValue != nil || strings.HasSuffix(c.Kind, "Removed"))
}

// placeOf is where a change is to be seen.
func (d *difference) placeOf(c *change) string {
	if c.gone() && c.OldPosition != nil {
		return placed(d.old, d.Old, c.OldPosition)
	}
	return placed(d.new, d.New, c.NewPosition)
}

func placed(s *source, name string, at *position) string {
	if s != nil {
		name = s.file
	}
	if at == nil {
		return name
	}
	return fmt.Sprintf("%s:%d:%d", name, at.Line, at.Column)
}

// whom says whom a change that is not compatible concerns.
func (c *change) whom() string {
	if c.Class == compatible {
		return ""
	}
	var whom []string
	for _, side := range []struct{ class, name string }{{c.Stored, "stored objects"}, {c.Writers, "writers"}, {c.Readers, "readers"}} {
		if side.class == c.Class {
			whom = append(whom, side.name)
		}
	}
	const all = 3
	if len(whom) == all {
		return " for all"
	}
	return " for " + strings.Join(whom, " and ")
}

// what names what changed: the version, the field, the keyword.
func (c *change) what() string {
	parts := []string{}
	if c.Version != "" {
		parts = append(parts, c.Version)
	}
	if c.SchemaPointer == "" {
		if text := plainPath(c.ManifestPointer, c.Version != ""); text != "" {
			parts = append(parts, text)
		}
		return strings.Join(parts, " ")
	}
	at, keyword := fieldPath(c.SchemaPointer)
	for _, part := range []string{at, keyword} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(list[i])
	}
	return list
}

// fieldPath splits a pointer into a schema into the field of objects that it is about, and the keyword.
func fieldPath(pointer string) (at, keyword string) {
	list := tokens(pointer)
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
			return at, indexed(list)
		}
	}
	return at, ""
}

// plainPath is a pointer into a manifest; inVersion: without the way to the version.
func plainPath(pointer string, inVersion bool) string {
	list := tokens(pointer)
	if inVersion && len(list) >= 2 && list[1] == "versions" {
		list = list[min(3, len(list)):]
	}
	return indexed(list)
}

func indexed(list []string) string {
	text := ""
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

// values shows what was and is, if both are short.
func (c *change) values() string {
	const most = 24
	short := func(v json.RawMessage) bool {
		return len(v) > 0 && len(v) <= most && v[0] != '{' && v[0] != '['
	}
	if !short(c.OldValue) || !short(c.NewValue) || string(c.OldValue) == string(c.NewValue) {
		return ""
	}
	return fmt.Sprintf(" [%s → %s]", c.OldValue, c.NewValue)
}

// objects prints what became of the objects.
func (d *difference) objects(b *bytes.Buffer) {
	if len(d.Replayed) == 0 {
		if d.foreign > 0 && d.kind != "" {
			fmt.Fprintf(b, "  no objects of kind %s among %d\n", d.kind, d.foreign)
		}
		return
	}
	count := map[string]int{}
	for i := range d.Replayed {
		count[d.Replayed[i].summary()]++
	}
	var parts []string
	for _, summary := range summaries {
		if n := count[summary]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, summary))
		}
	}
	fmt.Fprintf(b, "  %s replayed: %s\n", counted(len(d.Replayed), "object", "objects"), strings.Join(parts, ", "))
	for i := range d.Replayed {
		d.Replayed[i].print(b, d.kind)
	}
}

// summaries are what objects are counted by, in this order.
var summaries = []string{
	notReplayed, outcomeNames[engine.NewlyRefused], keptAlone, outcomeNames[engine.NewlyAccepted], outcomeNames[engine.PrunedOtherwise],
	outcomeNames[engine.DefaultedOtherwise], outcomeNames[engine.ConvertedOtherwise], outcomeNames[engine.Same],
}

const (
	notReplayed = "not replayed"
	keptAlone   = "newly refused, but kept by ratcheting"
)

// summary is what matters most of an object.
func (r *replayed) summary() string {
	switch {
	case len(r.Outcomes) == 0:
		return notReplayed
	case slices.Contains(r.Outcomes, outcomeNames[engine.KeptByRatcheting]):
		return keptAlone
	}
	return r.Outcomes[0]
}

func (r *replayed) print(b *bytes.Buffer, kind string) {
	if len(r.Outcomes) == 1 && r.Outcomes[0] == outcomeNames[engine.Same] && r.Error == "" {
		return
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	outcome := strings.Join(r.Outcomes, ", ")
	if r.Error != "" {
		outcome = strings.TrimPrefix(outcome+": "+r.Error, ": ")
	}
	fmt.Fprintf(b, "  %s:%d: %s: %s %s: %s\n", r.File, r.Line, r.class(), kind, name, outcome)
	for i := range r.Violations {
		place := r.File
		if p := r.Violations[i].Position; p != nil {
			place = fmt.Sprintf("%s:%d:%d", r.File, p.Line, p.Column)
		}
		fmt.Fprintf(b, "    %s: %s\n", place, r.Violations[i].text())
	}
	for i := range r.Differences {
		f := &r.Differences[i]
		at := ""
		if f.Version != "" {
			at = " at " + f.Version
		}
		fmt.Fprintf(b, "    %s%s: %s: %s → %s\n", f.Path, at, f.Outcome, shown(f.OldValue), shown(f.NewValue))
	}
	if r.OmittedDifferences > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(r.OmittedDifferences, "difference", "differences"))
	}
}

// shown is a value as it fits into a line.
func shown(v json.RawMessage) string {
	const most = 60
	if v == nil {
		return "(none)"
	}
	if text := []rune(string(v)); len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(v)
}
