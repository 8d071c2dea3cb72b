package compare

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// maxSteps bounds the steps of the search for one proof, totalSteps those of two CRDs. A step takes some microseconds.
const (
	maxSteps   = 4096
	totalSteps = 1 << 17
)

// proof decides whether every value that satisfies some schemas satisfies another one. The answer is true only if that
// is certain.
type proof struct {
	*comparison
	fuel int
	// exhausted: a limit has ended a search. An answer of false then says nothing.
	exhausted bool
}

func (c *comparison) newProof() *proof { return &proof{comparison: c} }

// start begins the proof of another question.
func (p *proof) start() { p.fuel, p.exhausted, p.witness = maxSteps, false, nil }

// spend reports whether the proof may take another step with some parts.
func (p *proof) spend(list parts) bool {
	const cheap = 8 // parts that take about the time of a step
	cost := 1 + len(list)/cheap
	p.fuel -= cost
	p.proofSteps -= cost
	ok := p.fuel >= 0 && p.proofSteps >= 0 && p.step()
	p.exhausted = p.exhausted || !ok
	return ok
}

// keyword is a constraint of a schema on single values, strings and sizes.
type keyword struct {
	name string
	of   kinds // of the values that it can reject, besides null
	has  func(*Props) bool
	get  func(*Props) any
	// implied reports whether a case satisfies the constraint of a schema that has it.
	implied func(*proof, *facts, *part) bool
	// negate returns a schema that all values satisfy that violate the constraint of a schema. It can be nil.
	negate func(*Props) *Props
	// decides: for a case of one value, a result of false is certain, except for fractional bounds of numbers.
	decides bool
	// rejected formats what a constraint rejects.
	rejected string
}

// decidesOn reports whether a result of implied that is false is certain for a case of one value.
func (k *keyword) decidesOn(f *facts, s *Props) bool {
	bound, isNumber := k.get(s).(float64)
	return k.decides && (!isNumber || isWhole(bound)) || k.name == "format" && f.isLiteral
}

// count returns a keyword for a bound of a length or of a number of items or fields.
func count(name string, of kinds, bound func(*Props) *int64,
	implied func(*proof, *facts, int64) bool, negate func(*int64) Props, rejected string) keyword {
	return keyword{
		name: name, of: of, rejected: rejected, decides: true,
		negate: func(s *Props) *Props {
			opposite := negate(bound(s))
			return &opposite
		},
		has: func(s *Props) bool { return bound(s) != nil },
		get: func(s *Props) any { return pointee(bound(s)) },
		implied: func(p *proof, f *facts, s *part) bool {
			return f.kinds&of == 0 || implied(p, f, *bound(s.Props))
		},
	}
}

// next and previous return a bound that is one more or one less.
func next(n *int64) *int64 { return new(min(max(*n, -1), math.MaxInt64-1) + 1) }

func previous(n *int64) *int64 { return new(max(*n, 0) - 1) }

// within reports whether all strings of a case are in a language.
func (p *proof) within(f *facts, l pattern.Language) bool {
	key := jsonOf([]pattern.Language{f.text, l})
	result, known := p.languages[key]
	if !known {
		work := min(p.languageWork, mostLanguageWork)
		p.languageWork -= work
		text, found, decided := f.text.Except(l, &work)
		p.languageWork += work
		result = inclusion{within: decided && !found, decided: decided}
		if found {
			result.witness = json.RawMessage(jsonOf(text))
		}
		p.languages[key] = result
	}
	p.exhausted = p.exhausted || !result.decided
	p.witness = result.witness
	return result.within
}

// inclusion says whether all strings of a case are in a language, if that is decided. If one is not, witness is its JSON.
type inclusion struct {
	within, decided bool
	witness         json.RawMessage
}

// Bounds of the work to compare the sets of strings, in visited instructions: of two sets, and of two CRDs. The first
// takes some milliseconds.
const (
	mostLanguageWork  = 1 << 18
	totalLanguageWork = 1 << 23
)

// keywords are the constraints in the order of reports.
var keywords = []keyword{
	count("maxLength", texts, func(s *Props) *int64 { return s.MaxLength }, func(p *proof, f *facts, n int64) bool {
		return f.text.Most >= 0 && f.text.Most <= n || p.within(f, pattern.Language{Most: max(n, 0)})
	}, func(n *int64) Props { return Props{MinLength: next(n)} }, "strings of more than %v code points"),
	count("minLength", texts, func(s *Props) *int64 { return s.MinLength }, func(p *proof, f *facts, n int64) bool {
		return f.text.Least >= n || p.within(f, pattern.Language{Least: n, Most: -1})
	}, func(n *int64) Props { return Props{MaxLength: previous(n)} }, "strings of fewer than %v code points"),
	count("maxItems", lists, func(s *Props) *int64 { return s.MaxItems },
		func(_ *proof, f *facts, n int64) bool { return f.maxItems <= n },
		func(n *int64) Props { return Props{MinItems: next(n)} }, "lists of more than %v items"),
	count("minItems", lists, func(s *Props) *int64 { return s.MinItems },
		func(_ *proof, f *facts, n int64) bool { return f.minItems >= n },
		func(n *int64) Props { return Props{MaxItems: previous(n)} }, "lists of fewer than %v items"),
	count("maxProperties", objects, func(s *Props) *int64 { return s.MaxProperties },
		func(_ *proof, f *facts, n int64) bool { return f.maxProperties <= n },
		func(n *int64) Props { return Props{MinProperties: next(n)} }, "objects of more than %v fields"),
	count("minProperties", objects, func(s *Props) *int64 { return s.MinProperties },
		func(_ *proof, f *facts, n int64) bool { return f.minProperties >= n },
		func(n *int64) Props { return Props{MaxProperties: previous(n)} }, "objects of fewer than %v fields"),
	{
		name: "maximum", of: integers | fractions, decides: true, negate: aboveMaximum,
		has: func(s *Props) bool { return s.Maximum != nil }, get: func(s *Props) any { return pointee(s.Maximum) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.bounded(s.Props, func(s *Props) (*float64, bool) { return s.Maximum, s.ExclusiveMaximum }, 1,
				func() bool { return f.hi <= highest(s.Props) })
		},
	},
	{
		name: "minimum", of: integers | fractions, decides: true, negate: belowMinimum,
		has: func(s *Props) bool { return s.Minimum != nil }, get: func(s *Props) any { return pointee(s.Minimum) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.bounded(s.Props, func(s *Props) (*float64, bool) { return s.Minimum, s.ExclusiveMinimum }, -1,
				func() bool { return f.lo >= lowest(s.Props) })
		},
	},
	{
		name: "multipleOf", of: integers | fractions, rejected: "values that are not a multiple of %v",
		has: func(s *Props) bool { return s.MultipleOf != nil }, get: func(s *Props) any { return pointee(s.MultipleOf) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.kinds&(integers|fractions) == 0 ||
				slices.ContainsFunc(f.parts, func(p part) bool { return looseMultipleOf(p.Props, s.Props) }) ||
				f.whole && isWhole(*s.MultipleOf) && *s.MultipleOf > 0 &&
					(f.multiple%int64(*s.MultipleOf) == 0 || f.lo == f.hi && f.lo%int64(*s.MultipleOf) == 0)
		},
	},
	{
		name: "uniqueItems", of: lists,
		has: func(s *Props) bool { return s.UniqueItems }, get: func(*Props) any { return true },
		implied: func(_ *proof, f *facts, _ *part) bool {
			return f.kinds&lists == 0 || f.maxItems <= 1 ||
				slices.ContainsFunc(f.parts, func(p part) bool { return p.UniqueItems })
		},
	},
	{
		name: "pattern", of: texts, decides: true,
		has: func(s *Props) bool { return s.Pattern != "" }, get: func(s *Props) any { return text(s.Pattern) },
		implied: func(p *proof, f *facts, s *part) bool {
			return f.kinds&texts == 0 || slices.Contains(f.text.Patterns, s.Pattern) ||
				p.within(f, pattern.Language{Patterns: []string{s.Pattern}, Most: -1})
		},
	},
	{
		name: "format", of: anything,
		has: func(s *Props) bool { return s.Format != "" }, get: func(s *Props) any { return text(s.Format) },
		implied: func(p *proof, f *facts, s *part) bool { return !p.knows(s.Props) || f.formatted(s.Props) },
	},
	{
		name: "enum", of: anything, decides: true,
		has: func(s *Props) bool { return len(s.Enum) > 0 }, get: func(s *Props) any { return s.Enum },
		implied: func(p *proof, f *facts, s *part) bool {
			e := p.enumOf(s.Enum)
			unknown := func(v string) bool { return !e.has(v) }
			switch {
			case f.null || f.nullable && !s.skipsNull:
				return s.skipsNull
			case f.finite:
				return !slices.ContainsFunc(f.values, unknown)
			case f.kinds == texts && len(s.Enum) <= mostValues && p.within(f, pattern.Language{Patterns: []string{literalsOf(s.Enum)}, Most: -1}):
				return true
			}
			return slices.ContainsFunc(f.parts, func(q part) bool {
				return len(q.Enum) > 0 && !slices.ContainsFunc(p.enumOf(q.Enum).values, unknown)
			})
		},
	},
}

// enum has the values of an enum.
type enum struct {
	values []string // sorted
	known  map[string]bool
}

// enumOf returns the values of an enum.
func (p *proof) enumOf(list []apiextensionsv1.JSON) *enum {
	if len(list) == 0 {
		return &enum{}
	}
	e, ok := p.enums[&list[0]]
	if !ok {
		e = &enum{known: setOf(canonicals(list))}
		e.values = slices.Sorted(maps.Keys(e.known))
		p.enums[&list[0]] = e
	}
	const cheap = 64 // values of an enum that take about the time of a step
	p.proofSteps -= len(list) / cheap
	return e
}

// noText is a pattern that no string matches.
const noText = `[^\x00-\x{10FFFF}]`

// literalsOf returns the pattern of the strings of an enum.
func literalsOf(enum []apiextensionsv1.JSON) string {
	var texts []string
	for _, j := range enum {
		s := ""
		if json.Unmarshal(j.Raw, &s) == nil {
			texts = append(texts, s)
		}
	}
	if texts == nil {
		return noText
	}
	return pattern.Literals(texts)
}

// bounded reports whether the numbers of a case are within the bound of a schema: not above if sign is 1, not below if
// it is -1. whole decides for integers.
func (f *facts) bounded(s *Props, bound func(*Props) (*float64, bool), sign float64, whole func() bool) bool {
	is, open := bound(s)
	switch {
	case f.kinds&(integers|fractions) == 0:
		return true
	case f.whole && isWhole(*is):
		return whole()
	}
	return slices.ContainsFunc(f.parts, func(p part) bool {
		was, wasOpen := bound(p.Props)
		if was == nil {
			return false
		}
		same := *was == *is && numbersOf(p.Props) == numbersOf(s) || *is == math.Trunc(*is) || s.Type != "integer"
		return same && notAbove(sign**was, wasOpen, sign**is, open) &&
			notAbove(math.Trunc(sign**was), wasOpen, math.Trunc(sign**is), open)
	})
}

// formatted reports whether the values of a case satisfy a format that API servers validate.
func (f *facts) formatted(s *Props) bool {
	switch name := formatName(s.Format); {
	case f.isLiteral:
		return isValid(name, f.literal)
	case name == "int64" && f.kinds&fractions == 0, name == "double":
		return true
	case name == "int32" && f.whole && f.lo >= math.MinInt32 && f.hi <= math.MaxInt32:
		return true
	}
	return slices.ContainsFunc(f.formats, func(known knownFormat) bool {
		return (known.name == formatName(s.Format) || wider[known.name] == formatName(s.Format)) &&
			(known.of == typeName(s) || f.kinds&^texts == 0)
	})
}

// implies reports whether each value that satisfies the parts satisfies a schema.
func (p *proof) implies(list parts, s *part) bool {
	if slices.ContainsFunc(list, func(q part) bool { return (s.skipsNull || !q.skipsNull) && same(q.Props, s.Props) }) {
		return true
	}
	if !isPlain(s.Props) {
		return s.skipsNull && list.says(s.Props)
	}
	if f := p.factsOf(list); f.nullable && len(s.Enum) > 0 && !s.skipsNull {
		return false
	}
	return !slices.ContainsFunc(p.negations(s.Props), func(n part) bool { return !p.refutes(list.with(n)) })
}

// impliesKeyword reports whether each value that satisfies the parts satisfies a keyword of another part. f has the facts
// of the parts.
func (p *proof) impliesKeyword(f *facts, k *keyword, s *part) bool {
	if k.implied(p, f, s) {
		return true
	}
	return (k.name != "enum" || s.skipsNull || !f.nullable) && p.refutes(f.parts.with(k.violating(s)))
}

// requires reports whether each object that satisfies the parts has a field.
func (p *proof) requires(list parts, name string) bool {
	return list.requires(name) || p.refutes(list.with(lacking(name)))
}

// satisfies reports whether all values that satisfy the parts satisfy an operator.
func (p *proof) satisfies(list parts, o *operator) bool {
	if list.has(o) {
		return true
	}
	s := Props{}
	switch o.keyword {
	case "allOf":
		s.AllOf = o.clauses
	case "anyOf":
		s.AnyOf = o.clauses
	case "oneOf":
		s.OneOf = o.clauses
	default:
		s.Not = &o.clauses[0]
	}
	return p.implies(list, &part{Props: &s, skipsNull: true})
}

// inEach reports whether something holds in all cases.
func inEach(cases []*facts, holds func(*facts) bool) bool {
	return !slices.ContainsFunc(cases, func(c *facts) bool { return !holds(c) })
}

// operatorsOf returns the operators of a schema.
func operatorsOf(s *Props) (all []operator) {
	for _, o := range []operator{{keyword: "allOf", clauses: s.AllOf}, {keyword: "anyOf", clauses: s.AnyOf},
		{keyword: "oneOf", clauses: s.OneOf}} {
		if len(o.clauses) > 0 {
			all = append(all, o)
		}
	}
	if s.Not != nil {
		all = append(all, operator{keyword: "not", clauses: []Props{*s.Not}})
	}
	return all
}
