package diagnosis

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/workspace"
)

// change is a change of the JSON value of a document. A fix is offered only if its edits make exactly this change.
type change struct {
	remove string          // pointer, "" for none
	set    string          // pointer, "" for none
	value  json.RawMessage // for set
}

// Edit replaces bytes of a text.
type Edit struct {
	Start, End int
	Text       string
}

// fix returns a fix with the first candidate whose edits make the change, or none.
func (d *Document) fix(title string, preferred bool, c change, candidates ...[]Edit) []Fix {
	for _, edits := range candidates {
		if len(edits) == 0 || *d.budget < len(d.Text) {
			continue
		}
		*d.budget -= len(d.Text) + 1
		slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
		if text, ok := Apply(d.Text, edits); ok && d.changes(text, c) {
			return []Fix{{title, preferred, edits}}
		}
	}
	return nil
}

// Apply returns a text with edits, and false if they overlap or are not sorted.
func Apply(text string, edits []Edit) (string, bool) {
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(text) {
			return "", false
		}
		out.WriteString(text[at:e.Start])
		out.WriteString(e.Text)
		at = e.End
	}
	out.WriteString(text[at:])
	return out.String(), true
}

// changes reports whether a text is that of the document with the change.
func (d *Document) changes(text string, c change) bool {
	before, after := workspace.Read([]byte(d.Text)), workspace.Read([]byte(text))
	if isJSON(text) != d.IsJSON || len(before) != len(after) {
		return false
	}
	at := slices.IndexFunc(before, func(m *workspace.Manifest) bool {
		return m.Err == nil && m.Item == d.Item && bytes.Equal(m.JSON(), d.Manifest.JSON())
	})
	for i, m := range after {
		if (m.Err == nil) != (before[i].Err == nil) {
			return false
		} else if m.Err != nil {
			continue
		}
		want, ok := Decode(before[i].JSON()), true
		if i == at && c.remove != "" {
			ok = edit(want, c.remove, func(object map[string]any, key string) { delete(object, key) })
		}
		if i == at && c.set != "" {
			v := Decode(c.value)
			ok = ok && edit(want, c.set, func(object map[string]any, key string) { object[key] = v })
		}
		if !ok || !reflect.DeepEqual(want, Decode(m.JSON())) {
			return false
		}
	}
	return at >= 0
}

// Decode decodes JSON. Numbers are json.Number.
func Decode(text []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// edit calls do with the key at the end of a pointer and the object that contains it. For an item of a list, do gets an
// object with this item only, and its result replaces the item.
func edit(root any, pointer string, do func(object map[string]any, key string)) bool {
	tokens := document.SplitPointer(pointer)
	for i, token := range tokens {
		switch at := root.(type) {
		case map[string]any:
			if i == len(tokens)-1 {
				do(at, token)
				return true
			}
			root = at[token]
		case []any:
			index, ok := indexOf(token, len(at))
			if !ok {
				return false
			}
			if i == len(tokens)-1 {
				one := map[string]any{token: at[index]}
				do(one, token)
				v, kept := one[token]
				at[index] = v
				return kept
			}
			root = at[index]
		default:
			return false
		}
	}
	return false
}

// rename returns the edit that gives a member another name.
func (d *Document) rename(p Place, name string) []Edit {
	return []Edit{{p.Key.Begin, p.Key.End, d.keyText(name, d.Text[p.Key.Begin])}}
}

// keyText writes a key in the style of another one, which begins with a byte.
func (d *Document) keyText(name string, like byte) string {
	if d.IsJSON || like == '"' || like == '\'' || !IsPlain(name) {
		return string(document.AppendString(nil, name))
	}
	return name
}

// replace returns the edit that gives a value another one.
func (d *Document) replace(p Place, with json.RawMessage) []Edit {
	begin, end := p.Value.Begin, p.Value.End
	text := d.scalar(with, begin < end && d.Text[begin] == '"')
	if begin == end && begin > 0 && d.Text[begin-1] == ':' {
		text = " " + text
	}
	return []Edit{{begin, end, text}}
}

// scalar returns the text of a JSON value. Strings have no quotes if YAML does not need them.
func (d *Document) scalar(v json.RawMessage, quoted bool) string {
	var s string
	if d.IsJSON || quoted || json.Unmarshal(v, &s) != nil || !IsPlain(s) {
		return string(v)
	}
	return s
}

// plainText matches texts that need no quotes in YAML, except for words with a meaning.
var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// IsPlain reports whether YAML 1.1 and 1.2 read a text without quotes as this string.
func IsPlain(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return plainText.MatchString(text)
}

// remove returns the edit that removes a member.
func (d *Document) remove(p Place) []Edit {
	key, end := p.Key.Begin, max(p.Value.End, p.Key.End)
	parent, _ := d.Find(Parent(p.pointer))
	if p.Flow && parent.Flow {
		// The comma after the value, or else the one before the key.
		after := len(d.Text) - len(strings.TrimLeft(d.Text[end:], " \t\r\n"))
		if after < len(d.Text) && d.Text[after] == ',' {
			after++
			return []Edit{{key, len(d.Text) - len(strings.TrimLeft(d.Text[after:], " \t\r\n")), ""}}
		}
		before := strings.TrimRight(d.Text[:key], " \t\r\n")
		return []Edit{{len(strings.TrimSuffix(before, ",")), end, ""}}
	}
	if parent.length() == 1 {
		return []Edit{{key, end, "{}"}}
	}
	line, next := key-d.indentOf(key), d.nextLine(end)
	if before := strings.TrimSpace(d.Text[line:key]); before == "" || before == "?" {
		return []Edit{{line, next, ""}}
	}
	// The first member of an item of a list: the next member moves behind the dash.
	rest := d.Text[next:]
	return []Edit{{key, len(d.Text) - len(strings.TrimLeft(rest, " ")), ""}}
}

// length returns the number of members of an object or of items of a list.
func (p *Place) length() int {
	switch v := p.value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// insert returns the edits that can add a member to an object: after its last member, and before its first one.
func (d *Document) insert(object Place, name string, v json.RawMessage) (candidates [][]Edit) {
	at := object.Value.Begin
	if _, is := object.value.(map[string]any); !is || at >= len(d.Text) {
		return nil
	}
	if d.Text[at] == '{' {
		end := object.Value.End - 1
		inner := strings.TrimRight(d.Text[at+1:max(at+1, end)], " \t\r\n")
		first := strings.TrimLeft(inner, " \t\r\n")
		if first == "" {
			first = "a"
		}
		text := d.keyText(name, first[0]) + ": " + d.scalar(v, first[0] == '"')
		if object.length() == 0 {
			return [][]Edit{{{at + 1, at + 1, text}}}
		}
		between := " "
		line := inner[strings.LastIndexByte(inner, '\n')+1:]
		if len(line) < len(inner) { // one member per line
			between = d.newLine() + line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		}
		begin := at + 1
		if first[0] != '#' {
			begin += len(inner) - len(first)
		}
		candidates = [][]Edit{{{begin, begin, text + "," + between}}}
		if strings.Contains(line, "#") { // a member after the last one could be in the comment
			return candidates
		}
		last := at + 1 + len(inner)
		comma := ","
		if strings.HasSuffix(inner, ",") {
			comma = ""
		}
		return append([][]Edit{{{last, last, comma + between + text}}}, candidates...)
	}
	if object.Flow || object.length() == 0 {
		return nil
	}
	indent := d.newLine() + strings.Repeat(" ", d.indentOf(at))
	block, err := yaml.JSONToYAML(append(append(append([]byte("{"), document.AppendString(nil, name)...), ':'),
		append(slices.Clone(v), '}')...))
	if err != nil {
		return nil
	}
	text := strings.ReplaceAll(strings.TrimSuffix(string(block), "\n"), "\n", indent)
	end := d.LineEnd(object.Value.End) // after a comment
	return [][]Edit{{{end, end, indent + text}}, {{at, at, text + indent}}}
}

// indexOf returns a token of a pointer as the index in a list.
func indexOf(token string, length int) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < length
}
