package report

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/diagnosis"
)

// The places that messages about unreadable documents name.
var (
	lineError  = regexp.MustCompile(`yaml: (?:unmarshal errors:\n\s*)?line (\d+): `)
	fieldError = regexp.MustCompile(`unmarshal .* into Go (?:struct field (ObjectMeta)?\.(\S+) of|value of) type (v1\.ObjectMeta)?`)
	typeError  = regexp.MustCompile(`: \.(\S+) accessor error: `)
)

// errorRange returns the range of an error about a document that cannot be read as an object: the line or field that the
// message names, or else the kind, or else the first line. The YAML parser of Kubernetes reports no columns.
func (d *document) errorRange(message string) *Range {
	if d.Err != nil && !lineError.MatchString(message) {
		message = d.Err.Error()
	}
	if m := lineError.FindStringSubmatch(message); m != nil {
		return d.lineRange(number(m[1]))
	}
	var named *Range
	if m := fieldError.FindStringSubmatch(message); m != nil {
		pointer := ""
		if m[1]+m[3] != "" {
			pointer = "/metadata"
		}
		if m[2] != "" {
			pointer += "/" + strings.ReplaceAll(m[2], ".", "/")
		}
		if pointer != "" {
			named = cmp.Or(d.rangeOf(pointer), d.rangeOf(diagnosis.Parent(pointer)))
		}
	} else if m := typeError.FindStringSubmatch(message); m != nil {
		named = d.rangeOf("/" + strings.ReplaceAll(m[1], ".", "/"))
	}
	return cmp.Or(named, d.rangeOf("/kind"), d.rangeOf("/apiVersion"), d.firstLine())
}

// failureRange returns the range of an error of the engine, or nil if it does not concern the text of the document.
func (d *document) failureRange(e *engine.Error) *Range {
	switch e.Reason {
	case engine.ReasonItemDeadline, engine.ReasonInternal:
		return nil
	case engine.ReasonVersionNotFound, engine.ReasonVersionNotServed:
		return cmp.Or(d.rangeOf("/apiVersion"), d.errorRange(e.Error()))
	case engine.ReasonManifestUnreadable, engine.ReasonNotACRD, engine.ReasonObjectUnreadable, engine.ReasonObjectRejected:
		return d.errorRange(e.Error())
	}
	if d.Err != nil || d.name == DocumentOldObject {
		return d.errorRange(e.Error())
	}
	return d.rangeAt(e.Position, "") // of an option, if the engine reports no position
}

// firstLine returns the range of the first line with content, or nil.
func (d *document) firstLine() *Range {
	for i := range d.lines {
		if text := d.Text[d.lines[i]:d.LineEnd(d.lines[i])]; !isBlank(text) {
			return d.lineRange(i + 1)
		}
	}
	return nil
}
