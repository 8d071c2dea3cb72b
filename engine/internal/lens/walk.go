package lens

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// conversion converts objects of one version to another.
type conversion struct {
	from, to Version
	root     *itemConversion
	// stashes are written to the annotation of from. restores are read from the annotation of to.
	stashes, restores []*stash
	coverage          Coverage
	// expected are the paths at which a converted object may be invalid, according to the preconditions.
	expected map[string]bool
}

// itemConversion converts the root of an object, an item of a list or a value of a map, here called the item.
type itemConversion struct {
	src, dst path // of the item
	node     *node
	slots    int // taken fields and values of expressions
	writes   []*expression
	puts     []put
}

// put links the node of a slot into an item.
type put struct {
	slot int
	to   []string // names of properties, relative to the item
	by   *compiledRule
}

// node describes how a value and the values below it are converted.
type node struct {
	name     string // of the property
	children []*node
	each     *itemConversion // for the items or values
	list     *listStep
	values   *valuesStep
	check    *check
	notNull  *compiledRule // null cannot be carried
	emptied  bool          // a list or an object: in partial objects, it may be null instead of empty
	take     taking
	slot     int           // for taken
	dropped  bool          // by a rule: not in the normal form
	read     bool          // by expressions, and not carried otherwise: not in the normal form of partial objects
	by       *compiledRule // the rule below an object that only the source has. The value must be an object.
}

// taking tells whether a value stays in its place.
type taking uint8

const (
	stays   taking = iota
	taken          // moved to a slot, from which it is put elsewhere
	removed        // dropped, read by an expression, or already in the annotation
)

// check validates a carried value against the schema of the target.
type check struct {
	fits *plan.Plan
	by   *compiledRule
	want string
}

// check returns the check of the conditions that a comparison found, or nil. valid is "valid" or "a valid" noun.
func (w *walker) check(c *comparison, dst *schema.Props, by *compiledRule, valid string) *check {
	if len(c.checked) == 0 {
		return nil
	}
	return &check{w.plan(shallow(dst), by.at), by, fmt.Sprintf("is not %s in %s, whose schema requires that it %s: "+
		"change the value or the schema", valid, w.dst.Name, strings.Join(c.checked, " and "))}
}

// walker builds the conversion of one direction.
type walker struct {
	*pairing
	from     int
	src, dst *side
	p        *conversion
	unpaired []typedPath // fields of the target that the source lacks and that no rule names
	searched bool        // for unpaired
}

// conversion builds the conversion from one version to the other.
func (b *pairing) conversion(from int) *conversion {
	w := &walker{pairing: b, from: from, src: &b.sides[from], dst: &b.sides[1-from]}
	w.p = &conversion{from: w.src.Version, to: w.dst.Version}
	w.p.root = &itemConversion{node: &node{}}
	w.p.root.node.children = w.object(w.p.root, w.src.named, w.src.Schema, w.dst.Schema, nil, nil, b.equal)
	w.finish(w.p.root)
	for _, r := range b.rules {
		for _, x := range r.writes {
			if x.side != from && !x.placed {
				w.invalid(x.at, x.to.String(), "the items of %s are not converted from %s: name the list or map in a rule",
					x.to.item(), w.src.Name)
			}
		}
	}
	w.required(nil, w.dst.Schema)
	for _, r := range b.rules {
		if r.stash != nil && r.sides[0] != from {
			w.p.restores = append(w.p.restores, r.stash)
		}
	}
	return w.p
}

// finish adds the expressions of an item, and sorts its puts: those with shorter paths come first.
func (w *walker) finish(item *itemConversion) {
	for _, r := range w.rules {
		for _, x := range r.writes {
			if x.side == w.from || !slices.Equal(x.to.item(), item.dst) {
				continue
			}
			x.placed = true
			item.writes = append(item.writes, x)
			item.puts = append(item.puts, put{slot: item.slots, to: x.to[len(item.dst):], by: r})
			item.slots++
		}
	}
	slices.SortStableFunc(item.puts, func(a, b put) int { return len(a.to) - len(b.to) })
}

// value builds the node of a value that a rule carries. It returns nil if the value does not change.
func (w *walker) value(item *itemConversion, n *named, src, dst *schema.Props, sp, dp path, by *compiledRule) *node {
	if w.ctx.Err() != nil || n == nil && schema.Equal(src, dst) {
		w.carry(by, leaves(src))
		return nil
	}
	out := &node{emptied: src.Type == "array" || src.Type == "object"}
	if takesNull(src) && !takesNull(dst) {
		by.require(fmt.Sprintf("%s of %s is not null", shownPath(sp), w.src.Name))
		out.notNull = by
	}
	switch named := n != nil && n.mapped == by; {
	case named && by.kind == List:
		w.list(out, n, src, dst, sp, dp, by)
		return out
	case named && by.kind == Values:
		w.carry(by, 1)
		out.values, out.check = w.values(src, dst, by)
		return out
	}
	c := compare(src, dst)
	if c.mismatch != "" {
		if w.from == 0 { // the other direction has the same mismatch
			w.invalid(by.at, sp.String(), "has the types %s in %s and %s: write a cel rule, or drop it",
				c.mismatch, w.src.Name, w.dst.Name)
		}
		return nil
	}
	out.check = w.check(&c, dst, by, "valid")
	if len(c.expected) > 0 {
		w.p.expect(dp)
	}
	if c.unique {
		w.p.expect(dp.with(each)) // a duplicate is a violation of the item
	}
	for _, text := range slices.Concat(c.checked, c.expected, c.unchecked) {
		by.require(fmt.Sprintf("%s of %s %s", shownPath(sp), w.src.Name, text))
	}
	switch items := step(src, each); {
	case len(src.Properties) > 0:
		out.children = w.object(item, n, src, dst, sp, dp, by)
	case items != nil && step(dst, each) != nil:
		out.each = w.items(n, src, dst, sp, dp, by)
	case items != nil:
		w.invalid(by.at, sp.String(), "%s declares its items or values and %s does not: write a rule", w.src.Name, w.dst.Name)
	default:
		w.carry(by, 1)
	}
	if out.check == nil && out.notNull == nil && out.each == nil && len(out.children) == 0 {
		return nil
	}
	return out
}

// carry counts fields that a rule carries.
func (w *walker) carry(by *compiledRule, fields int) {
	w.p.coverage.Carried += fields
	by.carries = true
}

// items builds the conversion for the items of a list or the values of a map, or nil if nothing happens to them.
func (w *walker) items(n *named, src, dst *schema.Props, sp, dp path, by *compiledRule) *itemConversion {
	sub := &itemConversion{src: sp.with(each), dst: dp.with(each)}
	below := n.child(each)
	if below != nil && below.mapped != nil {
		if by = below.mapped; !slices.Equal(below.other, sub.dst) {
			w.invalid(by.at, below.other.String(), "the items of %s are those of %s: the rule must name these", sp, dp)
			return nil
		}
	}
	sub.node = w.value(sub, below, step(src, each), step(dst, each), sub.src, sub.dst, by)
	if w.finish(sub); sub.node == nil && len(sub.puts) == 0 {
		return nil
	}
	return sub
}

// object builds the nodes of the properties that change, sorted by name. dst is nil if the target has no such object.
func (w *walker) object(item *itemConversion, n *named, src, dst *schema.Props, sp, dp path, by *compiledRule) (children []*node) {
	for _, name := range schema.Names(src.Properties) {
		if sp.with(name).isHead() {
			continue
		}
		if c := w.property(item, n.child(name), step(src, name), dst, sp.with(name), dp.with(name), by); c != nil {
			c.name = name
			children = append(children, c)
		}
	}
	return children
}

// property builds the node of a property. parent is the schema of the target's object, or nil.
func (w *walker) property(item *itemConversion, n *named, src, parent *schema.Props, sp, dp path, by *compiledRule) *node {
	if n != nil {
		switch {
		case n.dropped != nil:
			w.p.coverage.Dropped += leaves(src)
			return &node{take: removed, dropped: true}
		case n.key != nil:
			w.p.coverage.Carried++
			return nil // the list rule removes it
		case n.stashed != nil:
			w.p.coverage.Stashed += leaves(src)
			w.p.stashes = append(w.p.stashes, n.stashed.stash)
			return &node{take: removed}
		case n.mapped != nil:
			return w.mapped(item, n, src, sp, dp, parent)
		case n.written != nil, n.read && step(parent, dp[len(dp)-1]) == nil:
			w.p.coverage.Read += leaves(src)
			w.uncovered(n, src, sp, fmt.Sprintf("%v writes this field in the other direction, and no expression reads it",
				n.written))
			return &node{take: removed, read: true}
		}
	}
	dst := step(parent, dp[len(dp)-1])
	if r := w.dst.named.find(dp).rule(); dst != nil && r == nil {
		return w.value(item, n, src, dst, sp, dp, by)
	} else if r != nil {
		w.p.coverage.Read += leaves(src)
		w.uncovered(n, src, sp, fmt.Sprintf("%v fills this field of %s", r, w.dst.Name))
		return &node{take: removed, read: true}
	}
	if n == nil && parent != nil && schema.Preserves(parent) {
		return nil // an unknown field of the target
	}
	if n == nil || len(src.Properties) == 0 {
		w.uncovered(n, src, sp, "")
		return nil
	}
	out := &node{take: removed, children: w.object(item, n, src, nil, sp, dp, by)}
	n.walk(nil, func(_ path, below *named) {
		if r := below.rule(); r != nil {
			out.by = r
			if name := sp.String(); !slices.Contains(r.emptied[w.from], name) {
				r.emptied[w.from] = append(r.emptied[w.from], name)
			}
		}
	})
	return out
}

// mapped builds the node of a property that a rule maps to another path.
func (w *walker) mapped(item *itemConversion, n *named, src *schema.Props, sp, dp path, parent *schema.Props) *node {
	r, to := n.mapped, n.other
	dst, _ := to.resolve(w.dst.Schema)
	if !slices.Equal(to.item(), item.dst) {
		w.invalid(r.at, to.String(), "%s is not inside of what %s is converted to: name the lists or maps in rules, too",
			to, shownPath(item.src))
		return nil
	}
	out := w.value(item, n, src, dst, sp, to, r)
	if parent != nil && slices.Equal(dp, to) {
		return out
	}
	if out == nil {
		out = &node{}
	}
	out.take, out.slot = taken, item.slots
	item.slots++
	item.puts = append(item.puts, put{slot: out.slot, to: to[len(item.dst):], by: r})
	return out
}

// uncovered adds violations for a value that would be lost without a drop rule. An expression can read parts of it. If
// why is "", the target has no such field.
func (w *walker) uncovered(n *named, src *schema.Props, sp path, why string) {
	below := steps(src)
	switch {
	case n != nil && n.read:
		return
	case n != nil && len(below) > 0:
		for _, name := range below {
			w.uncovered(n.child(name), step(src, name), sp.with(name), why)
		}
		return
	}
	if why == "" {
		why = w.dst.Name + " has no such field"
		if similar := w.similar(sp, src); similar != nil {
			why += fmt.Sprintf(", the most similar one is %s", similar)
		}
	}
	w.add(w.at, field.Required(nil, fmt.Sprintf(
		"a rule for %s of %s: %s. Add move, list, values or cel to carry it, stash to keep it in an annotation, or drop to lose it",
		sp, w.src.Name, why)))
}
