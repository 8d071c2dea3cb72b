package lens

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// named is a tree of the paths that rules name.
type named struct {
	below map[string]*named
	// mapped, stashed, dropped and written are the rules that name this path. At most one is set, but a written path
	// can also be dropped. other is the path in the other version of a mapped one.
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

// find returns the node of a path, or nil if no rule names it or a path below it.
func (n *named) find(p path) *named {
	for _, name := range p {
		n = n.child(name)
	}
	return n
}

// at returns the node of a path. It creates the node if necessary.
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

// walk calls visit for the nodes below n, sorted by path.
func (n *named) walk(p path, visit func(path, *named)) {
	for _, name := range slices.Sorted(maps.Keys(n.below)) {
		visit(p.with(name), n.below[name])
		n.below[name].walk(p.with(name), visit)
	}
}

// rule returns the rule that determines how the path is converted, or nil.
func (n *named) rule() *compiledRule {
	if n == nil {
		return nil
	}
	return cmp.Or(n.mapped, n.stashed, n.dropped, n.written, n.key)
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
			texts := make([]string, len(b.sides))
			for s := range b.sides {
				_, known := r.from.resolve(b.sides[s].Schema)
				texts[s] = fmt.Sprintf("in %s, %s", b.sides[s].Name, b.fieldsAt(s, r.from, known))
			}
			b.invalid(r.at, r.from.String(), "neither version has this field: %s", strings.Join(texts, "; "))
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
		b.record(0, r.from, r)
		b.record(1, r.to, r)
	case Stash:
		b.nameStash(r)
		b.record(r.sides[0], r.from, r)
	case Drop:
		for _, s := range r.sides {
			b.record(s, r.from, r)
			r.require(fmt.Sprintf("%s of %s is lost", r.from, b.sides[s].Name))
		}
	case CEL:
		r.class = Tested
		for _, x := range r.writes {
			b.record(x.side, x.to, r)
		}
	}
}

// fields adds a violation for each path that leads to the items of a list or map, instead of to a field.
func (b *pairing) fields(r *compiledRule, paths ...path) {
	for _, p := range paths {
		if len(p) > 0 && p[len(p)-1] == each {
			b.invalid(r.at, p.String(), "must lead to a field: name the list or map itself, or a field of its items")
		}
	}
}

// schemaAt returns the schema of a path in a version, or adds a violation.
func (b *pairing) schemaAt(s int, p path, at tree.Path) *schema.Props {
	found, known := p.resolve(b.sides[s].Schema)
	if found == nil {
		b.invalid(at, p.String(), "version %s has no such field: %s", b.sides[s].Name, b.fieldsAt(s, p, known))
	}
	return found
}

// fieldsAt lists the fields at the part of a path that a version has, and suggests a similar path.
func (b *pairing) fieldsAt(s int, p, known path) string {
	of, _ := known.resolve(b.sides[s].Schema)
	where := b.question(s, p, known) + shownPath(known)
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

// claim returns the node of a path of a version for a rule, or nil and adds a violation if another rule names the path.
func (b *pairing) claim(s int, p path, r *compiledRule) *named {
	n := b.sides[s].named.at(p)
	other := n.rule()
	if other == nil || other.kind == CEL && r.kind == Drop || other.kind == Drop && r.kind == CEL {
		return n
	}
	b.invalid(r.at, p.String(), "%v names this field of %s, too: a field has one rule", other, b.sides[s].Name)
	return nil
}

// record enters a rule at a path of a version.
func (b *pairing) record(s int, p path, r *compiledRule) {
	n := b.claim(s, p, r)
	switch {
	case n == nil:
	case r.kind == Stash:
		n.stashed = r
	case r.kind == Drop:
		n.dropped = r
	case r.kind == CEL:
		n.written = r
	default:
		n.mapped, n.other = r, either(s == 0, r.to, r.from)
	}
}

// checkNames checks that no rule is below a path that another rule removes or writes as a whole.
func (b *pairing) checkNames() {
	for s := range b.sides {
		all := b.sides[s].named
		all.walk(nil, func(p path, n *named) {
			r := n.rule()
			for i := 1; r != nil && i < len(p); i++ {
				if above := all.find(p[:i]); above.stashed != nil || above.dropped != nil || above.written != nil {
					b.invalid(r.at, p.String(), "%v already says what happens to all of %s", above.rule(), p[:i])
					return
				}
			}
		})
	}
}

// counterpart returns the path in the other version that a path of a version corresponds to. ok is false if a rule
// removes it.
func (b *pairing) counterpart(s int, p path) (other path, ok bool) {
	n, rest := b.sides[s].named, p
	other = path{}
	for i, name := range p {
		if n = n.child(name); n == nil {
			break
		}
		if r := n.rule(); r != nil {
			if n.mapped == nil {
				return nil, false
			}
			other, rest = n.other, p[i+1:]
		}
	}
	return append(slices.Clone(other), rest...), true
}

// counterpartOf returns the path of a field in the other version, or nil if that version does not have it.
func (b *pairing) counterpartOf(s int, p path) path {
	if other, ok := b.counterpart(s, p); ok {
		if found, _ := other.resolve(b.sides[1-s].Schema); found != nil {
			return other
		}
	}
	return nil
}

// counterpartAbove returns the counterpart of the nearest object above a path that has one, and the length of the path
// of this object. Without one, they are nil and 0.
func (b *pairing) counterpartAbove(s int, p path) (other path, length int) {
	for i := len(p) - 1; i > 0; i-- {
		if other := b.counterpartOf(s, p[:i]); other != nil {
			return other, i
		}
	}
	return nil, 0
}
