package definition

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/value"
)

// RuleReport describes one rule of a version.
type RuleReport struct {
	// Pointer leads to the rule from the schema of its version, RFC 6901.
	Pointer string
	// Index is its place in the list of its schema.
	Index int
	*apiextensionsv1.ValidationRule
	// Cost and MessageCost are what rule and message expression may cost for one object by estimate, Cardinality for
	// how many values the rule may run. All are 0 if it does not compile.
	Cost, MessageCost, Cardinality uint64
	UsesOldSelf                    bool
	// Culprits are the bounds that cause a high cost, the worst first. They are determined for costs of at least a
	// tenth of the limit.
	Culprits []Culprit
	// LowestMinor is the oldest minor that compiles rule and message expression, LowestBecause what an older one lacks.
	// 0 if no minor does.
	LowestMinor   int
	LowestBecause string
}

// Culprit is a bound that is too high, or that is not stated.
type Culprit struct {
	Pointer string
	Keyword string
	// Suggested is the largest value with which the rule fits, with all other suggestions followed; 0 if there is no
	// such value or none is needed.
	Suggested int64
}

// How far one looks for culprits: among so many rules of a version, the most expensive, that take this part of their
// limit at least.
const (
	mostSuspicious = 256
	shareSuspected = 10 // a tenth
	patience       = celcheck.SearchBudget(2 << 20)
)

// rulesOf describes the rules of a version in the order of their pointers.
func rulesOf(ctx context.Context, known *Rules) []RuleReport {
	if known == nil {
		return nil
	}
	list := make([]RuleReport, len(known.List))
	costliest := make([]int, 0, len(list))
	for i := range known.List {
		if ctx.Err() != nil {
			return nil // the result is not used
		}
		k := &known.List[i]
		list[i] = RuleReport{
			Pointer: pointer(k.Way) + "/x-kubernetes-validations/" + strconv.Itoa(k.Index), Index: k.Index,
			ValidationRule: &k.Props.XValidations[k.Index],
			Cost:           k.Cost, MessageCost: k.MessageCost, UsesOldSelf: k.Facts.UsesOldSelf,
		}
		if k.Facts.Rule != nil {
			list[i].Cardinality = k.Cardinality
		}
		list[i].LowestMinor, list[i].LowestBecause = lowestOfRule(ctx, k, known.Env.Minor)
		if max(k.Cost, k.MessageCost) >= celcheck.EstimateLimit/shareSuspected || known.Cost > celcheck.EstimateLimitTotal {
			costliest = append(costliest, i)
		}
	}
	slices.SortStableFunc(costliest, func(a, b int) int {
		return cmp.Compare(max(list[b].Cost, list[b].MessageCost), max(list[a].Cost, list[a].MessageCost))
	})
	costliest = costliest[:min(len(costliest), mostSuspicious)]
	part, left := partOfTotal(known, costliest), patience
	for _, i := range costliest {
		if ctx.Err() != nil {
			break
		}
		list[i].Culprits = culprits(&known.List[i], part, &left)
	}
	slices.SortStableFunc(list, func(a, b RuleReport) int {
		return cmp.Or(cmp.Compare(schemaOf(&a), schemaOf(&b)), cmp.Compare(a.Index, b.Index))
	})
	return list
}

func schemaOf(r *RuleReport) string { return r.Pointer[:len(r.Pointer)-len(strconv.Itoa(r.Index))] }

// partOfTotal is the part of their cost that the costliest rules may keep, so that all rules together fit the limit of
// a version: 1 if they do, or if the other rules exceed it.
func partOfTotal(known *Rules, costliest []int) float64 {
	if known.Cost <= celcheck.EstimateLimitTotal {
		return 1
	}
	var theirs, others float64
	for i := range known.List {
		cost := min(float64(known.List[i].Cost), celcheck.EstimateLimit) + min(float64(known.List[i].MessageCost), celcheck.EstimateLimit)
		if slices.Contains(costliest, i) {
			theirs += cost
		} else {
			others += cost
		}
	}
	if others >= celcheck.EstimateLimitTotal {
		return 1
	}
	return min(1, (celcheck.EstimateLimitTotal-others)/theirs)
}

// culprits returns the bounds that cause a high cost of a rule, or else of its message.
func culprits(k *Rule, part float64, left *celcheck.SearchBudget) []Culprit {
	limit := uint64(min(float64(k.Cost), celcheck.EstimateLimit) * part)
	if part == 1 {
		limit = celcheck.EstimateLimit
	}
	e := celcheck.Estimate{Env: k.Env, Rule: k.Facts.Rule, Scope: k.Scope, Path: k.Way, Around: k.Around, Cardinality: k.Cardinality}
	if k.Cost < k.MessageCost && k.Cost <= celcheck.EstimateLimit {
		limit = uint64(min(float64(k.MessageCost), celcheck.EstimateLimit) * part)
		e.Env, e.Rule, e.Around, e.Cardinality = k.MessageEnv, k.Facts.Message, nil, 1
	}
	if e.Rule == nil {
		return nil
	}
	var list []Culprit
	for _, c := range e.CostlyBounds(limit, left) {
		list = append(list, Culprit{Pointer: pointer(c.Path), Keyword: c.Keyword, Suggested: c.Suggested})
	}
	return list
}

// lowestOfRule is the oldest minor that compiles a rule and its message. One that does not compile at the minor in
// question may do so at the latest.
func lowestOfRule(ctx context.Context, k *Rule, minor int) (lowest int, because string) {
	facts := &k.Facts
	if (facts.Error != nil || facts.MessageError != nil) && minor < celenv.LatestMinor {
		stored := celenv.Stored()
		latest := k.Scope.Check(ctx, stored, stored, &k.Props.XValidations[k.Index])
		if ctx.Err() != nil {
			return 0, ""
		}
		facts = &latest
	}
	if facts.Rule == nil || facts.MessageError != nil {
		return 0, ""
	}
	lowest, because = facts.Rule.Lowest()
	if facts.Message != nil {
		if l, b := facts.Message.Lowest(); l > lowest {
			lowest, because = l, b
		}
	}
	if because != "" {
		because += " came with Kubernetes 1." + strconv.Itoa(lowest)
	}
	return lowest, because
}

// pointer is a way through a schema as a JSON pointer.
func pointer(way []string) string {
	p := make(value.Path, len(way))
	for i, name := range way {
		p[i] = value.Name(name)
	}
	return p.Pointer()
}
