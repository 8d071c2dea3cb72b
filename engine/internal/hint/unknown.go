package hint

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// unknown suggests a field for one that the schema does not declare.
func (f *Finder) unknown(path tree.Path) *violation.Hint {
	if len(path) == 0 || path[len(path)-1].IsIndex() {
		return nil
	}
	parent, key := path[:len(path)-1], path[len(path)-1].Key()
	here := f.target(parent)
	if h := f.unquoted(path, here); h != nil {
		return h
	}
	names := here.names()
	best, least := f.nearest(key, names)
	if least > 1 {
		if h := f.above(parent, key); h != nil {
			return h
		}
		if h := f.below(parent, here, key); h != nil {
			return h
		}
	}
	if best < 0 {
		return f.unknownKeyword(path)
	}
	if f.at(parent.With(tree.Name(names[best]))) != 0 || f.competes(parent, here, key, names[best]) {
		return nil
	}
	pointer := parent.With(tree.Name(names[best])).Pointer()
	return &violation.Hint{Text: "did you mean " + strconv.Quote(names[best]) + "?", Pointer: pointer}
}

// competes reports whether the object at a path has another unknown field that can mean the same one. A document that
// follows the hints about both would have that field twice.
func (f *Finder) competes(parent tree.Path, here target, key, meant string) bool {
	object := f.at(parent)
	if object == 0 {
		return false
	}
	d := f.doc
	for c := d.Nodes[object].First; c != 0 && f.work < maxWork; c = d.Nodes[c].Next {
		if other := d.Key(c); other != key && !here.declares(other) && f.difference(other, meant) < different {
			return true
		}
	}
	return f.work >= maxWork
}

// unquoted returns a hint about a key that YAML 1.1 reads as a boolean, a number or null: y is true, and 1.10 is 1.1.
func (f *Finder) unquoted(path tree.Path, here target) *violation.Hint {
	source, node := f.source(), f.at(path)
	if source == nil || node == 0 {
		return nil
	}
	offset, key := f.index(f.doc.KeyPosition(node, path)), path[len(path)-1].Key()
	if offset < 0 || offset >= len(source) {
		return nil
	}
	text := anchored(source, offset)
	sent, _, found := strings.Cut(string(text[:min(longestKey, len(text))]), ":")
	sent = strings.TrimSpace(sent)
	if !found || sent == "" || sent == key || strings.ContainsAny(sent, "\"'\n") {
		return nil
	}
	if f.at(path[:len(path)-1].With(tree.Name(sent))) != 0 {
		return nil // the object has the quoted key too
	}
	h := &violation.Hint{Text: "YAML 1.1 reads the key " + sent + " as " + key + ": quote it, " + strconv.Quote(sent)}
	if here.declares(sent) {
		h.Pointer = path[:len(path)-1].With(tree.Name(sent)).Pointer()
	}
	return h
}

// longestKey is the length, in bytes, of the longest key that unquoted looks at, with its colon.
const longestKey = 64

// above looks for a declared field of the name one level up that the object does not have.
func (f *Finder) above(parent tree.Path, key string) *violation.Hint {
	up := parent
	for len(up) > 0 && up[len(up)-1].IsIndex() {
		up = up[:len(up)-1]
	}
	if len(up) == 0 {
		return nil
	}
	up = up[:len(up)-1]
	to := up.With(tree.Name(key))
	if !f.target(up).declares(key) || f.at(to) != 0 {
		return nil
	}
	return &violation.Hint{Text: strconv.Quote(key) + " is declared one level up, " + in(up), Pointer: to.Pointer()}
}

// in names the object at a path.
func in(path tree.Path) string {
	if len(path) == 0 {
		return "at the root of the object"
	}
	return "in " + path.Dotted()
}

// mostNamed is how many fields one level down a hint names.
const mostNamed = 3

// below looks one level down for objects that declare a field of the name and do not have it.
func (f *Finder) below(parent tree.Path, here target, key string) *violation.Hint {
	h := &violation.Hint{}
	var texts []string
	for _, name := range here.names() {
		if f.work += 8; f.work >= maxWork || len(texts) > mostNamed {
			return nil
		}
		child, inItems := here.child(name), false
		if !child.declares(key) && child.known() {
			child, inItems = child.items(), true
		}
		if !child.declares(key) {
			continue
		}
		at := parent.With(tree.Name(name))
		if to := at.With(tree.Name(key)); inItems { // no pointer: it is unknown which item is meant
			texts = append(texts, "in the items of "+at.Dotted())
		} else if f.at(to) == 0 {
			texts, h.Pointer = append(texts, in(at)), to.Pointer()
		}
	}
	if len(texts) == 0 || len(texts) > mostNamed {
		return nil
	}
	if len(texts) > 1 {
		h.Pointer = ""
	}
	h.Text = strconv.Quote(key) + " is declared one level down, " + strings.Join(texts, " or ")
	return h
}
