package compare

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// A constraint holds for all values that satisfy some parts if no value satisfies the parts and the negation of the
// constraint. The search for such a value splits the parts at their logical operators, until the facts of each branch
// say that it has no value, or until one branch cannot be excluded.

// branch is a node of the search.
type branch struct {
	list parts
	done []operatorSet // of each part: the operators that other parts of the branch replace
}

// operatorSet is a set of anyOf, oneOf and not.
type operatorSet uint8

const (
	hasNot operatorSet = 1 << iota
	hasAnyOf
	hasOneOf
)

func branchOf(list parts) branch { return branch{list, make([]operatorSet, len(list))} }

// with adds a part.
func (b branch) with(p part) branch {
	list := b.list.with(p)
	return branch{list, append(b.done[:len(b.done):len(b.done)], make([]operatorSet, len(list)-len(b.done))...)}
}

// split is the operator of a part at which a branch is split.
type split struct {
	index    int
	operator operatorSet
}

// next returns the operator with the fewest alternatives. found is false if no operator is left.
func (b *branch) next() (best split, found bool) {
	fewest := 0
	for i := len(b.list) - 1; i >= 0; i-- {
		p := &b.list[i]
		for _, o := range [...]operatorSet{hasNot, hasAnyOf, hasOneOf} {
			if b.done[i]&o != 0 {
				continue
			}
			n := p.alternativesOf(o)
			if n < 0 || found && n >= fewest {
				continue
			}
			if best, found, fewest = (split{i, o}), true, n; n <= 1 {
				return best, true
			}
		}
	}
	return best, found
}

// mostPairs bounds the clauses of a oneOf whose negation is split: each two clauses make an alternative.
const mostPairs = 16

// alternativesOf returns the approximate number of the alternatives of an operator of a part, -1 if it has none or
// cannot be split.
func (p *part) alternativesOf(o operatorSet) int {
	switch {
	case o == hasNot && p.Not != nil && isPlain(p.Not) && len(p.Not.OneOf) <= mostPairs:
		return constraintsOf(p.Not)
	case o == hasAnyOf && len(p.AnyOf) > 0:
		if clauses := anyOf(p.Props); len(clauses) > 1 {
			return len(clauses)
		}
	case o == hasOneOf && len(p.OneOf) > 1:
		return len(p.OneOf)
	}
	return -1
}

// alternatives returns parts of which each value that satisfies an operator satisfies at least one.
func (p *proof) alternatives(of *part, o operatorSet) (all []part) {
	add := func(s Props) { all = append(all, part{Props: &s, clause: true, skipsNull: true}) }
	switch o {
	case hasNot:
		return p.negations(of.Not)
	case hasAnyOf:
		for _, clause := range anyOf(of.Props) {
			add(Props{AllOf: []Props{clause}})
		}
	default:
		for i := range of.OneOf {
			one := []Props{of.OneOf[i]}
			for k := range of.OneOf {
				if k != i {
					one = append(one, Props{Not: &of.OneOf[k]})
				}
			}
			add(Props{AllOf: one})
		}
	}
	return all
}

// search calls leaf for each branch that may have values, until leaf returns false. It reports whether it has visited
// all of them.
func (p *proof) search(b branch, leaf func(*facts) bool) bool {
	if !p.spend(b.list) {
		return false
	}
	f := p.factsOf(b.list)
	if f.nullable {
		if !leaf(&facts{parts: b.list, text: f.text, null: true, exact: true, finite: true, values: []string{"null"}}) {
			return false
		}
		b = b.with(part{Props: &Props{}, kinds: anything})
	}
	for {
		s, found := b.next()
		if !found {
			break
		}
		all := p.alternatives(&b.list[s.index], s.operator)
		b.done = slices.Clone(b.done)
		b.done[s.index] |= s.operator
		if len(all) == 1 {
			if b = b.with(all[0]); len(b.list)%16 == 0 && !p.spend(b.list) {
				return false
			}
			continue
		}
		return p.isImpossible(p.factsOf(b.list)) || p.each(b, all, leaf)
	}
	if f = p.factsOf(b.list); p.isImpossible(f) {
		return true
	}
	if f.finite && len(f.values) <= mostValues && !b.list.isExact() {
		var all []part
		for _, v := range f.values {
			all = append(all, part{Props: exactly(v), exact: true})
		}
		return p.each(b, all, leaf)
	}
	if f.kinds == fractions && !b.list.isExact() {
		if all := f.intervals(p); all != nil {
			return p.each(b, all, leaf)
		}
	}
	if f.kinds&(f.kinds-1) != 0 && !f.null {
		var all []part
		for k := booleans; k <= objects; k <<= 1 {
			if f.kinds&k != 0 {
				all = append(all, part{Props: &Props{}, kinds: k})
			}
		}
		return p.each(b, all, leaf)
	}
	return p.hasNoText(f) || leaf(f)
}

// each searches a branch with each of some parts.
func (p *proof) each(b branch, all []part, leaf func(*facts) bool) bool {
	for _, alternative := range all {
		if !p.search(b.with(alternative), leaf) {
			return false
		}
	}
	return true
}

// refutes reports whether no value satisfies the parts. It is true only if that is certain.
func (p *proof) refutes(list parts) bool {
	return p.search(branchOf(list), func(*facts) bool { return false })
}

// mostCases bounds the cases of cases.
const mostCases = 256

// cases returns the facts of parts case by case. Each value that satisfies the parts belongs to a case. No case means
// that no value satisfies them.
func (p *proof) cases(list parts) (all []*facts) {
	complete := p.search(branchOf(list), func(f *facts) bool {
		all = append(all, f)
		return len(all) < mostCases
	})
	if !complete {
		return []*facts{p.factsOf(list)}
	}
	return all
}

// hasNoText reports whether only strings have the facts, and the patterns and lengths exclude all of them.
func (p *proof) hasNoText(f *facts) bool {
	if f.kinds != texts || f.isLiteral {
		return false
	}
	violated := []string{noText}
	for i := range f.parts {
		switch v := f.parts[i].violates; {
		case v == nil || v.keyword == nil:
		case v.keyword.name == "pattern":
			violated = append(violated, v.of.Pattern)
		case v.keyword.name == "enum" && len(v.of.Enum) <= mostValues:
			violated = append(violated, literalsOf(v.of.Enum))
		}
	}
	return len(f.text.Patterns) > 0 && p.within(f, pattern.Language{Patterns: []string{pattern.Any(violated)}, Most: -1})
}

// isImpossible reports whether no value has the facts. It is true only if that is certain.
func (p *proof) isImpossible(f *facts) bool {
	if f.null || f.isEmpty() {
		return !f.null
	}
	if f.finite && len(f.values) == 1 {
		only := p.factsOf(partsOf(exactly(f.values[0]), nil))
		for i := 0; i < len(f.parts) && only.exact; i++ {
			for k := range keywords {
				k, q := &keywords[k], &f.parts[i]
				if k.has(q.Props) && k.decidesOn(only, q.Props) && !k.implied(p, only, q) {
					return true
				}
			}
		}
	}
	for i := range f.parts {
		q := &f.parts[i]
		if q.violates != nil && q.violates.holds(p, f) || q.Not != nil && f.parts.says(q.Not) {
			return true
		}
		for name, below := range q.Properties {
			if q.clause && constraintsOf(&below) > 0 && f.parts.requires(name) && p.refutes(f.parts.field(name)) {
				return true
			}
		}
	}
	return false
}
