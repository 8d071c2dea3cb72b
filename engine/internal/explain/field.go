package explain

import (
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

// refs is the set of references on the path to a schema. It detects cycles.
type refs map[string]bool

func (r refs) with(ref string) refs {
	if ref == "" {
		return r
	}
	out := maps.Clone(r)
	if out == nil {
		out = refs{}
	}
	out[ref] = true
	return out
}

// output follows a path from a schema and explains its end. It prints nothing if the path does not exist.
func (p *printer) output(s object, path []string, seen refs) {
	resolved, ref := p.resolve(s)
	if len(path) == 0 {
		p.whole(resolved)
		return
	}
	if seen[ref] {
		return
	}
	below := seen.with(ref)
	if property := member(member(resolved, "properties"), path[0]); property != nil {
		if len(path) == 1 {
			p.print("FIELD: ", path[0], " <", p.typeOf(property), ">\n", enumeration(property), "\n\n")
		}
		p.output(property, path[1:], nil)
		return
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if one := member(resolved, name); one != nil {
			p.output(one, path, below)
			return
		}
	}
	for _, clause := range list(resolved, "allOf") {
		before := p.out.Len()
		if clause, _ := clause.(object); clause != nil {
			p.output(clause, path, below)
		}
		if p.out.Len() > before {
			return
		}
	}
}

// whole prints the description of a schema and its fields.
func (p *printer) whole(s object) {
	description := p.description(s)
	if description == "" {
		description = "<empty>"
	}
	p.print("DESCRIPTION:\n", indent(indentText, wrap(width-indentText, description)), "\n")
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

// description returns the descriptions of a schema, its allOf clauses, items and additionalProperties, one per line.
func (p *printer) description(s object) string {
	var out strings.Builder
	p.describe(&out, s, nil)
	return out.String()
}

func (p *printer) describe(out *strings.Builder, s object, seen refs) {
	resolved, ref := p.resolve(s)
	if seen[ref] {
		return
	}
	if d := text(resolved, "description"); d != "" {
		out.WriteString(d + "\n")
	}
	below := seen.with(ref)
	for _, clause := range list(resolved, "allOf") {
		if clause, _ := clause.(object); clause != nil {
			p.describe(out, clause, below)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if one := member(resolved, name); one != nil {
			p.describe(out, one, below)
		}
	}
}

// fields prints the properties of a schema, its allOf clauses, items and additionalProperties.
func (p *printer) fields(s object, level int, seen refs) {
	resolved, ref := p.resolve(s)
	if seen[ref] || p.full {
		return
	}
	below, r := seen.with(ref), p.request
	properties := member(resolved, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(object)
		p.field(name, property, slices.Contains(list(resolved, "required"), any(name)), level)
		if r.Recursive && (r.MaxDepth == 0 || level < r.MaxDepth) {
			p.fields(property, level+1, below)
		}
	}
	for _, clause := range list(resolved, "allOf") {
		if clause, _ := clause.(object); clause != nil {
			p.fields(clause, level, below)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if one := member(resolved, name); one != nil {
			p.fields(one, level, below)
		}
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
	if p.request.Recursive {
		return
	}
	description := text(s, "description")
	if description == "" {
		description = "<no description>"
	}
	p.print(indent(margin+2, wrap(width-2-margin, description)), "\n")
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
