package lens

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/value"
)

// stash is a field that only one version has.
type stash struct {
	path     path
	maxBytes int64
	parent   int        // the length of the part of path that must exist for the field to be restored
	keys     [][]string // for each list or map that the path goes through, the fields that identify an item; none for a map
	fits     *plan.Plan
	by       *compiledRule
}

// nameStash checks a stash rule: its items must be identified by keys, and the annotation must have a bound.
func (b *pairing) nameStash(r *compiledRule) {
	s := r.sides[0]
	r.class = Lens
	st := &stash{path: r.from, maxBytes: r.maxBytes, by: r}
	most := st.maxBytes + int64(len(r.from.String())) + 64
	for i, name := range r.from {
		if name != each {
			continue
		}
		around, _ := r.from[:i].resolve(b.sides[s].Schema)
		limit := around.MaxProperties
		var keys []string
		if around.Type == "array" {
			limit = around.MaxItems
			if keys = around.XListMapKeys; listType(around) != "map" {
				keys = nil
				if rule := b.listRule(r.from[:i]); rule != nil {
					keys = []string{rule.key}
				}
			}
			if keys == nil {
				b.invalid(r.at, r.from.String(), "the items of %s have no keys, so the field would be restored to another item: "+
					"make it a list of type map, or stash %s as a whole", r.from[:i], r.from[:i])
				return
			}
		}
		if limit == nil {
			b.invalid(r.at, r.from.String(), "%s has no maxItems or maxProperties, so the annotation has no bound: add it",
				r.from[:i])
			return
		}
		st.keys = append(st.keys, keys)
		most = min(most*max(*limit, 1), 1<<40)
	}
	if most > maxStashBytes {
		b.invalid(r.at, r.from.String(), "all values can have %d bytes, and all annotations of an object at most %d",
			most, maxStashBytes)
	}
	found, _ := r.from.resolve(b.sides[s].Schema)
	st.fits = b.plan(found, r.at)
	r.stash = st
	r.require(fmt.Sprintf("%s of %s has at most %d bytes as JSON", r.from, b.sides[s].Name, r.maxBytes))
}

// listRule returns the list rule for a list, nil without one.
func (b *pairing) listRule(p path) *ruleText {
	for i := range b.pair.rules {
		if r := &b.pair.rules[i]; r.kind == List && (slices.Equal(r.from, p) || slices.Equal(r.to, p)) {
			return r
		}
	}
	return nil
}

// checkStashes checks the size of the annotation of each version, and says below which object a field is restored.
func (b *pairing) checkStashes() {
	total := [2]int64{}
	for _, r := range b.rules {
		if r.stash == nil {
			continue
		}
		s := r.sides[0]
		for i := len(r.from) - 1; i > 0 && r.stash.parent == 0; i-- {
			if b.counterpartOf(s, r.from[:i]) != nil {
				r.stash.parent = i
			}
		}
		if total[s] += r.maxBytes; total[s] > maxStashBytes {
			b.add(r.at, field.TooLong(nil, "", maxStashBytes))
		}
	}
}

// save appends the value of the annotation for a tree, or nothing without stashed fields. It edits nothing.
func (p *program) save(r *run, root uint32, dst []byte) ([]byte, *Error) {
	d := r.d
	metadata := d.Field(root, "metadata")
	if !r.whole && d.Nodes[metadata].Kind != value.Object {
		return dst, nil // a partial object that nobody stores
	}
	start := len(dst)
	for _, s := range p.stashes {
		before := len(dst)
		dst = append(dst, ',')
		if len(dst) == start+1 {
			dst[start] = '{'
		}
		dst = append(value.AppendString(dst, s.path.String()), ':')
		from := len(dst)
		out, err := s.save(r, root, s.path, 0, dst)
		if err != nil {
			return nil, err
		}
		if dst = out; len(dst) == from {
			dst = dst[:before]
		}
	}
	if len(dst) == start {
		return dst, nil
	}
	if annotations := d.Field(metadata, "annotations"); d.Nodes[annotations].Kind == value.Object && d.Len(annotations) == 0 {
		dst = append(dst, `,"":{}`...)
	}
	dst = append(dst, '}')
	if len(dst)-start > maxStashBytes {
		return nil, &Error{Rule: "stash", Text: fmt.Sprintf("the annotation %s%s would have %d bytes, the limit of Kubernetes is %d",
			AnnotationPrefix, p.from.Name, len(dst)-start, maxStashBytes)}
	}
	return dst, nil
}

// save appends the values at a path below a node: the value, or an object by the keys of items. It appends nothing if
// there is no value.
func (s *stash) save(r *run, i uint32, p path, level int, dst []byte) ([]byte, *Error) {
	d := r.d
	for k, name := range p {
		if name != each {
			if i = d.Field(i, name); i == 0 {
				return dst, nil
			}
			continue
		}
		items, err := s.items(r, i, p[k+1:], level)
		if err != nil {
			return nil, err.in(p[:k])
		}
		for n, item := range items {
			dst = append(dst, either(n == 0, "{", ",")...)
			dst = append(append(value.AppendString(dst, item.key), ':'), item.text...)
		}
		if len(items) > 0 {
			dst = append(dst, '}')
		}
		return dst, nil
	}
	from := len(dst)
	dst = d.AppendCanonical(dst, i)
	if size := int64(len(dst) - from); size > s.maxBytes {
		return nil, r.failed(s.by, i, fmt.Sprintf("has %d bytes, and maxBytes is %d", size, s.maxBytes)).in(p)
	}
	return dst, nil
}

// savedItem is what an item of a list or map keeps in the annotation.
type savedItem struct {
	key  string
	text []byte
}

// items returns what the items of a list or map keep, sorted by key, so that equal objects have equal annotations.
func (s *stash) items(r *run, container uint32, p path, level int) (items []savedItem, err *Error) {
	d, k := r.d, 0
	for c := d.Nodes[container].First; c != 0; c, k = d.Nodes[c].Next, k+1 {
		text, err := s.save(r, c, p, level+1, nil)
		if err != nil {
			return nil, err.below(segment(d, container, c, k))
		}
		if len(text) > 0 {
			items = append(items, savedItem{keyOf(d, container, c, s.keys[level]), text})
		}
	}
	slices.SortFunc(items, func(a, b savedItem) int { return strings.Compare(a.key, b.key) })
	for n := 1; n < len(items); n++ {
		if items[n].key == items[n-1].key {
			return nil, r.failed(s.by, container, "has two items with the key "+items[n].key+": give each another one")
		}
	}
	return items, nil
}

// keyOf returns what identifies an item: the name of a value in a map, the value of a key field, or several as JSON.
func keyOf(d *value.Doc, container, item uint32, keys []string) string {
	switch {
	case d.Nodes[container].Kind == value.Object:
		return d.Key(item)
	case len(keys) == 1:
		if c := d.Field(item, keys[0]); c != 0 && d.Nodes[c].Kind == value.String {
			return d.Str(c)
		}
	}
	text := []byte{'['}
	for k, name := range keys {
		if k > 0 {
			text = append(text, ',')
		}
		if c := d.Field(item, name); c != 0 {
			text = d.AppendJSON(text, c)
		} else {
			text = append(text, "null"...)
		}
	}
	return string(append(text, ']'))
}

// restore sets the fields of an annotation: those that are absent, below an object that exists, with a valid value.
// Whatever else users wrote into the annotation is ignored.
func (p *program) restore(d *value.Doc, root, kept uint32) {
	f := d.Finder()
	for _, s := range p.restores {
		if c := f.Field(kept, s.path.String()); c != 0 {
			s.restore(d, f, root, s.path, 0, c)
		}
	}
}

// restore sets the values of a path below a node and reports whether it changed anything.
func (s *stash) restore(d *value.Doc, f *value.Finder, i uint32, p path, level int, kept uint32) (changed bool) {
	if d.Nodes[i].Kind == value.Null {
		return false
	}
	name := p[0]
	if name == each {
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if below := f.Field(kept, keyOf(d, i, c, s.keys[level])); below != 0 && s.restore(d, f, c, p[1:], level+1, below) {
				changed = true
			}
		}
	} else {
		if d.Nodes[i].Kind != value.Object {
			return false
		}
		c := d.Field(i, name)
		switch {
		case len(p) == 1 && c == 0:
			if len(s.fits.Explain(d, kept, plan.At{})) > 0 {
				return false
			}
			c = parsed(d, "null") // the annotation stays as it is, to be searched
			d.Replace(c, kept)
			d.SetKey(c, name)
			d.Append(i, c)
			changed = true
		case len(p) == 1:
		case c != 0:
			changed = s.restore(d, f, c, p[1:], level, kept)
		case len(s.path)-len(p) >= s.parent:
			c = newObject(d, name)
			if changed = s.restore(d, f, c, p[1:], level, kept); changed {
				d.Append(i, c)
			}
		}
	}
	if changed {
		d.MarkDirty(i)
	}
	return changed
}
