// Package explain writes the output of kubectl explain: kubectl's plaintext template over an OpenAPI v3 document, with
// upstream's quirks.
//
// (k8s.io/kubectl/pkg/explain/v2/templates/plaintext.tmpl)
package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Request selects a resource or a field, and the output format.
type Request struct {
	Group, Version, Kind string
	// Path leads to a field by property names. Items of lists and values of maps have no path element. An empty path
	// selects the resource.
	Path []string
	// Levels is how many levels of fields are listed without descriptions. 0: one level, with descriptions.
	Levels uint
	// MaxBytes bounds the size of the text.
	MaxBytes int
}

// NoFieldError reports that the field does not exist.
type NoFieldError struct{ Field string }

// Error returns kubectl's text.
func (e *NoFieldError) Error() string { return fmt.Sprintf("field %q does not exist", e.Field) }

// ErrTooLong is returned if the text exceeds MaxBytes.
var ErrTooLong = errors.New("the explanation is too long")

// Text returns the explanation of a resource or field from an OpenAPI v3 document. It returns a *NoFieldError for an
// unknown field.
func Text(document []byte, r Request) (string, error) {
	p := &printer{request: &r}
	if err := json.Unmarshal(document, &p.document); err != nil {
		return "", err
	}
	p.print("GROUP:      ", r.Group, "\nKIND:       ", r.Kind, "\nVERSION:    ", r.Version, "\n\n")
	s := p.find()
	if s == nil {
		return "", fmt.Errorf("the document does not define %s of %s/%s", r.Kind, r.Group, r.Version)
	}
	before := p.out.Len()
	p.output(s, r.Path, nil)
	if p.out.Len() == before {
		return "", &NoFieldError{Field: r.Path[len(r.Path)-1]}
	}
	p.print("\n")
	if p.full {
		return "", ErrTooLong
	}
	return p.out.String(), nil
}

// object is a JSON object.
type object = map[string]any

// printer writes one explanation.
type printer struct {
	request  *Request
	document object
	out      strings.Builder
	full     bool
}

func (p *printer) print(texts ...string) {
	for _, text := range texts {
		if p.full = p.full || p.out.Len()+len(text) > p.request.MaxBytes; !p.full {
			p.out.WriteString(text)
		}
	}
}

// find returns the first definition, in name order, with the requested group, version and kind, or nil.
func (p *printer) find() object {
	r := p.request
	schemas := member(member(p.document, "components"), "schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := member(schemas, name)
		for _, gvk := range list(s, "x-kubernetes-group-version-kind") {
			if gvk, _ := gvk.(object); len(gvk) == 3 && gvk["group"] == r.Group && gvk["version"] == r.Version && gvk["kind"] == r.Kind {
				return s
			}
		}
	}
	return nil
}

// member returns a non-empty object member. Like kubectl, it treats an empty object as absent and returns nil.
func member(of object, name string) object {
	o, _ := of[name].(object)
	if len(o) == 0 {
		return nil
	}
	return o
}

func list(of object, name string) []any {
	l, _ := of[name].([]any)
	return l
}

func text(of object, name string) string {
	s, _ := of[name].(string)
	return s
}

// resolve returns the schema that s references, and seen with the reference. It returns s itself if there is no valid
// reference, and nil if the reference is in seen, which holds those on the path to s.
func (p *printer) resolve(s object, seen []string) (resolved object, below []string) {
	ref := text(s, "$ref")
	if ref == "" {
		return s, seen
	}
	if slices.Contains(seen, ref) {
		return nil, seen
	}
	if target := p.target(ref); target != nil {
		s = target
	}
	return s, append(seen[:len(seen):len(seen)], ref)
}

// clauses returns the allOf clauses of a schema.
func clauses(s object) (all []object) {
	for _, clause := range list(s, "allOf") {
		if clause, _ := clause.(object); clause != nil {
			all = append(all, clause)
		}
	}
	return all
}

// contents returns the schema of the items of a list, and that of the values of a map.
func contents(s object) (all []object) {
	for _, name := range []string{"items", "additionalProperties"} {
		if one := member(s, name); one != nil {
			all = append(all, one)
		}
	}
	return all
}

// target returns the definition that a reference inside the document names, or nil.
func (p *printer) target(ref string) object {
	rest, inside := strings.CutPrefix(ref, "#/")
	if !inside {
		return nil
	}
	at := p.document
	for _, name := range strings.Split(rest, "/") {
		if at = member(at, name); at == nil {
			return nil
		}
	}
	return at
}

// typeOf returns the type name of a schema: string, Object, []Object, map[string]string, or the name of a definition. A
// single allOf clause overrides the type of its schema.
func (p *printer) typeOf(s object) string {
	if one := member(s, "items"); one != nil {
		return "[]" + p.typeOf(one)
	}
	if one := member(s, "additionalProperties"); one != nil {
		return "map[string]" + p.typeOf(one)
	}
	if all := clauses(s); len(all) == 1 && len(list(s, "allOf")) == 1 && member(s, "properties") == nil {
		return p.typeOf(all[0]) // for an empty clause kubectl fails, and this returns Object
	}
	if ref := text(s, "$ref"); ref != "" {
		if typ := text(p.target(ref), "type"); typ != "" && typ != "object" {
			return typ
		}
		ref = ref[strings.LastIndexByte(ref, '/')+1:]
		if name := ref[strings.LastIndexByte(ref, '.')+1:]; name != "" {
			return name
		}
		return "Object"
	}
	if typ := text(s, "type"); typ != "" && typ != "object" {
		return typ
	}
	return "Object"
}

// wrap breaks lines at white space to at most limit characters, except for longer words. It drops white space at breaks
// and beyond the limit. It keeps existing line breaks.
// (github.com/mitchellh/go-wordwrap, which kubectl uses)
func wrap(limit int, s string) string {
	var out strings.Builder
	out.Grow(len(s) + len(s)/limit)
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		wrapLine(&out, limit, line)
	}
	return out.String()
}

func wrapLine(out *strings.Builder, limit int, line string) {
	column := 0
	for line != "" {
		blank := len(line) - len(strings.TrimLeftFunc(line, isBlank))
		spaces := line[:blank]
		line = line[blank:]
		end := strings.IndexFunc(line, isBlank)
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		line = line[end:]

		at := column + utf8.RuneCountInString(spaces)
		length := utf8.RuneCountInString(word)
		switch {
		case word == "": // end of line
			if at <= limit {
				out.WriteString(spaces)
			}
		case at+length > limit && at > 1:
			// A word longer than the limit also moves to a new line, unless only a single space precedes it.
			out.WriteByte('\n')
			out.WriteString(word)
			column = length
		default:
			out.WriteString(spaces)
			out.WriteString(word)
			column = at + length
		}
	}
}

func isBlank(c rune) bool {
	const noBreak = '\u00a0'
	return unicode.IsSpace(c) && c != noBreak
}

// indent adds a margin to every line.
func indent(margin int, s string) string {
	pad := strings.Repeat(" ", margin)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}
