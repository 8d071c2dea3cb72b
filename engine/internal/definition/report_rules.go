package definition

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/rules"
)

// Bounds of the search for culprits: the number of rules, their minimum share of the limit, and the work.
const (
	mostSuspicious = 256
	shareSuspected = 10 // a tenth
	patience       = celcheck.SearchBudget(2 << 20)
)

// rulesOf describes the rules of a version, sorted by pointer.
func rulesOf(ctx context.Context, known *Rules) []rules.Report {
	if known == nil {
		return nil
	}
	list := make([]rules.Report, len(known.List))
	costliest := make([]int, 0, len(list))
	for i := range known.List {
		if ctx.Err() != nil {
			return nil // the result is not used
		}
		k := &known.List[i]
		r, most := &k.Props.XValidations[k.Index], max(k.Cost, k.MessageCost)
		list[i] = rules.Report{
			SchemaPointer: pointer(k.Path) + "/x-kubernetes-validations/" + strconv.Itoa(k.Index), Index: k.Index,
			Text: r.Rule, Reason: string(apiextensionsv1.FieldValueInvalid),
			EstimatedCost: k.Cost, MessageEstimatedCost: k.MessageCost, UsesOldSelf: k.Facts.UsesOldSelf,
			Limit: celcheck.EstimateLimit, ShareOfLimit: float64(most) / celcheck.EstimateLimit,
		}
		if r.Reason != nil {
			list[i].Reason = string(*r.Reason)
		}
		if k.Facts.Rule != nil {
			list[i].Cardinality = k.Cardinality
		}
		lowest, because := lowestOfRule(ctx, k, known.Env.Minor)
		list[i].LowestKubernetes, list[i].LowestKubernetesReason = format.Version(lowest), because
		if most >= celcheck.EstimateLimit/shareSuspected || known.Cost > celcheck.EstimateLimitTotal {
			costliest = append(costliest, i)
		}
	}
	slices.SortStableFunc(costliest, func(a, b int) int {
		return cmp.Compare(list[b].ShareOfLimit, list[a].ShareOfLimit)
	})
	costliest = costliest[:min(len(costliest), mostSuspicious)]
	part, left := partOfTotal(known, costliest), patience
	for _, i := range costliest {
		if ctx.Err() != nil {
			break
		}
		list[i].Culprits = culprits(&known.List[i], part, &left)
	}
	slices.SortStableFunc(list, func(a, b rules.Report) int {
		return cmp.Or(cmp.Compare(schemaOf(&a), schemaOf(&b)), cmp.Compare(a.Index, b.Index))
	})
	return list
}

func schemaOf(r *rules.Report) string {
	return r.SchemaPointer[:len(r.SchemaPointer)-len(strconv.Itoa(r.Index))]
}

// partOfTotal returns the factor that brings the costliest rules within the total limit of a version. It is 1 if the
// total fits, or if the other rules alone exceed the limit.
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

// culprits returns the bounds that cause a high cost of a rule, or of its message expression if that costs more.
func culprits(k *Rule, part float64, left *celcheck.SearchBudget) []rules.Culprit {
	limit := uint64(min(float64(k.Cost), celcheck.EstimateLimit) * part)
	if part == 1 {
		limit = celcheck.EstimateLimit
	}
	e := celcheck.Estimate{Env: k.Env, Rule: k.Facts.Rule, Scope: k.Scope, Path: k.Path, Around: k.Around, Cardinality: k.Cardinality}
	if k.Cost < k.MessageCost && k.Cost <= celcheck.EstimateLimit {
		limit = uint64(min(float64(k.MessageCost), celcheck.EstimateLimit) * part)
		e.Env, e.Rule, e.Around, e.Cardinality = k.MessageEnv, k.Facts.Message, nil, 1
	}
	if e.Rule == nil {
		return nil
	}
	var list []rules.Culprit
	for _, c := range e.CostlyBounds(limit, left) {
		list = append(list, rules.Culprit{SchemaPointer: pointer(c.Path), Keyword: c.Keyword, Suggested: c.Suggested})
	}
	return list
}

// lowestOfRule returns the oldest minor that compiles a rule and its message expression. If they do not compile at the
// given minor, it tries the latest.
func lowestOfRule(ctx context.Context, k *Rule, minor int) (lowest int, because string) {
	facts := &k.Facts
	if (facts.Error != nil || facts.MessageError != nil) && minor < format.LatestMinor {
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

// pointer returns a path through a schema as a JSON pointer.
func pointer(path []string) string {
	p := make(tree.Path, len(path))
	for i, name := range path {
		p[i] = tree.Name(name)
	}
	return p.Pointer()
}
