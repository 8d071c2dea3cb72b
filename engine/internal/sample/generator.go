package sample

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Options identify the objects.
type Options struct {
	APIVersion, Kind string
	Namespaced       bool
	// Hints name fields and values besides those in the rules of the schema.
	Hints []*Hint
	// Plain asks for values that people read easily, instead of values that find errors.
	Plain bool
	// Stopped reports whether to stop. Then all further values are null. Nil never stops.
	Stopped func() bool
}

// Generator generates objects of one version of a CRD. It is not safe for concurrent use.
type Generator struct {
	root    *node
	options Options
	solver  Solver // may be nil

	density int  // percent of the optional members that are present
	left    int  // bytes that the current value may still take
	least   bool // only what is required, with plain values
	full    bool // all fields

	nesting, values int // of the value that is being generated
	steps           int // of the generator
	stopped         bool
}

// stop reports whether to stop. It asks once in a while.
func (g *Generator) stop() bool {
	const often = 64
	if g.steps++; g.options.Stopped != nil && !g.stopped && g.steps%often == 0 {
		g.stopped = g.options.Stopped()
	}
	return g.stopped
}

// maxValues bounds the values in a value, whatever the schema requires: nested lists with minItems have an exponential
// number.
const maxValues = 1 << 15

// New returns a Generator. A nil schema declares nothing.
func New(s *schema.Props, o Options) *Generator {
	if s == nil {
		s = &schema.Props{Type: "object"}
	}
	root := newNode(s, (&scope{known: map[string]*Hint{}}).with(o.Hints), nil)
	root.root = true
	return &Generator{root: root, options: o}
}

// sizes are the approximate sizes of objects in bytes, and densities the percentages of optional members.
var (
	sizes     = []int{300, 1000, 1000, 3000, 10000}
	densities = []int{5, 20, 50, 80, 100}
)

// maxDepth bounds the nesting of what the schema does not require.
const maxDepth = 24

// Object returns an object of about 10 kB at most. It probably follows the schema.
func (g *Generator) Object(r Random) *Tree {
	g.density, g.left = pick(r, densities), pick(r, sizes)
	switch {
	case g.least:
		g.density, g.left = 0, 0
	case g.full:
		g.density, g.left = 100, 10000
	}
	o := g.value(r, g.root, 0)
	if o.Kind != tree.Object {
		o = object()
	}
	head := object(text(g.options.APIVersion).named("apiVersion"), text(g.options.Kind).named("kind"), g.metadata(r))
	for _, m := range o.Items {
		if head.index(m.Key) < 0 {
			head.Items = append(head.Items, m)
		}
	}
	return head
}

// plain reports whether values are to be read easily.
func (g *Generator) plain() bool { return g.options.Plain || g.least }

// named sets the key of a new value.
func (t *Tree) named(name string) *Tree {
	t.Key = name
	return t
}

// value returns a value for a schema, which may be nil.
func (g *Generator) value(r Random, n *node, depth int) *Tree {
	if g.nesting == 0 {
		g.values = 0
	}
	if g.values++; g.values > maxValues || g.stop() {
		return null()
	}
	g.nesting++
	defer func() { g.nesting-- }()
	if n == nil {
		return g.free(r, 2)
	}
	if n.Nullable && len(n.Enum) == 0 && !g.plain() && r.chance(4) {
		return null()
	}
	if n = n.choose(r); len(n.Enum) > 0 {
		if v := parsed(pick(r, n.Enum).Raw); v != nil {
			g.left -= len(v.Text)
			return v
		}
	}
	if schema.HasValue(n.Default) && r.chance(10) {
		if v := parsed(n.Default.Raw); v != nil {
			return v
		}
	}
	if n.intOrString() {
		if n.Pattern == "" && len(n.patterns) == 0 && r.chance(50) || r.chance(25) {
			return g.number(r, n, true)
		}
		return g.text(r, n)
	}
	switch n.Type {
	case "object":
		return g.object(r, n, depth)
	case "array":
		return g.array(r, n, depth)
	case "string":
		return g.text(r, n)
	case "integer", "number":
		return g.number(r, n, n.Type == "integer")
	case "boolean":
		g.left -= 5
		return boolean(r.chance(50))
	}
	if len(n.names) > 0 || n.AdditionalProperties != nil {
		return g.object(r, n, depth)
	}
	return g.free(r, 2)
}

// share generates a value that may take half of the bytes that are left.
func (g *Generator) share(r Random, n *node, depth int) *Tree {
	before := g.left
	g.left = before / 2
	v := g.value(r, n, depth)
	g.left += before - before/2
	return v
}

func (g *Generator) object(r Random, n *node, depth int) *Tree {
	o := object()
	if n.XEmbeddedResource {
		g.embedded(r, o)
	}
	most := len(n.names)
	if n.MaxProperties != nil {
		most = int(min(*n.MaxProperties, 1<<20))
	}
	fill := func(name string) {
		if o.index(name) < 0 {
			g.left -= len(name) + 4
			o.set(name, g.share(r, n.property(name), depth+1))
		}
	}
	for _, name := range n.Required {
		if n.property(name) != nil {
			fill(name)
		}
	}
	least := 0
	if n.MinProperties != nil {
		least = int(min(*n.MinProperties, 1<<10))
	}
	for _, i := range r.Perm(len(n.names)) {
		name := n.names[i]
		switch {
		case n.root && (name == "apiVersion" || name == "kind" || name == "metadata"),
			n.XEmbeddedResource && o.index(name) >= 0, slices.Contains(n.forbidden, name), len(o.Items) >= most:
		case len(o.Items) < least, n.root && !g.least && r.chance(90),
			g.left > 0 && depth < maxDepth && r.chance(g.density):
			fill(name)
		}
	}
	slices.SortStableFunc(o.Items, func(a, b *Tree) int { return cmp.Compare(a.Key, b.Key) })
	g.entries(r, n, o, least, depth)
	if !g.plain() && r.chance(10) {
		r.Shuffle(len(o.Items), func(i, j int) { o.Items[i], o.Items[j] = o.Items[j], o.Items[i] })
	}
	return o
}

// entries adds members that the schema does not name.
func (g *Generator) entries(r Random, n *node, o *Tree, least, depth int) {
	values := schema.ValueSchema(n.Props)
	for _, name := range n.Required {
		if o.index(name) < 0 && !slices.Contains(n.forbidden, name) && n.property(name) == nil && (values != nil || n.open()) {
			o.set(name, g.share(r, n.member(name), depth+1))
		}
	}
	if values == nil && (!n.open() || n.XEmbeddedResource) {
		return
	}
	count := g.count(r, int64(least), n.MaxProperties, depth)
	for try := 0; len(o.Items) < count && try < 3*count; try++ {
		name := pick(r, entryNames[:g.upTo(4, len(entryNames))])
		if try >= len(entryNames) || g.plain() && try >= 4 {
			name += strconv.Itoa(try)
		} else if hinted, ok := n.hintedText(r); ok {
			name = hinted
		}
		if o.index(name) < 0 {
			g.left -= len(name) + 4
			o.set(name, g.share(r, n.member(name), depth+1))
		}
	}
}

// entryNames are keys of maps.
var entryNames = []string{"a", "b", "c", "name", "app.example.com/part", "x-y", "a.b", "A", "0", "key_1", "spec", "ü", "日本"}

// upTo returns the number of elements of a list of values to choose from: the first few if values are to be plain.
func (g *Generator) upTo(few, all int) int {
	if g.plain() {
		return few
	}
	return all
}

// count returns a number of elements or members. It is 0 or the least if no bytes are left.
func (g *Generator) count(r Random, least int64, most *int64, depth int) int {
	lo, hi := int(min(max(least, 0), 1<<10)), 4
	switch {
	case g.left <= 0 || depth >= maxDepth:
		hi = 0
	case g.plain():
		hi = 2
	case r.chance(5):
		hi = 20
	case g.density < 20:
		hi = 1
	}
	if most != nil {
		hi = int(min(int64(hi), *most))
	}
	hi = max(lo, hi)
	if most != nil && *most <= 16 && g.left > 0 && !g.plain() && r.chance(5) {
		return int(max(*most, 0))
	}
	return r.between(lo, hi)
}

func (g *Generator) array(r Random, n *node, depth int) *Tree {
	a := array()
	least := int64(0)
	if n.MinItems != nil {
		least = *n.MinItems
	}
	count := g.count(r, least, n.MaxItems, depth)
	for try := 0; len(a.Items) < count && try < count+6 && !g.stop(); try++ {
		v := g.share(r, n.element(), depth+1)
		if g.fits(n, a, v) {
			a.Items = append(a.Items, v)
		} else if n.isMapList() {
			for again := 0; again < 4 && !g.fits(n, a, v); again++ {
				g.rekey(r, n, v)
			}
			if g.fits(n, a, v) {
				a.Items = append(a.Items, v)
			}
		}
	}
	return a
}

// fits reports whether a value can be a further element of a list.
func (g *Generator) fits(n *node, list, v *Tree) bool {
	return slices.IndexFunc(list.Items, func(e *Tree) bool { return e != v && same(n, e, v) }) < 0
}

// same reports whether two elements are the same element of a set or a map list.
func same(n *node, a, b *Tree) bool {
	switch {
	case n.isMapList():
		return keyOf(n, a) == keyOf(n, b)
	case n.isSet():
		return string(a.JSON()) == string(b.JSON())
	}
	return false
}

// keyOf returns what identifies an element of a map list.
func keyOf(n *node, item *Tree) string {
	var key []byte
	for _, name := range n.XListMapKeys {
		if m := item.Get(name); m != nil {
			key = m.append(key)
		} else if p := n.element().property(name); p != nil && p.Default != nil {
			key = append(key, p.Default.Raw...)
		}
		key = append(key, 0)
	}
	return string(key)
}

// rekey gives an element of a map list other keys.
func (g *Generator) rekey(r Random, n *node, item *Tree) {
	if item.Kind != tree.Object || n.element() == nil {
		return
	}
	for _, name := range n.XListMapKeys {
		if p := n.element().property(name); p != nil {
			item.set(name, g.share(r, p, maxDepth))
		}
	}
}

// embedded adds the fields of an embedded resource.
func (g *Generator) embedded(r Random, o *Tree) {
	o.set("apiVersion", text(pick(r, []string{"v1", "apps/v1", "a.example.com/v1beta1"})))
	o.set("kind", text(pick(r, []string{"Pod", "Foo"})))
	if r.chance(80) {
		o.set("metadata", object(text("x").named("name")))
		if r.chance(30) {
			o.Get("metadata").set("labels", g.labels(r))
		}
	}
}

// free returns any JSON value.
func (g *Generator) free(r Random, depth int) *Tree {
	kinds := 9
	if depth <= 0 || g.left <= 0 {
		kinds = 5
	}
	g.left -= 8
	switch k := r.IntN(kinds); k {
	case 0:
		return boolean(r.chance(50))
	case 1:
		return text(pick(r, words))
	case 2:
		return g.anyNumber(r)
	case 3:
		return text("")
	case 4:
		return object()
	case 5:
		a := array()
		for range r.IntN(4) {
			a.Items = append(a.Items, g.free(r, depth-1))
		}
		return a
	default:
		o := object()
		for range r.IntN(4) {
			o.set(pick(r, entryNames), g.free(r, depth-1))
		}
		return o
	}
}
