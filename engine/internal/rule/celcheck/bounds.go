package celcheck

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// Container is the schema of a list or a map around a rule.
type Container struct {
	// Path leads to it from the root of the version's schema, by keywords and names of properties.
	Path  []string
	Props *apiextensionsv1.JSONSchemaProps
}

// MaxElements reports whether a schema is a Container and how many elements it may have; bounded is false if the schema
// has no bound. Other schemas have one element. (apis/apiextensions/validation/cel_validation.go, extractMaxElements)
func MaxElements(s *apiextensionsv1.JSONSchemaProps) (container bool, n uint64, bounded bool) {
	var limit *int64
	switch {
	case s.Type == "array":
		limit = s.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil:
		limit = s.MaxProperties
	default:
		return false, 1, true
	}
	if limit == nil {
		return true, 0, false
	}
	return true, uint64(max(*limit, 0)), true
}

// Estimate is an expression and its position, for estimating its cost with other bounds in the schema.
type Estimate struct {
	Env   *celenv.Env
	Rule  *Checked
	Scope *Scope
	// Path leads to the schema of self, as in Container. Around are the Containers around it, none for a message
	// expression, which is estimated for one value.
	Path   []string
	Around []Container
	// Cardinality is how often the rule may run if not all of Around are bounded.
	Cardinality uint64
}

// CostlyBound is a bound that is too high, or missing, for a rule to fit its cost limit.
type CostlyBound struct {
	// Path leads to the list, map or string, as in Container. Keyword is maxItems, maxProperties or maxLength.
	Path    []string
	Keyword string
	// Suggested is the largest value of the keyword with which the rule fits, if all other suggestions apply too,
	// or 0.
	Suggested int64
}

// maxBounds is how many bounds of one rule are tried.
const maxBounds = 16

// SearchBudget limits the search for costly bounds over several rules. It counts the bytes of the expressions that are
// estimated: a million takes a few tenths of a second.
type SearchBudget int

// CostlyBounds returns the bounds that make a rule costly, the worst first, with values that reduce its cost to the
// limit. Missing bounds come first: stated ones change only if those do not suffice. Nothing is suggested for a rule
// within its limit or after the search budget is used up.
func (e *Estimate) CostlyBounds(limit uint64, left *SearchBudget) []CostlyBound {
	if *left <= 0 {
		return nil
	}
	s := boundSearch{Estimate: e, limit: limit, left: left}
	if s.bounds = s.candidates(); len(s.bounds) == 0 {
		return nil
	}
	values := s.unchanged()
	current := s.cost(values)
	lowered := make([]uint64, len(s.bounds)) // the cost with the bound at 1
	var costly []int
	for i := range s.bounds {
		values[i] = 1
		lowered[i] = s.cost(values)
		values[i] = noChange
		if lowered[i] < current {
			costly = append(costly, i)
		}
	}
	// Several unbounded containers around a rule count only together.
	unboundedAround := func(b *bound) bool { return b.key == nil && !b.stated }
	if together := s.cost(s.setAll(values, 1, unboundedAround)); together < current {
		for i := range s.bounds {
			if unboundedAround(&s.bounds[i]) && !slices.Contains(costly, i) {
				costly, lowered[i] = append(costly, i), together
			}
		}
	}
	slices.SortStableFunc(costly, func(a, b int) int { return cmp.Compare(lowered[a], lowered[b]) })
	costliest := make([]bound, 0, maxBounds)
	for _, i := range costly[:min(len(costly), maxBounds)] {
		costliest = append(costliest, s.bounds[i])
	}
	s.bounds = costliest
	return s.suggest(current)
}

// bound is a keyword that could be added or lowered.
type bound struct {
	path    []string
	keyword string
	// key is the path below self. It is nil for a bound of Around[around].
	key    []string
	around int
	// unit is the size of a value per unit of the keyword: maxLength counts code points, estimates count bytes.
	unit uint64
	// stated: the schema has the keyword with the value limit. Otherwise limit is what no request can exceed.
	stated bool
	limit  int64
}

// noChange stands for a bound that keeps its value.
const noChange = -1

type boundSearch struct {
	*Estimate
	limit  uint64
	bounds []bound
	left   *SearchBudget
}

func (s *boundSearch) unchanged() []int64 { return slices.Repeat([]int64{noChange}, len(s.bounds)) }

// cost estimates the rule with other values of the bounds.
func (s *boundSearch) cost(values []int64) uint64 {
	*s.left -= SearchBudget(len(s.Rule.Ast.Source().Content()))
	other := sizes{self: s.Scope.Decl, instead: map[string]uint64{}}
	around := slices.Repeat([]int64{noChange}, len(s.Around))
	for i, n := range values {
		switch b := &s.bounds[i]; {
		case n == noChange:
		case b.key != nil:
			other.instead[partKey(b.key)] = uint64(n) * b.unit
		default:
			around[b.around] = n
		}
	}
	cost, err := estimateCost(s.Env, s.Rule, &other)
	if err != nil {
		return 0 // Check had the same error, so there is no Estimate
	}
	times := uint64(1)
	for i, r := range s.Around {
		if around[i] != noChange {
			times = MultiplyCost(times, uint64(around[i]))
			continue
		}
		_, n, bounded := MaxElements(r.Props)
		if !bounded {
			return MultiplyCost(cost, s.Cardinality)
		}
		times = MultiplyCost(times, n)
	}
	return MultiplyCost(cost, times)
}

// setAll returns the values with all bounds of a kind set to n, or to their limit if that is lower.
func (s *boundSearch) setAll(values []int64, n int64, kind func(*bound) bool) []int64 {
	out := slices.Clone(values)
	for i := range s.bounds {
		if b := &s.bounds[i]; kind(b) {
			out[i] = min(n, b.limit)
		}
	}
	return out
}

// largest returns the largest n from 1 to limit that fits, or 0. Estimates grow with bounds.
func (s *boundSearch) largest(limit int64, fits func(n int64) bool) int64 {
	var lo int64 // fits
	for hi := limit; lo < hi; {
		if *s.left <= 0 {
			return 0
		}
		if mid := lo + (hi-lo+1)/2; fits(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// suggest finds one value that fits for all bounds, then raises each bound in turn as far as it fits beside the others.
func (s *boundSearch) suggest(current uint64) []CostlyBound {
	out := make([]CostlyBound, len(s.bounds))
	highest := int64(1)
	for i, b := range s.bounds {
		out[i] = CostlyBound{Path: b.path, Keyword: b.keyword}
		highest = max(highest, b.limit)
	}
	if current <= s.limit {
		return out
	}
	values := s.unchanged()
	kind := func(b *bound) bool { return !b.stated }
	if s.cost(s.setAll(values, 1, kind)) > s.limit {
		kind = func(*bound) bool { return true }
	}
	n := s.largest(highest, func(n int64) bool { return s.cost(s.setAll(values, n, kind)) <= s.limit })
	if n == 0 {
		return out
	}
	values = s.setAll(values, n, kind)
	for i := range slices.Backward(s.bounds) { // the least costly bounds are kept first
		if tried := values[i]; tried != noChange {
			if values[i] = noChange; s.cost(values) > s.limit {
				values[i] = tried
			}
		}
	}
	for i := range s.bounds {
		if values[i] == noChange {
			continue
		}
		fitting := values[i]
		values[i] = max(fitting, s.largest(s.bounds[i].limit, func(n int64) bool {
			values[i] = n
			return s.cost(values) <= s.limit
		}))
		out[i].Suggested = values[i]
	}
	return slices.DeleteFunc(out, func(c CostlyBound) bool { return c.Suggested == 0 })
}

// candidates returns the bounds around the rule and those of every part whose size the estimator asks for.
func (s *boundSearch) candidates() []bound {
	var list []bound
	for i, r := range s.Around {
		if b, ok := boundOf(r.Props, apiservercel.DefaultMaxRequestSizeBytes); ok {
			b.path, b.around = r.Path, i
			list = append(list, b)
		}
	}
	seen := map[string]bool{}
	declared := sizes{self: s.Scope.Decl, asked: func(path []string, t *apiservercel.DeclType) {
		key := partKey(path)
		if seen[key] {
			return
		}
		seen[key] = true
		p, below := schemaAt(s.Scope.Props, path)
		if p == nil {
			return
		}
		if b, ok := boundOf(p, t.MaxElements); ok {
			b.path, b.key = slices.Concat(s.Path, below), path
			list = append(list, b)
		}
	}}
	_, _ = estimateCost(s.Env, s.Rule, &declared)
	return list
}

// boundOf returns the keyword that bounds a value of the schema. size is the size of the value by its declaration.
func boundOf(p *apiextensionsv1.JSONSchemaProps, size int64) (bound, bool) {
	const bytesPerCodePoint = 4 // by the estimates
	b := bound{unit: 1}
	var stated *int64
	switch {
	case p.Type == "array" && !p.XIntOrString:
		b.keyword, stated = "maxItems", p.MaxItems
	case p.Type == "object" && !p.XIntOrString && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		b.keyword, stated = "maxProperties", p.MaxProperties
	case p.Type == "string" && !p.XIntOrString && p.Format == "byte":
		b.keyword, stated = "maxLength", p.MaxLength
	case p.XIntOrString,
		p.Type == "string" && p.Format != "date" && p.Format != "date-time" && p.Format != "duration":
		b.keyword, stated, b.unit = "maxLength", p.MaxLength, bytesPerCodePoint
	default:
		return b, false
	}
	if b.limit = max(size, 1); stated != nil {
		b.stated, b.limit = true, *stated
	}
	return b, b.limit > 1
}

// schemaAt follows a path of the estimator through a schema. It returns nil for a part that no schema describes.
func schemaAt(p *apiextensionsv1.JSONSchemaProps, path []string) (*apiextensionsv1.JSONSchemaProps, []string) {
	below := []string{}
	for _, step := range path {
		values := p.AdditionalProperties
		switch {
		case step == elementStep && p.Items != nil && p.Items.Schema != nil:
			p, below = p.Items.Schema, append(below, "items")
		case (step == valueStep || step == elementStep) && values != nil && values.Schema != nil:
			p, below = values.Schema, append(below, "additionalProperties")
		default:
			name, ok := apiservercel.Unescape(step)
			if !ok {
				return nil, nil
			}
			child, ok := p.Properties[name]
			if !ok {
				return nil, nil
			}
			p, below = &child, append(below, "properties", name)
		}
	}
	return p, below
}
