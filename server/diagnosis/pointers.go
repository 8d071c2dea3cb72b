package diagnosis

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// PointerOf returns the JSON pointer of a path: spec.jobs[0].name. A key can contain dots and brackets.
func (d *Document) PointerOf(path string) (pointer string, ok bool) {
	at, ok := d.Find("")
	for node := at.node; ok && path != ""; {
		length, key := d.firstKey(node, path)
		if length == 0 {
			return "", false
		}
		node, _ = d.child(node, key)
		pointer += "/" + value.EscapePointer(key)
		path = strings.TrimPrefix(path[length:], ".")
	}
	return pointer, pointer != ""
}

// firstKey returns the longest key of a node with which a path begins, and its length in the path. The length is 0 if
// the path begins with no key.
func (d *Document) firstKey(node uint32, path string) (length int, key string) {
	switch n := &d.tree.Nodes[node]; n.Kind {
	case value.Array:
		if index, _, ok := strings.Cut(path, "]"); ok && index[0] == '[' {
			if _, ok := indexOf(index[1:], d.tree.Len(node)); ok {
				return len(index) + 1, index[1:]
			}
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

// Keywords returns the pointers of a keyword in all schemas of a CRD that give it a text as value.
func (d *Document) Keywords(key, text string) (list []string) {
	at, ok := d.Find("")
	if !ok {
		return nil
	}
	var visit func(node uint32, pointer string)
	visit = func(node uint32, pointer string) {
		kind := d.tree.Nodes[node].Kind
		if kind == value.Object && d.isText(d.tree.Field(node, key), text) {
			list = append(list, pointer+"/"+key)
		}
		i := 0
		for c := d.tree.Nodes[node].First; c != 0 && (kind == value.Object || kind == value.Array); c = d.tree.Nodes[c].Next {
			token := strconv.Itoa(i)
			if kind == value.Object {
				token = d.tree.Key(c)
			}
			if i++; kind == value.Array || token != "default" && token != "enum" && token != "example" { // not in values
				visit(c, pointer+"/"+value.EscapePointer(token))
			}
		}
	}
	visit(at.node, "")
	return list
}

// itemOf returns the pointer of the first item of a list that is a text.
func (d *Document) itemOf(list, text string) (pointer string, ok bool) {
	p, ok := d.Find(list)
	if !ok || d.tree.Nodes[p.node].Kind != value.Array {
		return "", false
	}
	for i := range d.tree.Len(p.node) {
		if d.isText(d.tree.Index(p.node, i), text) {
			return list + "/" + strconv.Itoa(i), true
		}
	}
	return "", false
}

// hasText reports whether the value at a pointer is a text.
func (d *Document) hasText(pointer, text string) bool {
	p, ok := d.Find(pointer)
	return ok && d.isText(p.node, text)
}

func (d *Document) isText(node uint32, text string) bool {
	return node != 0 && d.tree.Nodes[node].Kind == value.String && d.tree.Str(node) == text
}
