package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Widths in columns: what is explained is indented by 4, fields by 2 and what they are by 4.
const (
	width      = 80
	indentText = 4
)

// refs are the references on the way to a schema, by which a cycle shows.
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

// output follows a path from a schema and explains where it ends. It prints nothing if it leads nowhere.
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

// whole prints what is explained, and its fields.
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
		kept := p.out.String()[:before] // there are none
		p.out.Reset()
		p.out.WriteString(kept)
	}
}

// description returns the descriptions of a schema and of what it consists of, a line each.
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

// fields prints the fields of a schema: its properties, those of its clauses, and those of what is in it.
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

// shortEnum is how many values of an enum are listed beside a field.
const shortEnum = 4

// field prints a field of a list: its name and type, and what it is unless the list is one of names.
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

// documentation returns what externalDocs says, "" if there is nothing: a heading at one margin, and the text at
// another.
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

// enumeration returns all values of an enum, a line each; "" if there are none.
func enumeration(s object) string {
	values := list(s, "enum")
	if len(values) == 0 {
		return ""
	}
	const line = "\n    "
	return "ENUM:" + line + shown(values, line)
}

// shown returns values as kubectl prints them. Numbers are float64 to it, and 1000000 is 1e+06.
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
