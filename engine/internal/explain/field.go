package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// width and indentText are in columns.
const (
	width      = 80
	indentText = 4
)

// output follows a path from a schema and explains its end. It prints nothing if the path does not exist.
func (p *printer) output(s object, path, seen []string) {
	resolved, below := p.resolve(s, seen)
	if len(path) == 0 {
		p.whole(resolved)
		return
	}
	if property := member(member(resolved, "properties"), path[0]); property != nil {
		if len(path) == 1 {
			p.print("FIELD: ", path[0], " <", p.typeOf(property), ">\n", enumeration(property), "\n\n")
		}
		p.output(property, path[1:], nil)
		return
	}
	if inner := contents(resolved); len(inner) > 0 {
		p.output(inner[0], path, below)
		return
	}
	for _, clause := range clauses(resolved) {
		before := p.out.Len()
		if p.output(clause, path, below); p.out.Len() > before {
			return
		}
	}
}

// whole prints the description of a schema and its fields.
func (p *printer) whole(s object) {
	var description strings.Builder
	p.describe(&description, s, nil)
	p.print("DESCRIPTION:\n",
		indent(indentText, wrap(width-indentText, cmp.Or(description.String(), "<empty>"))), "\n")
	if docs := documentation(s, indentText, 0); docs != "" {
		p.print("\n", docs)
	}
	before := p.out.Len()
	p.print("FIELDS:\n")
	after := p.out.Len()
	p.fields(s, 1, nil)
	if p.out.Len() == after && !p.full {
		kept := p.out.String()[:before] // no fields: remove the heading
		p.out.Reset()
		p.out.WriteString(kept)
	}
}

// describe writes the descriptions of a schema, its allOf clauses, items and additionalProperties, one per line.
func (p *printer) describe(out *strings.Builder, s object, seen []string) {
	resolved, below := p.resolve(s, seen)
	if d := text(resolved, "description"); d != "" {
		out.WriteString(d + "\n")
	}
	for _, inner := range append(clauses(resolved), contents(resolved)...) {
		p.describe(out, inner, below)
	}
}

// fields prints the properties of a schema, its allOf clauses, items and additionalProperties.
func (p *printer) fields(s object, level int, seen []string) {
	resolved, below := p.resolve(s, seen)
	if p.full {
		return
	}
	r, properties := p.request, member(resolved, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(object)
		p.field(name, property, slices.Contains(list(resolved, "required"), any(name)), level)
		if uint(level) < r.Levels { //nolint:gosec // from 1
			p.fields(property, level+1, below)
		}
	}
	for _, inner := range append(clauses(resolved), contents(resolved)...) {
		p.fields(inner, level, below)
	}
}

// shortEnum is the maximum number of enum values listed with a field.
const shortEnum = 4

// field prints the name and type of a field. Unless the request is recursive, it also prints the description.
func (p *printer) field(name string, s object, required bool, level int) {
	margin := 2 * level
	if p.full {
		return
	}
	p.print(indent(margin, name), "\t<", p.typeOf(s), ">")
	if required {
		p.print(" -required-")
	}
	if values := list(s, "enum"); len(values) > 0 {
		p.print("\n", strings.Repeat(" ", margin), "enum: ", shown(values[:min(len(values), shortEnum)], ", "))
		if len(values) > shortEnum {
			p.print(", ....")
		}
	}
	p.print("\n")
	if p.request.Levels > 0 {
		return
	}
	p.print(indent(margin+2, wrap(width-2-margin, cmp.Or(text(s, "description"), "<no description>"))), "\n")
	if docs := documentation(s, margin+4, margin+2); docs != "" {
		p.print("\n", docs)
	}
	p.print("\n")
}

// documentation returns the text of externalDocs, or "". heading is the indent of the heading, margin that of the text.
func documentation(s object, margin, heading int) string {
	docs := member(s, "externalDocs")
	if docs == nil {
		return ""
	}
	out := indent(heading, "EXTERNAL DOCS:") + "\n"
	if d := text(docs, "description"); d != "" {
		out += indent(margin, wrap(width-margin, d)) + "\n"
	}
	if url := text(docs, "url"); url != "" {
		out += indent(margin, "URL: "+url) + "\n"
	}
	return out
}

// enumeration returns all values of an enum, one per line, or "".
func enumeration(s object) string {
	values := list(s, "enum")
	if len(values) == 0 {
		return ""
	}
	const line = "\n    "
	return "ENUM:" + line + shown(values, line)
}

// shown returns values as kubectl prints them. Numbers are float64, so 1000000 is 1e+06.
func shown(values []any, separator string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		switch v {
		case any(""):
			texts[i] = `""`
		case nil:
			texts[i] = "<no value>"
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(texts, separator)
}
