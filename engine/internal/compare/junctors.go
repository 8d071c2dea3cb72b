package compare

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/internal/value"
)

// junctors compares allOf, anyOf, oneOf and not. Updates forgive nothing that these find.
func (w *walk) junctors(old, new *Props, at place) {
	w.clauses("allOf", clausesOf(old.AllOf, old), clausesOf(new.AllOf, new), at)
	w.clauses("anyOf", plainAnyOf(old), plainAnyOf(new), at)
	w.clauses("oneOf", old.OneOf, new.OneOf, at)
	f := found{at: at.at("not")}
	switch p := (&proof{fuel: mostSteps}); {
	case old.Not == nil && new.Not == nil:
		return
	case old.Not == nil:
		f.kind, f.impact, f.new, f.message = JunctorTightened, refused, new.Not, "values that satisfy it are refused"
	case new.Not == nil:
		f.kind, f.old, f.message = JunctorLoosened, old.Not, "there is no not any more"
	case text(old.Not) == text(new.Not):
		return
	case p.implies(new.Not, old.Not):
		f.kind, f.old, f.new, f.message = JunctorLoosened, old.Not, new.Not, "fewer values are refused than before"
	default:
		f.kind, f.impact, f.old, f.new, f.message = JunctorChanged, unsure, old.Not, new.Not, "whether it refuses more than before, objects have to show"
	}
	w.tell(f)
}

var (
	refused = Impact{Stored: Breaking, Writers: Breaking}
	unsure  = Impact{Stored: Care, Writers: Care}
)

// plainAnyOf is the anyOf of a schema, without that which every int-or-string has, written down or not.
func plainAnyOf(s *Props) []Props {
	if s.XIntOrString && isIntOrString(s.AnyOf) {
		return nil
	}
	return s.AnyOf
}

// clausesOf is an allOf, likewise.
func clausesOf(list []Props, s *Props) []Props {
	if !s.XIntOrString || len(list) == 0 || !isIntOrString(list[0].AnyOf) {
		return list
	}
	first := list[0]
	first.AnyOf = nil
	return append([]Props{first}, list[1:]...)
}

func isIntOrString(anyOf []Props) bool {
	return len(anyOf) == 2 && text(&anyOf[0]) == `{"type":"integer"}` && text(&anyOf[1]) == `{"type":"string"}`
}

// text is a schema as JSON, keys in the order of the type's fields and of the alphabet.
func text(s *Props) string {
	t, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(t)
}

// clauses compares the lists of one junctor.
func (w *walk) clauses(keyword string, old, new []Props, at place) {
	gone, come := apart(old, new)
	if len(gone) == 0 && len(come) == 0 {
		return
	}
	f := found{at: at.at(keyword)}
	if len(old) > 0 {
		f.old = old
	}
	if len(new) > 0 {
		f.new = new
	}
	p := &proof{fuel: mostSteps}
	var looser, tighter bool
	switch keyword {
	case "allOf":
		looser = p.each(come, func(n *Props) bool {
			return p.implies(&Props{}, n) || p.some(old, func(o *Props) bool { return p.implies(o, n) })
		})
		tighter = len(gone) == 0
	case "anyOf":
		looser = len(new) == 0 || len(old) > 0 && p.each(gone, func(o *Props) bool { return p.some(new, func(n *Props) bool { return p.implies(o, n) }) })
		tighter = len(old) == 0 || len(come) == 0
	default:
		looser = len(new) == 0
		tighter = len(old) == 0 || len(come) == 0
	}
	switch {
	case looser && len(new) == 0:
		f.kind, f.message = JunctorLoosened, "there is no "+keyword+" any more"
	case looser:
		f.kind, f.impact, f.message = JunctorLoosened, Impact{Readers: Care}, "every value that passed passes, and others do: readers find them"
	case tighter:
		f.kind, f.impact, f.message = JunctorTightened, refused, "values that passed are refused, also on updates that leave them as they are"
	default:
		f.kind, f.impact, f.message = JunctorChanged, unsure, "whether it refuses more than before, objects have to show"
	}
	if len(come) == 1 && len(gone) <= 1 {
		f.at = f.at.With(value.At(come[0].at))
	}
	w.tell(f)
}

// clause is one of a junctor, and where it stands.
type clause struct {
	*Props
	at int
}

// apart returns what is in one of two lists only, as often as it is there more often.
func apart(old, new []Props) (gone, come []clause) {
	count := make(map[string]int, len(old))
	for i := range old {
		count[text(&old[i])]++
	}
	for i := range new {
		if t := text(&new[i]); count[t] > 0 {
			count[t]--
		} else {
			come = append(come, clause{&new[i], i})
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		if t := text(&old[i]); count[t] > 0 {
			count[t]--
			gone = append(gone, clause{&old[i], i})
		}
	}
	slices.Reverse(gone)
	return gone, come
}

// mostSteps is how many pairs of clauses a proof looks at before it gives up.
const mostSteps = 4096

// proof looks whether every value that satisfies one clause satisfies another. It says so only where that is certain.
type proof struct{ fuel int }

func (p *proof) each(list []clause, holds func(*Props) bool) bool {
	return !slices.ContainsFunc(list, func(c clause) bool { return !holds(c.Props) })
}

func (p *proof) some(list []Props, holds func(*Props) bool) bool {
	for i := range list {
		if holds(&list[i]) {
			return true
		}
	}
	return false
}

func (p *proof) implies(o, n *Props) bool {
	if p.fuel--; p.fuel < 0 || n == nil || o == nil {
		return p.fuel >= 0 && n == nil
	}
	return p.scalar(o, n) && p.parts(o, n) && p.nested(o, n)
}

// scalar looks at what is said of the value itself.
func (p *proof) scalar(o, n *Props) bool {
	most := func(o, n *int64) bool { return n == nil || o != nil && *o <= *n }
	least := func(o, n *int64) bool { return n == nil || *n <= 0 || o != nil && *o >= *n }
	return (n.Type == "" && n.Format == "" || n.Type == o.Type && n.Format == o.Format && n.Nullable == o.Nullable) &&
		!n.XIntOrString && !n.XEmbeddedResource && len(n.XValidations) == 0 && !n.UniqueItems &&
		most(o.MaxLength, n.MaxLength) && least(o.MinLength, n.MinLength) && most(o.MaxItems, n.MaxItems) && least(o.MinItems, n.MinItems) &&
		most(o.MaxProperties, n.MaxProperties) && least(o.MinProperties, n.MinProperties) &&
		looseMaximum(o.Maximum, o.ExclusiveMaximum, n.Maximum, n.ExclusiveMaximum) && looseMinimum(o.Minimum, o.ExclusiveMinimum, n.Minimum, n.ExclusiveMinimum) &&
		looseMultiple(o.MultipleOf, n.MultipleOf) && (n.Pattern == "" || n.Pattern == o.Pattern) &&
		(len(n.Enum) == 0 || len(o.Enum) > 0 && contains(n.Enum, o.Enum))
}

// parts looks at what is said of members and elements.
func (p *proof) parts(o, n *Props) bool {
	for _, name := range n.Required {
		if !demands(o, name) {
			return false
		}
	}
	for name := range n.Properties {
		above, below := o.Properties[name], n.Properties[name]
		if !p.implies(&above, &below) {
			return false
		}
	}
	if n.AdditionalProperties != nil && fmt.Sprint(shownText(n.AdditionalProperties)) != fmt.Sprint(shownText(o.AdditionalProperties)) {
		return false
	}
	if n.Items == nil || n.Items.Schema == nil {
		return true
	}
	above := &Props{}
	if o.Items != nil && o.Items.Schema != nil {
		above = o.Items.Schema
	}
	return p.implies(above, n.Items.Schema)
}

func shownText(v any) string {
	t, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(t)
}

// nested looks at junctors within.
func (p *proof) nested(o, n *Props) bool {
	for i := range n.AllOf {
		c := &n.AllOf[i]
		if !p.implies(o, c) && !p.some(o.AllOf, func(part *Props) bool { return p.implies(part, c) }) {
			return false
		}
	}
	if len(n.AnyOf) > 0 && !p.some(n.AnyOf, func(c *Props) bool { return p.implies(o, c) }) {
		gone, _ := apart(o.AnyOf, n.AnyOf)
		if len(o.AnyOf) == 0 || !p.each(gone, func(a *Props) bool { return p.some(n.AnyOf, func(c *Props) bool { return p.implies(a, c) }) }) {
			return false
		}
	}
	if gone, come := apart(o.OneOf, n.OneOf); len(n.OneOf) > 0 && len(gone)+len(come) > 0 {
		return false
	}
	return n.Not == nil || o.Not != nil && (text(o.Not) == text(n.Not) || p.implies(n.Not, o.Not))
}
