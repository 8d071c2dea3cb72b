package report

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

	"github.com/crdeval/crdeval/engine/value"
)

// change is a change of the JSON value of a document. A fix is offered only if its edits make exactly this change.
type change struct {
	remove string          // pointer, "" for none
	set    string          // pointer, "" for none
	value  json.RawMessage // for set
}

// textEdit replaces bytes of a text.
type textEdit struct {
	start, end int
	text       string
}

// fix returns a fix, or none if the edits do not make the change. spent is reduced by the work.
func (d *document) fix(title string, c change, spent *int, edits ...textEdit) []Fix {
	if len(edits) == 0 || *spent < len(d.text) {
		return nil
	}
	*spent -= len(d.text) + 1
	slices.SortStableFunc(edits, func(a, b textEdit) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(d.text) {
			return nil
		}
		out.WriteString(d.text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.WriteString(d.text[at:])
	if !d.changes(out.String(), c) {
		return nil
	}
	f := Fix{Title: title}
	for _, e := range edits {
		f.Edits = append(f.Edits, Edit{Document: d.name, Start: d.position(e.start), End: d.position(e.end), Text: e.text})
	}
	return []Fix{f}
}

// changes reports whether a text is the document with the change.
func (d *document) changes(text string, c change) bool {
	after := newDocument(d.name, text)
	if after.tree == nil || after.isJSON != d.isJSON {
		return false
	}
	want, ok := d.decoded(), true
	if c.remove != "" {
		ok = edit(want, c.remove, func(object map[string]any, key string) { delete(object, key) })
	}
	if c.set != "" {
		v := decode(c.value)
		ok = ok && edit(want, c.set, func(object map[string]any, key string) { object[key] = v })
	}
	return ok && reflect.DeepEqual(want, after.decoded())
}

func (d *document) decoded() any { return decode(d.tree.AppendJSON(nil, d.root)) }

func decode(text []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// edit calls do with the object that contains the member at a pointer.
func edit(root any, pointer string, do func(object map[string]any, key string)) bool {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		token = unescape.Replace(token)
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
			if i == len(tokens)-1 { // an item: as a member of an object that stands for the list
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
func (d *document) rename(p place, name string) []textEdit {
	if p.key < 0 {
		return nil
	}
	return []textEdit{{p.key, d.keyEnd(p), d.keyText(name, d.text[p.key])}}
}

// keyText writes a key in the style of another one, which begins with a byte.
func (d *document) keyText(name string, like byte) string {
	if d.isJSON || like == '"' || like == '\'' || !plainText.MatchString(name) || isWord(name) {
		return string(value.AppendString(nil, name))
	}
	return name
}

// replace returns the edit that gives a value another one.
func (d *document) replace(p place, with json.RawMessage) []textEdit {
	return []textEdit{{p.value, d.end(p), d.scalar(with, p.value < len(d.text) && d.text[p.value] == '"')}}
}

// scalar returns the text of a JSON value. Strings have no quotes if YAML does not need them.
func (d *document) scalar(v json.RawMessage, quoted bool) string {
	var s string
	if d.isJSON || quoted || json.Unmarshal(v, &s) != nil || !plainText.MatchString(s) || isWord(s) {
		return string(v)
	}
	return s
}

// plainText matches texts that YAML reads as strings without quotes, except for those of isWord.
var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// isWord reports whether YAML 1.1 reads a text as a boolean or null.
func isWord(s string) bool {
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(s))
}

// remove returns the edit that removes a member.
func (d *document) remove(p place) []textEdit {
	if p.key < 0 {
		return nil
	}
	end := d.end(p)
	siblings := d.tree.Len(d.parent(p))
	if p.flow {
		// The comma after the value, or else the one before the key.
		after := len(d.text) - len(strings.TrimLeft(d.text[end:], " \t\r\n"))
		if after < len(d.text) && d.text[after] == ',' {
			after++
			return []textEdit{{p.key, len(d.text) - len(strings.TrimLeft(d.text[after:], " \t\r\n")), ""}}
		}
		before := strings.TrimRight(d.text[:p.key], " \t\r\n")
		return []textEdit{{len(strings.TrimSuffix(before, ",")), end, ""}}
	}
	if siblings == 1 {
		return []textEdit{{p.key, end, "{}"}}
	}
	line, next := p.key-d.indentOf(p.key), d.nextLine(end)
	if strings.TrimSpace(d.text[line:p.key]) == "" {
		return []textEdit{{line, next, ""}}
	}
	// The first member of an item of a list: the next member moves behind the dash.
	rest := d.text[next:]
	return []textEdit{{p.key, len(d.text) - len(strings.TrimLeft(rest, " ")), ""}}
}

func (d *document) parent(p place) uint32 {
	node := d.root
	for _, s := range p.path[:len(p.path)-1] {
		if s.IsIndex() {
			node = d.tree.Index(node, s.Index())
		} else {
			node = d.tree.Field(node, s.Key())
		}
	}
	return node
}

// insert returns the edit that adds a member to an object.
func (d *document) insert(object place, name string, v json.RawMessage) []textEdit {
	if d.tree.Nodes[object.node].Kind != value.Object {
		return nil
	}
	at := object.value
	if at >= len(d.text) {
		return nil
	}
	if d.text[at] == '{' {
		text := d.keyText(name, '"') + ": " + string(v)
		if d.tree.Len(object.node) > 0 {
			text += ", "
		}
		return []textEdit{{at + 1, at + 1, text}}
	}
	if object.flow || d.tree.Len(object.node) == 0 {
		return nil
	}
	indent := strings.Repeat(" ", d.indentOf(at))
	block, err := yaml.JSONToYAML(append(append(append([]byte("{"), value.AppendString(nil, name)...), ':'),
		append(slices.Clone(v), '}')...))
	if err != nil {
		return nil
	}
	text := strings.ReplaceAll(string(block), "\n", "\n"+indent)
	return []textEdit{{at, at, text}}
}

// indexOf returns a token of a pointer as the index in a list.
func indexOf(token string, length int) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < length
}
