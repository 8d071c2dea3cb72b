package lens

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// nameList checks a list rule. Either version can have the list.
func (b *pairing) nameList(r *compiledRule) {
	isList := func(s int, p path) bool {
		found, _ := p.resolve(b.sides[s].Schema)
		return found != nil && schema.Items(found) != nil
	}
	listPath, mapPath := r.from, r.to
	if !isList(0, listPath) && isList(1, listPath) {
		r.list, r.from, r.to = 1, mapPath, listPath
	}
	b.fields(r, listPath, mapPath)
	list, known := b.schemaAt(r.list, listPath, r.at), b.schemaAt(1-r.list, mapPath, r.at)
	if list == nil || known == nil {
		return
	}
	items, values := schema.Items(list), schema.ValueSchema(known)
	key := step(items, r.key)
	switch {
	case items == nil:
		b.invalid(r.at, listPath.String(), "must be a list in %s", b.sides[r.list].Name)
	case values == nil:
		b.invalid(r.at, mapPath.String(), "must be a map (additionalProperties with a schema) in %s", b.sides[1-r.list].Name)
	case key == nil || key.Type != "string":
		b.invalid(r.at, r.key, "must be a field of type string in the items of %s", listPath)
	case step(values, r.key) != nil:
		b.invalid(r.at, r.key, "is a field of the values of %s, too: the key must be only the name of the value", mapPath)
	}
	of := fmt.Sprintf("%s of %s", listPath, b.sides[r.list].Name)
	r.require(fmt.Sprintf("the order of %s is lost: it becomes the order by %s", of, r.key))
	if listType(list) != "map" || !slices.Equal(list.XListMapKeys, []string{r.key}) || items != nil && !slices.Contains(items.Required, r.key) {
		r.require(fmt.Sprintf("each item of %s has a %s that no other item has", of, r.key))
	}
	if n := b.claim(r.list, listPath.with(each).with(r.key), r); n != nil {
		n.key = r
	}
}

// list completes the node of the list or map of a list rule.
func (w *walker) list(out *node, n *named, src, dst *schema.Props, sp, dp path, by *compiledRule) {
	from := fmt.Sprintf("%s of %s", sp, w.src.Name)
	made := &listStep{key: by.key, toMap: src.Type == "array", most: math.MaxInt64, by: by}
	for _, bound := range [][2]*int64{{src.MaxItems, dst.MaxProperties}, {src.MaxProperties, dst.MaxItems}} {
		if bound[1] != nil && (bound[0] == nil || *bound[0] > *bound[1]) {
			by.require(fmt.Sprintf("%s has at most %d items", from, *bound[1]))
			made.most = *bound[1]
		}
	}
	if !made.toMap {
		w.names(made, step(step(dst, each), by.key), from)
	}
	out.list, out.each = made, w.items(n, src, dst, sp, dp, by)
}

// names compares the names in a map with the schema of the key that they become.
func (w *walker) names(made *listStep, key *schema.Props, from string) {
	c := compare(&schema.Props{Type: "string"}, key)
	made.names = w.check(&c, key, made.by, "a valid "+made.key)
	for _, text := range slices.Concat(c.checked, c.unchecked) {
		made.by.require(fmt.Sprintf("each name in %s %s", from, text))
	}
}

// listStep turns a list of objects into a map by a key, or back.
type listStep struct {
	key   string
	toMap bool
	most  int64  // items
	names *check // of the names in a map, or nil
	by    *compiledRule
}

func (s *listStep) run(r *run, i uint32) *Error {
	d := r.d
	if d.Nodes[i].Kind >= tree.Array && int64(d.Len(i)) > s.most {
		return r.failed(s.by, i, fmt.Sprintf("has %d items, and the schema of %s allows %d: remove some, or raise that limit",
			d.Len(i), r.conversion.to.Name, s.most))
	}
	switch kind := d.Nodes[i].Kind; {
	case kind == tree.Null:
		return nil
	case s.toMap && kind == tree.Array:
		return s.makeMap(r, i)
	case !s.toMap && kind == tree.Object:
		return s.makeList(r, i)
	}
	return r.failed(s.by, i, "is not a "+either(s.toMap, "list", "map")+", as the schema says: correct it")
}

func (s *listStep) makeMap(r *run, i uint32) *Error {
	d, k := r.d, 0
	seen := make(map[string]bool, d.Len(i))
	for c := d.Nodes[i].First; c != 0; c, k = d.Nodes[c].Next, k+1 {
		key := d.Field(c, s.key)
		if d.Nodes[key].Kind != tree.String {
			return r.failed(s.by, c, "has no "+s.key+", which the map needs: set it").below(tree.At(k))
		}
		name := d.Str(key)
		if seen[name] {
			return r.failed(s.by, key, "is the "+s.key+" of another item of the list, too: give each item another one").
				below(tree.At(k), tree.Name(s.key))
		}
		seen[name] = true
		removeMember(d, c, key)
		d.SetKey(c, name)
	}
	d.Nodes[i].Kind = tree.Object
	d.MarkDirty(i)
	return nil
}

func (s *listStep) makeList(r *run, i uint32) *Error {
	d := r.d
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind == tree.Null { // in a partial object: the item has lost its last field
			d.Replace(c, newObject(d, ""))
		}
		if d.Nodes[c].Kind != tree.Object {
			return r.failed(s.by, c, notAnObject).below(tree.Entry(strings.Clone(d.Key(c))))
		}
		key := newString(d, s.key, d.Key(c))
		if s.names != nil && len(s.names.fits.Explain(d, key, plan.At{})) > 0 {
			return r.failed(s.by, key, s.names.want).below(tree.Entry(strings.Clone(d.Key(c))))
		}
		if old := d.Field(c, s.key); old != 0 { // an unknown field of the map's values
			removeMember(d, c, old)
		}
		d.InsertAfter(c, 0, key)
		d.Nodes[c].KeyLen = 0
	}
	d.Nodes[i].Kind = tree.Array
	s.sort(d, i)
	d.MarkDirty(i)
	return nil
}

// sort orders the items of a list by key.
func (s *listStep) sort(d *tree.Doc, i uint32) {
	items := make([]uint32, 0, d.Len(i))
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		items = append(items, c)
	}
	keys := []string{s.key}
	slices.SortStableFunc(items, func(a, b uint32) int {
		return strings.Compare(keyOf(d, i, a, keys), keyOf(d, i, b, keys))
	})
	d.Nodes[i].First, d.Nodes[i].Live = 0, 0
	prev := uint32(0)
	for _, c := range items {
		d.InsertAfter(i, prev, c)
		prev = c
	}
}
