package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

type rule = apiextensionsv1.ValidationRule

var (
	literals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	oldSelf  = regexp.MustCompile(`\boldSelf\b`)
)

// IsTransition reports whether a rule uses oldSelf.
func IsTransition(r *rule) bool {
	return oldSelf.MatchString(r.Rule) && oldSelf.MatchString(literals.ReplaceAllString(r.Rule, `""`))
}

// WritesFor returns the kinds of writes that can violate a rule, in the order to try: false for creations, true for
// updates.
func WritesFor(r *rule) (updates []bool) {
	switch {
	case !IsTransition(r):
		return []bool{false}
	case optional(r):
		return []bool{false, true}
	}
	return []bool{true}
}

func optional(r *rule) bool { return r.OptionalOldSelf != nil && *r.OptionalOldSelf }

// rules compares x-kubernetes-validations.
func (w *walk) rules(old, new *Props, at node) {
	keyword := at.at("x-kubernetes-validations")
	partners, taken := pairRules(old.XValidations, new.XValidations)
	for j := range taken {
		if o := &old.XValidations[j]; !taken[j] {
			impact := harmless
			if IsTransition(o) {
				impact = careForReaders
			}
			w.reportMoved("RuleRemoved", impact, keyword.With(tree.At(j)), keyword, o, nil,
				"no longer checked: %s", truncated(o.Rule))
		}
	}
	for i, j := range partners {
		n, newAt := &new.XValidations[i], keyword.With(tree.At(i))
		if j < 0 {
			w.ruleAdded(n, at, keyword, newAt)
		} else {
			w.rulePair(&old.XValidations[j], n, keyword.With(tree.At(j)), newAt)
		}
	}
}

// pairRules returns the index of the old rule for each new one, -1 for none, and which old rules have a new one. Equal
// rules are the same rule. Of the others, two with the same message, or the only two, are one rule that was changed.
func pairRules(old, new []rule) (partners []int, taken []bool) {
	partners, taken = make([]int, len(new)), make([]bool, len(old))
	byKey := make(map[string][]int, len(old))
	for j := range old {
		key := normalRule(old[j].Rule)
		byKey[key] = append(byKey[key], j)
	}
	var unpaired, untaken []int
	for i := range new {
		partners[i] = -1
		list := byKey[normalRule(new[i].Rule)]
		if len(list) == 0 {
			unpaired = append(unpaired, i)
			continue
		}
		partners[i] = list[0]
		for _, j := range list {
			taken[j] = true
			if errorFieldsChanged(&old[j], &new[i]) == nil && optional(&old[j]) == optional(&new[i]) {
				partners[i] = j
			}
		}
	}
	for j := range old {
		if !taken[j] {
			untaken = append(untaken, j)
		}
	}
	const few = 64 // pairing the others takes quadratic time
	if len(unpaired) > few || len(untaken) > few {
		return partners, taken
	}
	pairIf := func(fits func(o, n *rule) bool) {
		for _, i := range unpaired {
			for _, j := range untaken {
				if partners[i] < 0 && !taken[j] && fits(&old[j], &new[i]) {
					partners[i], taken[j] = j, true
				}
			}
		}
	}
	pairIf(func(o, n *rule) bool {
		return o.Message == n.Message && o.MessageExpression == n.MessageExpression && o.Message+o.MessageExpression != ""
	})
	unpaired = slices.DeleteFunc(unpaired, func(i int) bool { return partners[i] >= 0 })
	untaken = slices.DeleteFunc(untaken, func(j int) bool { return taken[j] })
	if len(unpaired) == 1 && len(untaken) == 1 {
		pairIf(func(*rule, *rule) bool { return true })
	}
	return partners, taken
}

func (w *walk) ruleAdded(n *rule, at node, oldAt, newAt tree.Path) {
	impact := at.tightened()
	var message string
	switch {
	case optional(n):
		impact.Stored = NeedsCare
		message = "objects that violate it are rejected, also by updates that do not change them, unless the rule allows that"
	case IsTransition(n):
		impact.Stored = NeedsCare
		message = "updates that violate it are rejected"
	case at.root:
		message = "objects that violate it are rejected, also by updates that do not change the violation"
	default:
		message = "values that violate it are rejected when they change"
	}
	w.reportMoved("RuleAdded", impact, oldAt, newAt, nil, n, "%s: %s", message, truncated(n.Rule))
}

func (w *walk) rulePair(o, n *rule, oldAt, newAt tree.Path) {
	kind, impact := "RuleChanged", careForWrites
	var message string
	switch {
	case normalRule(o.Rule) != normalRule(n.Rule):
		message = undecided + ": " + truncated(n.Rule)
	case optional(n) && !optional(o):
		message = "it runs on creates, too, and is not ratcheted: " + truncated(n.Rule)
	case optional(o) && !optional(n):
		message = "it runs only if there is an old value: " + truncated(n.Rule)
	default:
		fields := errorFieldsChanged(o, n)
		if len(fields) == 0 {
			return
		}
		kind, impact, message = "RuleMessageChanged", harmless, "the same rule has another "+strings.Join(fields, ", ")
	}
	w.reportMoved(kind, impact, oldAt, newAt, o, n, "%s", message)
}

// errorFieldsChanged returns the fields about the error of a rule that differ, with their new values.
func errorFieldsChanged(o, n *rule) (fields []string) {
	text := func(field, before, after string) {
		switch {
		case before == after:
		case after == "":
			fields = append(fields, field+" (none)")
		default:
			fields = append(fields, fmt.Sprintf("%s (%q)", field, truncated(after)))
		}
	}
	text("message", o.Message, n.Message)
	text("messageExpression", o.MessageExpression, n.MessageExpression)
	text("reason", string(reason(o)), string(reason(n)))
	text("fieldPath", o.FieldPath, n.FieldPath)
	return fields
}

func reason(r *rule) apiextensionsv1.FieldValueErrorReason {
	if r.Reason == nil {
		return apiextensionsv1.FieldValueInvalid
	}
	return *r.Reason
}
