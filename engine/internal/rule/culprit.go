package rule

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Repeater is a schema of a list or a map: what stands below it may stand there many times.
type Repeater struct {
	// Way leads to it from the root of the version's schema, by keywords and the names of properties.
	Way   []string
	Props *apiextensionsv1.JSONSchemaProps
}

// Repeats reports whether a schema is a Repeater, and how often at most what is below it stands in one value of it; bounded is unset if the
// schema does not say. What is no Repeater repeats once. (apis/apiextensions/validation/cel_validation.go, extractMaxElements)
func Repeats(s *apiextensionsv1.JSONSchemaProps) (repeater bool, times uint64, bounded bool) {
	var most *int64
	switch {
	case s.Type == "array":
		most = s.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil:
		most = s.MaxProperties
	default:
		return false, 1, true
	}
	if most == nil {
		return true, 0, false
	}
	return true, uint64(max(*most, 0)), true
}

// Estimate is an expression in its place, for estimates of what it would cost in another schema.
type Estimate struct {
	Env   *Env
	Rule  *Checked
	Scope *Scope
	// Way leads to the schema that is self, as in Repeater; Around are the Repeaters that it stands in. A message expression has none: it is
	// estimated for one value.
	Way    []string
	Around []Repeater
	// Cardinality is how often the rule runs at most if not all of Around are bounded.
	Cardinality uint64
}

// Culprit is a bound which a schema states too high, or not at all, for a rule to fit its limit.
type Culprit struct {
	// Way leads to the list, map or string, as in Repeater. Keyword is maxItems, maxProperties or maxLength.
	Way     []string
	Keyword string
	// Suggested is the largest value of the keyword with which the rule is within the limit, all other suggestions in force too. 0: there is
	// none.
	Suggested int64
}

// mostSuspects is how many bounds of one rule are tried.
const mostSuspects = 16

// Patience bounds the search for culprits, for any number of rules together: it is what is left of the bytes of expressions that may be
// estimated. A million takes some tenths of a second.
type Patience int

// Culprits returns the bounds that make a rule dear, the worst first, with what they would have to be for it to cost no more than limit.
// Bounds that the schema does not state come first: those that it states are only touched if that does not suffice. Nothing is suggested for
// a rule that costs no more than limit, nor once the patience has ended.
func (e *Estimate) Culprits(limit uint64, left *Patience) []Culprit {
	if *left <= 0 {
		return nil
	}
	s := search{Estimate: e, limit: limit, left: left}
	suspects := s.suspects()
	if len(suspects) == 0 {
		return nil
	}
	as := make([]int64, len(suspects)) // what is tried for each: as it is, which is -1
	for i := range as {
		as[i] = asIs
	}
	s.bounds = suspects
	now := s.cost(as)
	blame := make([]uint64, len(suspects))
	var guilty []int
	for i := range suspects {
		as[i] = 1
		blame[i] = s.cost(as)
		as[i] = asIs
		if blame[i] < now {
			guilty = append(guilty, i)
		}
	}
	// Several unbounded Repeaters around a rule count only together.
	as = s.all(as, 1, func(b *bound) bool { return b.key == nil && !b.stated })
	if together := s.cost(as); together < now {
		for i := range suspects {
			if b := &suspects[i]; b.key == nil && !b.stated && !slices.Contains(guilty, i) {
				guilty, blame[i] = append(guilty, i), together
			}
		}
	}
	slices.SortStableFunc(guilty, func(a, b int) int { return cmp.Compare(blame[a], blame[b]) })
	kept := make([]bound, 0, mostSuspects)
	for _, i := range guilty[:min(len(guilty), mostSuspects)] {
		kept = append(kept, suspects[i])
	}
	s.bounds = kept
	return s.suggest(now)
}

// bound is one that could be stated, or stated lower.
type bound struct {
	way     []string
	keyword string
	// key is the path below self; nil for one of Around, which around tells.
	key    []string
	around int
	// unit is the size of a value per unit of the keyword: maxLength counts code points, estimates count bytes.
	unit uint64
	// stated: the schema has the keyword, with the value most. Otherwise most is what no request can exceed.
	stated bool
	most   int64
}

// asIs stands for a bound that is left as it is.
const asIs = -1

type search struct {
	*Estimate
	limit  uint64
	bounds []bound
	left   *Patience
}

// cost estimates the rule with other bounds.
func (s *search) cost(as []int64) uint64 {
	*s.left -= Patience(len(s.Rule.Ast.Source().Content()))
	other := sizes{self: s.Scope.Decl, instead: map[string]uint64{}}
	around := make([]int64, len(s.Around))
	for i := range around {
		around[i] = asIs
	}
	for i, n := range as {
		switch b := &s.bounds[i]; {
		case n == asIs:
		case b.key != nil:
			other.instead[partKey(b.key)] = uint64(n) * b.unit
		default:
			around[b.around] = n
		}
	}
	cost, err := s.Env.estimate(s.Rule, &other)
	if err != nil {
		return 0 // Check had the same error, so nobody asks
	}
	times := uint64(1)
	for i, r := range s.Around {
		if around[i] != asIs {
			times = Times(times, uint64(around[i]))
			continue
		}
		_, n, bounded := Repeats(r.Props)
		if !bounded {
			return Times(cost, s.Cardinality)
		}
		times = Times(times, n)
	}
	return Times(cost, times)
}

// all sets all bounds of a kind, those that are stated to no more than they are.
func (s *search) all(as []int64, n int64, kind func(*bound) bool) []int64 {
	out := slices.Clone(as)
	for i := range s.bounds {
		if b := &s.bounds[i]; kind(b) {
			out[i] = min(n, b.most)
		}
	}
	return out
}

// largest is the largest n within 1 and most for which fits holds, 0 if there is none. Estimates grow with bounds.
func (s *search) largest(most int64, fits func(n int64) bool) int64 {
	var lo int64 // fits
	for hi := most; lo < hi; {
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

// suggest looks for one value that fits as all bounds, then for each bound in turn for the largest that fits beside the others.
func (s *search) suggest(now uint64) []Culprit {
	out := make([]Culprit, len(s.bounds))
	as := make([]int64, len(s.bounds))
	most := int64(1)
	for i, b := range s.bounds {
		out[i] = Culprit{Way: b.way, Keyword: b.keyword}
		as[i], most = asIs, max(most, b.most)
	}
	if now <= s.limit {
		return out
	}
	kind := func(b *bound) bool { return !b.stated }
	if s.cost(s.all(as, 1, kind)) > s.limit {
		kind = func(*bound) bool { return true }
	}
	n := s.largest(most, func(n int64) bool { return s.cost(s.all(as, n, kind)) <= s.limit })
	if n == 0 {
		return out
	}
	as = s.all(as, n, kind)
	for i := len(s.bounds) - 1; i >= 0; i-- { // what matters least may be left alone first
		if tried := as[i]; tried != asIs {
			if as[i] = asIs; s.cost(as) > s.limit {
				as[i] = tried
			}
		}
	}
	for i := range s.bounds {
		b := &s.bounds[i]
		if as[i] == asIs {
			continue
		}
		fitting := as[i]
		as[i] = max(fitting, s.largest(b.most, func(n int64) bool {
			as[i] = n
			return s.cost(as) <= s.limit
		}))
		out[i].Suggested = as[i]
	}
	return slices.DeleteFunc(out, func(c Culprit) bool { return c.Suggested == 0 })
}

// suspects are the bounds around the rule and those of whatever the estimator wants to know the size of.
func (s *search) suspects() []bound {
	var list []bound
	for i, r := range s.Around {
		if b, ok := boundOf(r.Props, mostItems); ok {
			b.way, b.around = r.Way, i
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
		p, way := schemaAt(s.Scope.Props, path)
		if p == nil {
			return
		}
		if b, ok := boundOf(p, t.MaxElements); ok {
			b.way, b.key = slices.Concat(s.Way, way), path
			list = append(list, b)
		}
	}}
	_, _ = s.Env.estimate(s.Rule, &declared)
	return list
}

// mostItems is more than any list can hold in a request.
const mostItems = apiservercel.DefaultMaxRequestSizeBytes

// boundOf returns the keyword that bounds a value of the schema; size is how large the value is by its declaration.
func boundOf(p *apiextensionsv1.JSONSchemaProps, size int64) (bound, bool) {
	b := bound{unit: 1}
	var stated *int64
	switch {
	case p.XIntOrString:
		b.keyword, stated, b.unit = "maxLength", p.MaxLength, bytesPerCodePoint
	case p.Type == "array":
		b.keyword, stated = "maxItems", p.MaxItems
	case p.Type == "object" && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		b.keyword, stated = "maxProperties", p.MaxProperties
	case p.Type == "string" && p.Format == "byte":
		b.keyword, stated = "maxLength", p.MaxLength
	case p.Type == "string" && p.Format != "date" && p.Format != "date-time" && p.Format != "duration":
		b.keyword, stated, b.unit = "maxLength", p.MaxLength, bytesPerCodePoint
	default:
		return b, false
	}
	if b.most = max(size, 1); stated != nil {
		b.stated, b.most = true, *stated
	}
	return b, b.most > 1
}

// bytesPerCodePoint is how many bytes estimates suppose for a code point of a string.
const bytesPerCodePoint = 4

// schemaAt follows a path of the estimator through a schema; nil if the part stands in no schema that one could change.
func schemaAt(p *apiextensionsv1.JSONSchemaProps, path []string) (*apiextensionsv1.JSONSchemaProps, []string) {
	way := []string{}
	for _, step := range path {
		switch {
		case step == elementStep && p.Items != nil && p.Items.Schema != nil:
			p, way = p.Items.Schema, append(way, "items")
		case (step == valueStep || step == elementStep) && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
			p, way = p.AdditionalProperties.Schema, append(way, "additionalProperties")
		default:
			name, ok := apiservercel.Unescape(step)
			if !ok {
				return nil, nil
			}
			child, ok := p.Properties[name]
			if !ok {
				return nil, nil
			}
			p, way = &child, append(way, "properties", name)
		}
	}
	return p, way
}
