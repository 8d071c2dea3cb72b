package lens

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Compile checks a file against the versions of its CRD and compiles it. The paths of violations are paths in the
// file. The Set is nil if there are violations. The error is that of the context.
func Compile(ctx context.Context, f *File, versions []Version, shared *celcheck.Shared) (
	*Set, []violation.Violation, error) {
	c := &compiler{ctx: ctx, shared: shared, set: &Set{
		hub: f.Hub, conversions: map[[2]string]*conversion{}, except: map[[2]string][]Law{},
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
	shared *celcheck.Shared
	set    *Set
	findings

	retained closure.Retention
	pairings []*pairing // those that are compiled
}

// plan compiles the schema of values that conversions validate.
func (c *compiler) plan(s *schema.Props, at tree.Path) *plan.Plan {
	p, err := plan.Compile(s, plan.Options{Context: c.ctx})
	if err != nil {
		c.invalid(at, "", "%v", err)
		return nil
	}
	c.retained.Size += p.Size()
	return p
}

// checkPairs checks that each version is in a pair, and that each of several pairs contains the hub.
func (c *compiler) checkPairs(f *File, versions []Version) {
	var names []string
	for _, v := range versions {
		names = append(names, v.Name)
	}
	if f.Hub != "" && !slices.Contains(names, f.Hub) {
		c.invalid(tree.Path{tree.Name("hub")}, f.Hub, "is not a version of the CRD, which has %s", strings.Join(names, ", "))
		return
	}
	if len(f.pairs) > 1 && f.Hub == "" {
		c.add(tree.Path{tree.Name("hub")}, field.Required(nil, "name the version that all pairs contain"))
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
			c.add(tree.Path{tree.Name(either(len(f.pairs) > 1, "conversions", "between"))}, field.Required(nil, fmt.Sprintf(
				"version %s of the CRD has no rules: add a pair of it and the hub under conversions", name)))
		}
	}
}

// side is one of the two versions of a pair.
type side struct {
	Version
	// named has the paths in this version that rules name or expressions read.
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

// compiledRule is a rule with the results of compiling it in both directions.
type compiledRule struct {
	*ruleText
	sides         []int // of stash and drop: the versions that have the path
	class         Class
	preconditions []string
	writes        []*expression
	stash         *stash
	list          int         // the version that has the list of a list rule
	carries       bool        // fields
	emptied       [2][]string // by version, the objects that are lost if they are empty
}

func (r *compiledRule) String() string {
	if r.index < 0 {
		return "fields that both versions have"
	}
	return fmt.Sprintf("%s (%s)", r.at.Dotted(), r.kind)
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
		b.sides[s] = side{v, &named{}, c.shared.Root(v.Schema)}
	}
	for i := range p.rules {
		r := &compiledRule{ruleText: &p.rules[i], class: ISO}
		b.name(r)
		b.rules = append(b.rules, r)
	}
	b.checkNames()
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
		c.set.conversions[between], c.set.except[between] = b.conversion(from), p.except
	}
	c.pairings = append(c.pairings, b)
	for _, r := range append([]*compiledRule{b.equal}, b.rules...) {
		for s, lost := range r.emptied {
			if len(lost) > 0 {
				r.require(fmt.Sprintf("lost if empty in %s: %s", b.sides[s].Name, strings.Join(lost, ", ")))
			}
		}
		if r.kind == Equal && !r.carries && len(r.preconditions) == 0 {
			continue // the versions have no common fields
		}
		c.set.rules = append(c.set.rules, Rule{
			Between: p.between, Index: r.index, Kind: r.kind, Text: r.text(), Class: r.class, Preconditions: r.preconditions,
			compiled: r,
		})
	}
}

// text returns the paths of a rule as text.
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
