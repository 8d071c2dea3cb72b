package lens

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// stash is a stash rule: a field that only one version has.
type stash struct {
	*compiledRule
	parent int        // the length of the part of the path that must exist for the field to be restored
	keys   [][]string // by step of the path: of each list, the fields that identify an item
	fits   *plan.Plan
	most   int64 // bytes of all values in the annotation
}

// stashOverhead bounds the bytes that an annotation needs for a stashed value besides the value.
func (p path) stashOverhead() int64 { return int64(len(p.String())) + 64 }

// nameStash checks a stash rule: items on its path must have keys, and the size of the annotation must be bounded.
func (b *pairing) nameStash(r *compiledRule) {
	version := &b.sides[r.sides[0]]
	r.class = Lens
	st := &stash{compiledRule: r, keys: make([][]string, len(r.from)), most: r.maxBytes + r.from.stashOverhead()}
	for i, name := range r.from {
		if name != each {
			continue
		}
		around, _ := r.from[:i].resolve(version.Schema)
		limit, bound := around.MaxProperties, "maxProperties"
		if around.Type == "array" {
			limit, bound = around.MaxItems, "maxItems"
			if st.keys[i] = b.keysOf(around, r.from[:i]); st.keys[i] == nil {
				b.invalid(r.at, r.from.String(), "the items of %s have no keys, so the field would be restored to another item: "+
					"make it a list of type map, or stash %s as a whole", r.from[:i], r.from[:i])
				return
			}
		}
		if limit == nil {
			b.invalid(r.at, r.from.String(), "%s of %s has no %s, so the annotation has no bound: add %s to the CRD, or drop the field",
				r.from[:i], version.Name, bound, bound)
			return
		}
		st.most = min(st.most*min(max(*limit, 1), maxStashBytes), 1<<40)
	}
	found, _ := r.from.resolve(version.Schema)
	st.fits = b.plan(incomplete(found), r.at)
	r.stash = st
	r.require(fmt.Sprintf("%s of %s is valid and has at most %d bytes as JSON", r.from, version.Name, r.maxBytes))
}

// keysOf returns the fields that identify the items of a list: those of its type or of its list rule, or nil.
func (b *pairing) keysOf(list *schema.Props, p path) []string {
	if listType(list) == "map" {
		return list.XListMapKeys
	}
	for i := range b.pair.rules {
		if r := &b.pair.rules[i]; r.kind == List && (slices.Equal(r.from, p) || slices.Equal(r.to, p)) {
			return []string{r.key}
		}
	}
	return nil
}

// checkStashes checks the size of the annotation of each version, and sets the parent of each stash.
func (b *pairing) checkStashes() {
	for s := range b.sides {
		var all []*stash
		total := int64(0)
		for _, r := range b.rules {
			if r.stash != nil && r.sides[0] == s {
				_, r.stash.parent = b.counterpartAbove(s, r.from)
				all = append(all, r.stash)
				total += r.stash.most
			}
		}
		if total <= maxStashBytes {
			continue
		}
		slices.SortStableFunc(all, func(x, y *stash) int { return cmp.Compare(y.most, x.most) })
		var sizes []string
		for _, st := range all[:min(len(all), maxNamed)] {
			sizes = append(sizes, fmt.Sprintf("%s at most %d", st.at.Dotted(), st.most))
		}
		if others := len(all) - len(sizes); others > 0 {
			sizes = append(sizes, fmt.Sprintf("and %d others", others))
		}
		b.invalid(all[0].at, all[0].from.String(), "the annotation of %s can have %d bytes (%s), and the limit of "+
			"Kubernetes for all annotations of an object is %d: lower maxBytes, maxItems or maxProperties, or stash fewer fields",
			b.sides[s].Name, total, strings.Join(sizes, ", "), maxStashBytes)
	}
}

// maxNamed bounds the rules that an error about several names.
const maxNamed = 5

// save appends the value of the annotation for the object, or nothing without stashed fields. It does not edit the
// tree.
func (r *run) save(dst []byte) ([]byte, *Error) {
	d := r.d
	metadata := d.Field(r.root, "metadata")
	if !r.whole && d.Nodes[metadata].Kind != tree.Object {
		return dst, nil // a partial object, which is not stored
	}
	start := len(dst)
	for _, s := range r.conversion.stashes {
		before := len(dst)
		dst = append(dst, either(before == start, "{", ",")...)
		dst = append(tree.AppendString(dst, s.from.String()), ':')
		from := len(dst)
		out, err := s.save(r, r.root, 0, dst)
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
	annotations := d.Field(metadata, "annotations")
	if d.Nodes[annotations].Kind == tree.Object && d.Len(annotations) == 0 {
		dst = append(dst, `,"":{}`...)
	}
	return append(dst, '}'), nil
}

// save appends the stashed values below a node, at the path from a step on. It appends one value, an object of values
// by the keys of items, or nothing.
func (s *stash) save(r *run, i uint32, step int, dst []byte) ([]byte, *Error) {
	d := r.d
	if step == len(s.from) {
		if !s.restores(d, i) {
			return nil, s.rejected(r, i)
		}
		from := len(dst)
		dst = d.AppendCanonical(dst, i)
		if size := int64(len(dst) - from); size > s.maxBytes {
			return nil, r.failed(s.compiledRule, i, fmt.Sprintf(
				"has %d bytes, and maxBytes of the rule is %d: shorten the value, or raise maxBytes", size, s.maxBytes))
		}
		return dst, nil
	}
	if name := s.from[step]; name != each {
		c := d.Field(i, name)
		if c == 0 {
			return dst, nil
		}
		dst, err := s.save(r, c, step+1, dst)
		return dst, err.below(tree.Name(name))
	}
	items, err := s.items(r, i, step)
	for n, item := range items {
		dst = append(dst, either(n == 0, "{", ",")...)
		dst = append(append(tree.AppendString(dst, item.key), ':'), item.text...)
	}
	if len(items) > 0 {
		dst = append(dst, '}')
	}
	return dst, err
}

// restores reports whether restore accepts a value.
func (s *stash) restores(d *tree.Doc, i uint32) bool {
	return len(s.fits.Explain(d, i, plan.At{})) == 0
}

// rejected returns the error about a value that restore would ignore.
func (s *stash) rejected(r *run, i uint32) *Error {
	why := ""
	if found := s.fits.Explain(r.d, i, plan.At{Field: field.NewPath(s.from.String())}); len(found) > 0 {
		why = violation.Shorten(found[0].Error.Error(), maxShownFile)
	}
	return r.failed(s.compiledRule, i, fmt.Sprintf("is not valid in %s (%s), so the conversion back would lose it: correct it",
		r.conversion.from.Name, why))
}

// savedItem is the stashed content of an item of a list or map.
type savedItem struct {
	key  string
	text []byte
}

// items returns the stashed content of the items of a list or map, sorted by key. So equal objects have equal
// annotations.
func (s *stash) items(r *run, container uint32, step int) (items []savedItem, err *Error) {
	d, k := r.d, 0
	for c := d.Nodes[container].First; c != 0; c, k = d.Nodes[c].Next, k+1 {
		text, err := s.save(r, c, step+1, nil)
		if err != nil {
			return nil, err.below(segment(d, container, c, k))
		}
		if len(text) > 0 {
			items = append(items, savedItem{keyOf(d, container, c, s.keys[step]), text})
		}
	}
	slices.SortFunc(items, func(a, b savedItem) int { return strings.Compare(a.key, b.key) })
	for n := 1; n < len(items); n++ {
		if items[n].key == items[n-1].key {
			return nil, r.failed(s.compiledRule, container, "has two items with the key "+items[n].key+": give each another one")
		}
	}
	return items, nil
}

// keyOf returns the key of an item: the key of a map, the value of the key field, or the values of several fields as
// JSON.
func keyOf(d *tree.Doc, container, item uint32, keys []string) string {
	switch {
	case d.Nodes[container].Kind == tree.Object:
		return d.Key(item)
	case len(keys) == 1:
		if c := d.Field(item, keys[0]); d.Nodes[c].Kind == tree.String {
			return d.Str(c)
		}
	}
	text := []byte{'['}
	for k, name := range keys {
		if k > 0 {
			text = append(text, ',')
		}
		text = appendScalar(text, d, d.Field(item, name)) // null without it
	}
	return string(append(text, ']'))
}

// restore sets the stashed fields that are absent from the object, if their parent exists and their value is valid. It
// ignores all other content of the annotation.
func (r *run) restore(kept uint32) {
	f := r.d.Finder()
	for _, s := range r.conversion.restores {
		if c := f.Field(kept, s.from.String()); c != 0 {
			s.restore(r.d, f, r.root, 0, c)
		}
	}
}

// restore sets the values of the path from a step on, below a node, and reports whether it changed anything.
func (s *stash) restore(d *tree.Doc, f *tree.Finder, i uint32, step int, kept uint32) (changed bool) {
	if name := s.from[step]; name == each {
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			below := f.Field(kept, keyOf(d, i, c, s.keys[step]))
			changed = below != 0 && s.restore(d, f, c, step+1, below) || changed
		}
	} else if d.Nodes[i].Kind == tree.Object {
		c, last := d.Field(i, name), step == len(s.from)-1
		switch {
		case last && c == 0 && s.restores(d, kept):
			c = newNode(d, name, "null") // the annotation must not change while it is searched
			d.Replace(c, kept)
			d.Append(i, c)
			changed = true
		case !last && c != 0:
			changed = s.restore(d, f, c, step+1, kept)
		case !last && step >= s.parent:
			c = newObject(d, name)
			if changed = s.restore(d, f, c, step+1, kept); changed {
				d.Append(i, c)
			}
		}
	}
	if changed {
		d.MarkDirty(i)
	}
	return changed
}
