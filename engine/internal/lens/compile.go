package lens

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Version is a version of a CRD.
type Version struct {
	Name, APIVersion string
	Schema           *schema.Props // of a version without a schema: one that preserves unknown fields
}

// Set is a compiled File. It is immutable and safe for concurrent use.
type Set struct {
	hub      string
	programs map[[2]string]*program // by source and target
	except   map[[2]string][]Law    // by source and target
	rules    []Rule
	size     int64
}

// Rule describes a rule and what is proved of it.
type Rule struct {
	Between [2]string
	// Index is the index of the rule in those of its pair; -1 for the fields that carry themselves.
	Index int
	Kind  Kind
	// Text shows the paths: spec.host <-> spec.endpoint.host.
	Text  string
	Class Class
	// Preconditions are conditions of the proof: spec.port of v1beta1 is at most 65535.
	Preconditions []string
}

// Class says how much is known of a rule.
type Class string

// The classes. ISO and LENS are proved from the schemas.
const (
	ISO    Class = "ISO"    // nothing is lost in either direction
	Lens   Class = "LENS"   // what is lost is listed in the preconditions
	Tested Class = "TESTED" // expressions: only the tests of the laws say that nothing is lost
)

// Rules describes the rules, in the order of the file.
func (s *Set) Rules() []Rule { return s.rules }

// Hub is the version through which conversions go between versions that no pair has, or "".
func (s *Set) Hub() string { return s.hub }

// Excepts reports whether the file says that the rules between two versions do not obey a law.
func (s *Set) Excepts(from, to string, law Law) bool {
	return slices.Contains(s.except[[2]string{from, to}], law)
}

// Pairs returns the source and target of all conversions that the rules have, sorted.
func (s *Set) Pairs() [][2]string {
	return slices.SortedFunc(maps.Keys(s.programs), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// Coverage says what becomes of the fields of a version in a conversion. Objects, lists and maps with fields inside do not
// count, only these fields.
type Coverage struct {
	Between [2]string // source and target
	Carried int       // at the same path or another one
	Read    int       // only by expressions
	Stashed int       // kept in the annotation
	Dropped int
}

// Coverage returns the coverage of each pair and direction, in the order of Pairs.
func (s *Set) Coverage() []Coverage {
	all := make([]Coverage, 0, len(s.programs))
	for _, between := range s.Pairs() {
		c := s.programs[between].coverage
		c.Between = between
		all = append(all, c)
	}
	return all
}

// leaves returns the number of fields in a value of a schema, at least 1.
func leaves(p *schema.Props) (n int) {
	for _, name := range schema.Names(p.Properties) {
		n += leaves(step(p, name))
	}
	if items := step(p, each); n == 0 && items != nil {
		n = leaves(items)
	}
	return max(n, 1)
}

// Size returns the bytes that the Set retains.
func (s *Set) Size() int64 {
	if s == nil {
		return 0
	}
	return s.size
}

// Compile checks a file against the versions of its CRD and compiles it. The paths of violations are those in the file.
// The Set is nil if there are any. The error is that of the context.
func Compile(ctx context.Context, f *File, versions []Version, memory *celcheck.Memory) (
	*Set, []violation.Violation, error) {
	c := &compiler{ctx: ctx, memory: memory, texts: map[string]bool{}, set: &Set{
		hub: f.Hub, programs: map[[2]string]*program{}, except: map[[2]string][]Law{},
	}, retained: closure.Retention{Texts: map[string]string{}}}
	c.checkPairs(f, versions)
	for i := range f.pairs {
		if len(c.found) > 0 {
			break
		}
		c.pair(&f.pairs[i], versions)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(c.found) > 0 {
		return nil, c.found, nil
	}
	c.lookElsewhere()
	c.set.size = c.retained.Size
	return c.set, nil, nil
}

type compiler struct {
	ctx    context.Context
	memory *celcheck.Memory
	set    *Set
	found  []violation.Violation
	texts  map[string]bool // of found

	retained closure.Retention
	pairings []*pairing // those that are compiled
}

// add adds a violation, unless the other direction has it already.
func (c *compiler) add(at value.Path, err *field.Error) {
	v := violationAt(at, err)
	if text := v.Error.Error(); len(c.found) < maxViolations && !c.texts[text] {
		c.texts[text] = true
		c.found = append(c.found, v)
	}
}

// maxViolations bounds the violations of a file: more do not help to correct it.
const maxViolations = 100

func (c *compiler) invalid(at value.Path, bad any, format string, args ...any) {
	c.add(at, field.Invalid(nil, bad, fmt.Sprintf(format, args...)))
}

// plan compiles the schema of values that conversions validate.
func (c *compiler) plan(s *schema.Props, at value.Path) *plan.Plan {
	p, err := plan.Compile(s, plan.Options{Context: c.ctx})
	if err != nil {
		c.invalid(at, "", "%v", err)
		return nil
	}
	c.retained.Size += p.Size()
	return p
}

// checkPairs checks that every version is in a pair, and that all pairs have the hub if there are several.
func (c *compiler) checkPairs(f *File, versions []Version) {
	var names []string
	for _, v := range versions {
		names = append(names, v.Name)
	}
	if f.Hub != "" && !slices.Contains(names, f.Hub) {
		c.invalid(value.Path{value.Name("hub")}, f.Hub, "is not a version of the CRD, which has %s", strings.Join(names, ", "))
		return
	}
	if len(f.pairs) > 1 && f.Hub == "" {
		c.add(value.Path{value.Name("hub")}, field.Required(nil, "name the version that all pairs contain"))
		return
	}
	paired := map[string]bool{}
	for _, p := range f.pairs {
		for _, name := range p.between {
			switch {
			case !slices.Contains(names, name):
				c.invalid(p.at, name, "is not a version of the CRD, which has %s", strings.Join(names, ", "))
			case paired[name] && name != f.Hub:
				c.invalid(p.at, name, "is in another pair: only the hub may be in several")
			}
		}
		if len(f.pairs) > 1 && !slices.Contains(p.between[:], f.Hub) {
			c.invalid(p.at, strings.Join(p.between[:], ", "), "the pair must contain the hub %s", f.Hub)
		}
		paired[p.between[0]], paired[p.between[1]] = true, true
	}
	for _, name := range names {
		if !paired[name] && len(c.found) == 0 {
			c.add(value.Path{value.Name(either(len(f.pairs) > 1, "conversions", "between"))}, field.Required(nil, fmt.Sprintf(
				"version %s of the CRD has no rules: add a pair of it and the hub under conversions", name)))
		}
	}
}

// side is one of the two versions of a pair.
type side struct {
	Version
	// named has the paths that rules name in this version, and that expressions read.
	named *named
	scope *celcheck.Scope
}

// pairing compiles one pair.
type pairing struct {
	*compiler
	*pair
	sides [2]side
	rules []*compiledRule
	equal *compiledRule
}

// compiledRule collects what is found about a rule in both directions.
type compiledRule struct {
	*ruleText
	sides         []int // of stash and drop: the versions that have the path
	class         Class
	preconditions []string
	writes        []*expression
	stash         *stash
	list          int // the version that has the list of a list rule
}

func (r *compiledRule) String() string {
	if r.index < 0 {
		return "fields that both versions have"
	}
	return fmt.Sprintf("rules[%d] (%s)", r.index, r.kind)
}

func (r *compiledRule) require(text string) {
	if r.class == ISO {
		r.class = Lens
	}
	if !slices.Contains(r.preconditions, text) {
		r.preconditions = append(r.preconditions, text)
	}
}

func (c *compiler) pair(p *pair, versions []Version) {
	b := &pairing{compiler: c, pair: p, equal: &compiledRule{ruleText: &ruleText{kind: Equal, index: -1, at: p.at}, class: ISO}}
	for s, name := range p.between {
		v := versions[slices.IndexFunc(versions, func(v Version) bool { return v.Name == name })]
		b.sides[s] = side{v, &named{}, c.memory.Root(v.Schema)}
	}
	for i := range p.rules {
		r := &compiledRule{ruleText: &p.rules[i], class: ISO}
		b.name(r)
		b.rules = append(b.rules, r)
	}
	for _, r := range b.rules {
		b.checkNames(r)
	}
	if b.checkStashes(); len(c.found) > 0 {
		return
	}
	for _, r := range b.rules {
		b.compileExpressions(r)
	}
	if len(c.found) > 0 || c.ctx.Err() != nil {
		return
	}
	for from := range b.sides {
		between := [2]string{p.between[from], p.between[1-from]}
		c.set.programs[between], c.set.except[between] = b.program(from), p.except
	}
	c.pairings = append(c.pairings, b)
	for _, r := range append([]*compiledRule{b.equal}, b.rules...) {
		c.set.rules = append(c.set.rules, Rule{
			Between: p.between, Index: r.index, Kind: r.kind, Text: r.text(), Class: r.class, Preconditions: r.preconditions,
		})
	}
}

// text shows the paths of a rule.
func (r *compiledRule) text() string {
	switch r.kind {
	case Equal:
		return r.String()
	case Stash, Drop:
		return r.from.String()
	case CEL:
		back := make([]string, 0, len(r.back))
		for _, b := range r.back {
			back = append(back, b.to.String())
		}
		if len(back) == 0 {
			return r.to.String()
		}
		return strings.Join(back, ", ") + " <-> " + r.to.String()
	}
	return r.from.String() + " <-> " + r.to.String()
}

// named is a tree of the paths that rules name.
type named struct {
	below map[string]*named
	// mapped, stashed, dropped and written are the rules that name this path: one at most, but a written path can be
	// dropped as well. other is the path of a mapped one in the other version.
	mapped, stashed, dropped, written *compiledRule
	other                             path
	key                               *compiledRule // the list rule whose key it is
	read                              bool          // an expression reads it to convert away from this version
}

func (n *named) child(name string) *named {
	if n == nil {
		return nil
	}
	return n.below[name]
}

// at returns the node of a path and makes it if needed.
func (n *named) at(p path) *named {
	for _, name := range p {
		if n.below == nil {
			n.below = map[string]*named{}
		}
		if n.below[name] == nil {
			n.below[name] = &named{}
		}
		n = n.below[name]
	}
	return n
}

// rule returns the rule that determines what happens to the path, nil without one.
func (n *named) rule() *compiledRule {
	if n == nil {
		return nil
	}
	return cmp.Or(n.mapped, n.stashed, n.dropped, n.written, n.key)
}

// schemaAt returns the schema of a path in a version, or adds a violation.
func (b *pairing) schemaAt(s int, p path, at value.Path) *schema.Props {
	found, known := p.resolve(b.sides[s].Schema)
	if found == nil {
		b.invalid(at, p.String(), "version %s has no such field: %s", b.sides[s].Name, b.fieldsAt(s, known))
	}
	return found
}

// fieldsAt lists the fields at a path.
func (b *pairing) fieldsAt(s int, p path) string {
	of, _ := p.resolve(b.sides[s].Schema)
	where := either(len(p) == 0, "the object", p.String())
	switch names := schema.Names(of.Properties); {
	case of.Type == "array":
		return where + " is a list: write [*] for its items"
	case schema.ValueSchema(of) != nil:
		return where + " is a map: write [*] for its values"
	case len(names) > 20:
		return fmt.Sprintf("%s has %s and %d others", where, strings.Join(names[:20], ", "), len(names)-20)
	case len(names) > 0:
		return where + " has " + strings.Join(names, ", ")
	}
	return where + " has no fields"
}

// name resolves the paths of a rule and records them.
func (b *pairing) name(r *compiledRule) {
	before := len(b.found)
	switch r.kind {
	case Move:
		b.schemaAt(0, r.from, r.at)
		b.schemaAt(1, r.to, r.at)
		b.fields(r, r.from, r.to)
	case Values:
		b.nameValues(r)
	case List:
		b.nameList(r)
	case Stash, Drop:
		for s := range b.sides {
			if found, _ := r.from.resolve(b.sides[s].Schema); found != nil {
				r.sides = append(r.sides, s)
			}
		}
		switch {
		case len(r.sides) == 0:
			_, known := r.from.resolve(b.sides[0].Schema)
			b.invalid(r.at, r.from.String(), "neither version has this field: in %s, %s",
				b.sides[0].Name, b.fieldsAt(0, known))
		case len(r.sides) == 2 && r.kind == Stash:
			b.invalid(r.at, r.from.String(), "both versions have this field, so it needs no rule")
		}
		b.fields(r, r.from)
	case CEL:
		b.nameExpressions(r)
	}
	if len(b.found) > before {
		return
	}
	switch r.kind {
	case Move, Values, List:
		b.record(0, r.from, r, func(n *named) **compiledRule { n.other = r.to; return &n.mapped })
		b.record(1, r.to, r, func(n *named) **compiledRule { n.other = r.from; return &n.mapped })
	case Stash:
		b.nameStash(r)
		b.record(r.sides[0], r.from, r, func(n *named) **compiledRule { return &n.stashed })
	case Drop:
		for _, s := range r.sides {
			b.record(s, r.from, r, func(n *named) **compiledRule { return &n.dropped })
			r.require(fmt.Sprintf("%s of %s is lost", r.from, b.sides[s].Name))
		}
	case CEL:
		r.class = Tested
		for _, x := range r.writes {
			b.record(x.side, x.to, r, func(n *named) **compiledRule { return &n.written })
		}
	}
}

// fields checks that paths lead to fields and not to the items of a list.
func (b *pairing) fields(r *compiledRule, paths ...path) {
	for _, p := range paths {
		if len(p) > 0 && p[len(p)-1] == each {
			b.invalid(r.at, p.String(), "must lead to a field: name the list or map itself, or a field of its items")
		}
	}
}

// record enters a rule at a path of a version.
func (b *pairing) record(s int, p path, r *compiledRule, slot func(*named) **compiledRule) {
	n := b.sides[s].named.at(p)
	other := n.rule()
	both := other != nil && (other.kind == CEL && r.kind == Drop || other.kind == Drop && r.kind == CEL)
	if other != nil && !both {
		b.invalid(r.at, p.String(), "%v names this field of %s, too: a field has one rule", other, b.sides[s].Name)
		return
	}
	*slot(n) = r
}

// checkNames checks that no rule is below a path that another rule removes or writes as a whole.
func (b *pairing) checkNames(r *compiledRule) {
	for s := range b.sides {
		b.sides[s].named.walk(nil, func(p path, n *named) {
			if n.rule() != r {
				return
			}
			above := b.sides[s].named
			for i, name := range p {
				if i > 0 && (above.stashed != nil || above.dropped != nil || above.written != nil) {
					b.invalid(r.at, p.String(), "%v already says what happens to all of %s", above.rule(), p[:i])
					return
				}
				above = above.below[name]
			}
		})
	}
}

// walk calls visit for the nodes below n, sorted by path.
func (n *named) walk(p path, visit func(path, *named)) {
	for _, name := range slices.Sorted(maps.Keys(n.below)) {
		visit(p.with(name), n.below[name])
		n.below[name].walk(p.with(name), visit)
	}
}
