package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// warnings returns the warnings of the CRD, with fixes. budget is reduced by the work.
func (c *compiled) warnings(budget *int) []Warning {
	list := []Warning{}
	for _, text := range c.report.Warnings {
		w := c.document.warning(text, budget)
		if w.Range == nil {
			c.document.locateSchemaWarning(&w, budget)
		}
		list = append(list, w)
	}
	return list
}

// warnings returns the warnings of the write. out has the changes of the object, whose fixes are those of warnings about
// unknown fields.
func (w *write) warnings(v *engine.Verdict, out *Object) []Warning {
	d, list := w.object, []Warning{}
	for _, text := range v.Warnings {
		one := Warning{Document: d.name, Message: text, Fixes: []Fix{}}
		pruned := slices.IndexFunc(out.Changes, func(c Change) bool {
			return c.Op == OpPruned && text == `unknown field "`+c.Path+`"`
		})
		ratcheted := slices.IndexFunc(out.Ratcheted, func(r Violation) bool { return text == r.Field+": "+r.Message })
		switch {
		case pruned >= 0:
			c := &out.Changes[pruned]
			one.Range, one.Hint, one.Fixes = c.Range, c.Hint, c.Fixes
		case ratcheted >= 0:
			r := &out.Ratcheted[ratcheted]
			one.Range, one.Hint, one.Fixes = r.Range, r.Hint, r.Fixes
		case w.version != nil && w.version.Deprecated && text == w.version.DeprecationWarning:
			if w.input.Subresource != "scale" { // a Scale has a version of its own
				one.Range, one.Fixes = d.rangeOf("/apiVersion"), w.newerVersion()
			}
		case strings.HasPrefix(text, `crdeval: an object with a list "items"`):
			one.Range = d.keyRange("/items")
		default:
			one = d.warning(text, &w.budget)
		}
		list = append(list, one)
	}
	return list
}

// newerVersion returns a fix that replaces a deprecated version by the served one with the highest priority.
func (w *write) newerVersion() []Fix {
	list := []Fix{}
	i := slices.IndexFunc(w.report.Versions, func(v engine.VersionInfo) bool { return v.Served && !v.Deprecated })
	p, ok := w.object.find("/apiVersion")
	if i < 0 || !ok || w.input.Version != "" {
		return list
	}
	name := w.definition.Group() + "/" + w.report.Versions[i].Name
	text := json.RawMessage(value.AppendString(nil, name))
	return append(list, w.object.fix("Change to "+name, change{set: "/apiVersion", value: text}, &w.budget,
		w.object.replace(p, text)...)...)
}

// The texts of warnings that name a place.
var (
	fieldWarning     = regexp.MustCompile(`(?s)^(unknown|duplicate) field "(.*)"$`)
	lineWarning      = regexp.MustCompile(`^line (\d+): `)
	finalizerWarning = regexp.MustCompile(`(?s)^metadata\.finalizers: ("(?:[^"\\]|\\.)*"): `)
	formatWarning    = regexp.MustCompile(`(?s)^unrecognized format (".*")$`)
	setWarning       = regexp.MustCompile(`^x-kubernetes-list-type: set for items of type "(object|array)" `)
)

// warning returns a warning, with the range of the place that its text names.
func (d *document) warning(text string, budget *int) Warning {
	out := Warning{Document: d.name, Message: text, Fixes: []Fix{}}
	if m := fieldWarning.FindStringSubmatch(text); m != nil {
		pointer, ok := d.pointerOf(m[2])
		if !ok {
			return out
		}
		out.Range = d.keyRange(pointer)
		if p, ok := d.find(pointer); ok && m[1] == "unknown" {
			out.Fixes = append(out.Fixes, d.fix("Remove "+m[2], change{remove: pointer}, budget, d.remove(p)...)...)
		}
	} else if m := lineWarning.FindStringSubmatch(text); m != nil {
		out.Range = d.lineRange(number(m[1]))
	} else if m := finalizerWarning.FindStringSubmatch(text); m != nil {
		name, _ := strconv.Unquote(m[1])
		out.Range = d.itemRange("/metadata/finalizers", name)
	} else if strings.HasPrefix(text, ".metadata.ownerReferences ") {
		out.Range = d.keyRange("/metadata/ownerReferences")
	}
	return out
}

// locateSchemaWarning adds the range to a warning about a keyword of a schema. If several schemas have the keyword, it is
// that of the first, and there is no fix.
func (d *document) locateSchemaWarning(w *Warning, budget *int) {
	var found []string
	if m := formatWarning.FindStringSubmatch(w.Message); m != nil {
		name, _ := strconv.Unquote(m[1])
		found = d.keywords("format", func(schema uint32) bool {
			return d.isText(d.tree.Field(schema, "format"), name)
		})
	} else if m := setWarning.FindStringSubmatch(w.Message); m != nil {
		const keyword = "x-kubernetes-list-type"
		found = d.keywords(keyword, func(schema uint32) bool {
			return d.isText(d.tree.Field(schema, keyword), "set") &&
				d.isText(d.tree.Field(d.tree.Field(schema, "items"), "type"), m[1])
		})
	}
	if len(found) == 0 {
		return
	}
	p, _ := d.find(found[0])
	w.Range = d.spanOf(p)
	if len(found) == 1 {
		title := "Remove " + found[0][strings.LastIndexByte(found[0], '/')+1:]
		w.Fixes = append(w.Fixes, d.fix(title, change{remove: found[0]}, budget, d.remove(p)...)...)
	}
}

// keywords returns the pointers of the members with a key whose object fulfills a condition.
func (d *document) keywords(key string, fulfills func(object uint32) bool) (list []string) {
	if d.tree == nil {
		return nil
	}
	var visit func(node uint32, pointer string)
	visit = func(node uint32, pointer string) {
		kind := d.tree.Nodes[node].Kind
		if kind == value.Object && fulfills(node) {
			list = append(list, pointer+"/"+key)
		}
		i := 0
		for c := d.tree.Nodes[node].First; c != 0 && (kind == value.Object || kind == value.Array); c = d.tree.Nodes[c].Next {
			token := strconv.Itoa(i)
			if kind == value.Object {
				token = d.tree.Key(c)
			}
			if i++; kind == value.Array || token != "default" && token != "enum" && token != "example" { // no schemas
				visit(c, pointer+"/"+escape(token))
			}
		}
	}
	visit(d.root, "")
	return list
}

func (d *document) isText(node uint32, text string) bool {
	return node != 0 && d.tree.Nodes[node].Kind == value.String && d.tree.Str(node) == text
}

// pointerOf returns the JSON pointer of a path: spec.jobs[0].name. A key can contain dots and brackets.
func (d *document) pointerOf(path string) (pointer string, ok bool) {
	if d.tree == nil {
		return "", false
	}
	for node := d.root; path != ""; {
		length, token := d.firstKey(node, path)
		if length == 0 {
			return "", false
		}
		node, _ = d.child(node, token)
		pointer += "/" + escape(token)
		path = strings.TrimPrefix(path[length:], ".")
	}
	return pointer, pointer != ""
}

// firstKey returns the longest key of a node with which a path begins, and its length in the path. It returns 0 if there
// is none.
func (d *document) firstKey(node uint32, path string) (length int, key string) {
	switch n := &d.tree.Nodes[node]; n.Kind {
	case value.Array:
		if index, _, ok := strings.Cut(path, "]"); ok && index[0] == '[' && d.hasItem(node, index[1:]) {
			return len(index) + 1, index[1:]
		}
	case value.Object:
		for c := n.First; c != 0; c = d.tree.Nodes[c].Next {
			k := d.tree.Key(c)
			rest, ok := strings.CutPrefix(path, k)
			if ok && len(k) > length && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				length, key = len(k), k
			}
		}
	}
	return length, key
}

func (d *document) hasItem(array uint32, index string) bool {
	_, ok := indexOf(index, d.tree.Len(array))
	return ok
}

// itemRange returns the range of the item of a list that is a text, or nil.
func (d *document) itemRange(list, text string) *Range {
	p, ok := d.find(list)
	if !ok || d.tree.Nodes[p.node].Kind != value.Array {
		return nil
	}
	for i := range d.tree.Len(p.node) {
		if d.isText(d.tree.Index(p.node, i), text) {
			return d.rangeOf(list + "/" + strconv.Itoa(i))
		}
	}
	return nil
}

// number returns the value of digits, or a very large one.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // for a value out of range, n is the largest int
	return n
}

// lineRange returns the range of the text in a line, which counts from 1, or nil.
func (d *document) lineRange(line int) *Range {
	if line < 1 || line > len(d.lines) {
		return nil
	}
	start := d.lines[line-1]
	end := d.lineEnd(start)
	return d.span(start+len(d.text[start:end])-len(strings.TrimLeft(d.text[start:end], " \t")), end)
}
