package compare

import (
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/internal/value"
)

type rule = apiextensionsv1.ValidationRule

var (
	literals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	oldSelf  = regexp.MustCompile(`\boldSelf\b`)
)

// compares reports whether a rule looks at the old value, so that it runs on updates alone, unless it says optionalOldSelf.
func compares(r *rule) bool {
	return oldSelf.MatchString(r.Rule) && oldSelf.MatchString(literals.ReplaceAllString(r.Rule, `""`))
}

func optional(r *rule) bool { return r.OptionalOldSelf != nil && *r.OptionalOldSelf }

// rules compares x-kubernetes-validations. Rules are the same if their texts are; of those left, two with one message, or the only two, are
// one that was changed.
func (w *walk) rules(old, new *Props, at place) {
	keyword := at.at("x-kubernetes-validations")
	partner := make([]int, len(new.XValidations)) // of each new one, from 1
	taken := make([]bool, len(old.XValidations))
	pair := func(fits func(o, n *rule) bool) {
		for i := range new.XValidations {
			for j := 0; partner[i] == 0 && j < len(taken); j++ {
				if !taken[j] && fits(&old.XValidations[j], &new.XValidations[i]) {
					partner[i], taken[j] = j+1, true
				}
			}
		}
	}
	w.sameTexts(old.XValidations, new.XValidations, partner, taken)
	const few = 64 // beyond, nobody looks for rules that were rewritten
	if len(taken) <= few && len(partner) <= few {
		pair(func(o, n *rule) bool {
			return o.Message == n.Message && o.MessageExpression == n.MessageExpression && o.Message+o.MessageExpression != ""
		})
		if left(partner) == 1 && leftOver(taken) == 1 {
			pair(func(*rule, *rule) bool { return true })
		}
	}
	for j := range taken {
		if !taken[j] {
			o := &old.XValidations[j]
			f := found{kind: RuleRemoved, at: keyword, oldAt: keyword.With(value.At(j)), old: o, message: "not asked any more: " + brief(o.Rule)}
			if compares(o) {
				f.impact.Readers = Care
			}
			w.tell(f)
		}
	}
	for i := range partner {
		n := &new.XValidations[i]
		if partner[i] == 0 {
			w.ruleAdded(n, at, keyword.With(value.At(i)), keyword)
			continue
		}
		w.rulePair(&old.XValidations[partner[i]-1], n, keyword.With(value.At(i)), keyword.With(value.At(partner[i]-1)))
	}
}

// sameTexts pairs rules whose texts are equal, in their order.
func (w *walk) sameTexts(old, new []rule, partner []int, taken []bool) {
	known := make(map[string][]int, len(old))
	for j := range old {
		known[old[j].Rule] = append(known[old[j].Rule], j)
	}
	for i := range new {
		if list := known[new[i].Rule]; len(list) > 0 {
			partner[i], taken[list[0]] = list[0]+1, true
			known[new[i].Rule] = list[1:]
		}
	}
}

func left(partner []int) (n int) {
	for _, p := range partner {
		if p == 0 {
			n++
		}
	}
	return n
}

func leftOver(taken []bool) int {
	return len(taken) - len(slices.DeleteFunc(slices.Clone(taken), func(t bool) bool { return !t }))
}

func (w *walk) ruleAdded(n *rule, at place, newAt, oldAt value.Path) {
	f := found{kind: RuleAdded, impact: at.tightened(), at: newAt, oldAt: oldAt, new: n}
	switch {
	case compares(n) && !optional(n):
		f.impact.Stored = Care
		f.message = "updates that break it are refused: " + brief(n.Rule)
	case optional(n):
		f.impact.Stored = Care
		f.message = "objects that break it are refused, also on updates that do not touch them, unless the rule itself forgives that: " + brief(n.Rule)
	case at.root:
		f.message = "objects that break it are refused, also on updates that do not touch what breaks it: " + brief(n.Rule)
	default:
		f.message = "values that break it are refused, once they change: " + brief(n.Rule)
	}
	w.tell(f)
}

func (w *walk) rulePair(o, n *rule, newAt, oldAt value.Path) {
	f := found{kind: RuleChanged, at: newAt, oldAt: oldAt, old: o, new: n}
	switch {
	case o.Rule != n.Rule:
		f.impact, f.message = Impact{Stored: Care, Writers: Care}, "whether it asks for more than before, objects have to show: "+brief(n.Rule)
	case optional(o) != optional(n):
		f.impact = Impact{Stored: Care, Writers: Care}
		f.message = "it runs on creates, too, and updates do not forgive it: " + brief(n.Rule)
		if optional(o) {
			f.message = "it runs where there is an old value alone: " + brief(n.Rule)
		}
	case o.Message != n.Message, o.MessageExpression != n.MessageExpression:
		f.kind, f.message = RuleMessageChanged, "the rule is the same"
	case !sameReason(o, n), o.FieldPath != n.FieldPath:
		f.kind, f.message = RuleMessageChanged, "the rule is the same, its findings have another reason or field"
	default:
		return
	}
	w.tell(f)
}

func sameReason(o, n *rule) bool {
	reason := func(r *rule) apiextensionsv1.FieldValueErrorReason {
		if r.Reason == nil {
			return apiextensionsv1.FieldValueInvalid
		}
		return *r.Reason
	}
	return reason(o) == reason(n)
}
