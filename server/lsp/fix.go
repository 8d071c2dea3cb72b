package lsp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxValues bounds the quick fixes that replace a value.
const maxValues = 10

// codeActions answers textDocument/codeAction with quick fixes of the diagnostics in a range.
func (s *server) codeActions(ctx context.Context, f *file, p *documentParams) (any, error) {
	actions := []codeAction{}
	only := func(kind string) bool { return kind == "" || kind == "quickfix" }
	if len(p.Context.Only) > 0 && !slices.ContainsFunc(p.Context.Only, only) {
		return actions, nil
	}
	d, _ := s.examine(ctx, f)
	for i := range d.list {
		of := &d.list[i]
		if r := of.diagnostic.Range; before(p.Range.End, r.Start) || before(r.End, p.Range.Start) {
			continue
		}
		for _, fix := range s.fixes(ctx, d, of) {
			actions = append(actions, codeAction{
				Title: fix.title, Kind: "quickfix", Diagnostics: []Diagnostic{of.diagnostic}, IsPreferred: fix.preferred,
				Edit: &workspaceEdit{Changes: map[string][]TextEdit{
					f.uri: {{d.lines.rangeOf(fix.begin, fix.end), fix.text}},
				}},
			})
		}
	}
	return actions, nil
}

func before(a, b Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// fix replaces a part of a text.
type fix struct {
	title      string
	preferred  bool
	begin, end int
	text       string
}

// fixes returns the quick fixes of a finding.
func (s *server) fixes(ctx context.Context, d *diagnosed, f *diagnosedFinding) (list []fix) {
	if d.docs == nil {
		return nil
	}
	n, exact := f.node(d.docs, f.begin)
	if n == nil {
		return nil
	}
	text := d.file.text
	isJSON := inJSON(text, n)
	switch {
	case f.code == codeUnknown && exact && n.parent != nil:
		if h := f.hint; h != nil && h.Pointer != "" && parentOf(h.Pointer) == parentOf(f.pointer) {
			name := nameIn(h.Pointer)
			list = append(list, fix{fmt.Sprintf("Rename to %q", name), true, n.start, n.keyEnd, keyText(name, text[n.start])})
		}
		if begin, end, ok := n.removal(text); ok {
			list = append(list, fix{fmt.Sprintf("Remove the field %q", n.name), false, begin, end, ""})
		}
	case f.bound != nil:
		if of, found := (&finding{item: f.item, pointer: f.bound.pointer}).node(d.docs, f.begin); found {
			list = append(list, of.set(text, f.bound.keyword, strconv.FormatInt(f.bound.value, 10), isJSON,
				fmt.Sprintf("Set %s: %d", f.bound.keyword, f.bound.value))...)
		}
	case f.code == "FieldValueRequired" && !exact:
		list = append(list, s.insertion(ctx, d, f, n, isJSON)...)
	case exact && n.kind == scalar:
		values := slices.Clone(f.values)
		if f.hint != nil && f.hint.Replacement != nil {
			values = append([]string{string(f.hint.Replacement)}, values...)
		}
		preferred := len(values) > 0 && f.hint != nil
		if of := s.schemaOf(ctx, d, f, n); of != nil && f.code == "FieldValueNotSupported" {
			values = append(values, enumTexts(of.props)...)
		}
		seen := map[string]bool{}
		for i, v := range values {
			if seen[v] || len(seen) >= maxValues {
				continue
			}
			seen[v] = true
			replacement := written(v, isJSON)
			if f.values != nil && !isJSON { // apiVersion and kind
				replacement = strings.Trim(v, `"`)
			}
			list = append(list, fix{"Replace with " + replacement, preferred && i == 0, n.begin, n.end, replacement})
		}
	}
	return list
}

// schemaOf returns the schema of a node of a finding, or nil.
func (s *server) schemaOf(ctx context.Context, d *diagnosed, f *diagnosedFinding, n *node) *schema {
	if f.crd == nil {
		return nil
	}
	root := n
	for root.parent != nil {
		root = root.parent
	}
	c := s.cursor(ctx, d.file.text, n, root)
	of, _ := f.crd.schema(f.version).at(n.path()[c.object:])
	return of
}

// insertion returns the fix that adds a required field to the node that lacks it.
func (s *server) insertion(ctx context.Context, d *diagnosed, f *diagnosedFinding, n *node, isJSON bool) []fix {
	path := strings.Count(f.pointer, "/")
	prefix := 0
	if f.item > 0 {
		prefix = 2
	}
	if len(n.path())+1 != path+prefix {
		return nil // the parent is missing too
	}
	name, value := nameIn(f.pointer), `""`
	if of := s.schemaOf(ctx, d, f, n).step(name); of != nil {
		value = of.sample()
	}
	return n.set(d.file.text, name, written(value, isJSON), isJSON, fmt.Sprintf("Add the required field %q", name))
}

// set returns the fix that adds a member to a mapping, or replaces its scalar.
func (n *node) set(text []byte, name, value string, isJSON bool, title string) []fix {
	if old := n.child(name); old != nil {
		if old.kind != scalar {
			return nil
		}
		return []fix{{title, true, old.begin, old.end, value}}
	}
	member := name + ": " + value
	if isJSON || !isPlain(name) {
		member = strconv.Quote(name) + ": " + value
	}
	switch {
	case n.kind == mapping && n.flow:
		if len(n.children) == 0 {
			return []fix{{title, true, n.begin + 1, n.begin + 1, member}}
		}
		last := n.children[len(n.children)-1]
		separator := ", "
		if line := column(text, last.start); ownLine(text, last.start) { // a member a line
			separator = ",\n" + strings.Repeat(" ", line)
		}
		end := max(last.end, last.keyEnd)
		return []fix{{title, true, end, end, separator + member}}
	case n.kind == mapping:
		last := n.children[len(n.children)-1]
		at := max(last.end, last.keyEnd)
		at += len(bytes.TrimRight(lineAt(text, at), "\r\n"))
		return []fix{{title, true, at, at, "\n" + strings.Repeat(" ", n.column) + member}}
	case n.kind == empty && n.parent != nil && n.index < 0:
		indent := column(text, n.start) + 2
		return []fix{{title, true, n.begin, n.begin, "\n" + strings.Repeat(" ", indent) + member}}
	}
	return nil
}

// removal returns what to remove for removing a member or an item.
func (n *node) removal(text []byte) (begin, end int, ok bool) {
	begin, end = n.start, max(n.end, n.keyEnd)
	if !n.parent.flow {
		if !n.noColon {
			end = max(end, n.keyEnd+1)
		}
		end = min(end, len(text))
		first := begin - column(text, begin)
		rest := lineAt(text, end)
		if len(bytes.TrimSpace(text[first:begin])) == 0 { // whole lines
			return first, end + len(rest), true
		}
		// The first key of an item: the next one takes its place.
		if len(n.parent.children) > 1 && n.parent.children[0] == n {
			return begin, n.parent.children[1].start, true
		}
		return 0, 0, false
	}
	i := slices.Index(n.parent.children, n)
	switch {
	case i+1 < len(n.parent.children):
		return begin, n.parent.children[i+1].start, true
	case i > 0:
		previous := n.parent.children[i-1]
		return max(previous.end, previous.keyEnd), end, true
	}
	return begin, end, true
}

// keyText returns a key in the style of the key that begins with a character.
func keyText(name string, first byte) string {
	if first == '"' || first == '\'' || !isPlain(name) {
		return strconv.Quote(name)
	}
	return name
}

// parentOf returns the pointer of the parent.
func parentOf(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }

// nameIn returns the last name of a pointer.
func nameIn(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[strings.LastIndexByte(pointer, '/')+1:])
}
