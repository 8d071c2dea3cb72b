package compare

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// maxSteps bounds the pairs of schemas that the proofs about a node compare, totalSteps those of two CRDs. A step takes
// some microseconds.
const (
	maxSteps   = 4096
	totalSteps = 1 << 18
)

// proof decides whether every value that satisfies some schemas satisfies another one. The answer is true only if that
// is certain.
type proof struct {
	*comparison
	fuel int
}

func (c *comparison) newProof() *proof { return &proof{comparison: c, fuel: maxSteps} }

// spend reports whether the proof may take another step.
func (p *proof) spend() bool {
	p.fuel--
	p.proofSteps--
	return p.fuel >= 0 && p.proofSteps >= 0 && p.step()
}

// keyword is a constraint of a schema on single values, strings and sizes.
type keyword struct {
	name string
	has  func(*Props) bool
	get  func(*Props) any
	// implied reports whether a case satisfies the constraint of a schema that has it.
	implied func(*proof, *facts, *part) bool
	// decides: for a case of one value, a result of false is certain.
	decides bool
	// rejected formats what a constraint rejects.
	rejected string
}

// count returns a keyword for a bound of a length or of a number of items or fields.
func count(name string, of kinds, bound func(*Props) *int64,
	implied func(*proof, *facts, int64) bool, rejected string) keyword {
	return keyword{
		name: name, rejected: rejected, decides: true,
		has: func(s *Props) bool { return bound(s) != nil },
		get: func(s *Props) any { return pointee(bound(s)) },
		implied: func(p *proof, f *facts, s *part) bool {
			return f.kinds&of == 0 || implied(p, f, *bound(s.Props))
		},
	}
}

// within reports whether all strings of a case are in a language.
func (p *proof) within(f *facts, l pattern.Language) bool {
	key := jsonOf([]pattern.Language{f.text, l})
	result, known := p.languages[key]
	if !known {
		work := min(p.languageWork, mostLanguageWork)
		p.languageWork -= work
		text, found, decided := f.text.Except(l, &work)
		p.languageWork += work
		result.within = decided && !found
		if found {
			result.witness = json.RawMessage(jsonOf(text))
		}
		p.languages[key] = result
	}
	p.witness = result.witness
	return result.within
}

// inclusion says whether all strings of a case are in a language. If one is not, witness is its JSON.
type inclusion struct {
	within  bool
	witness json.RawMessage
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
	}, "strings of more than %v code points"),
	count("minLength", texts, func(s *Props) *int64 { return s.MinLength }, func(p *proof, f *facts, n int64) bool {
		return f.text.Least >= n || p.within(f, pattern.Language{Least: n, Most: -1})
	}, "strings of fewer than %v code points"),
	count("maxItems", lists, func(s *Props) *int64 { return s.MaxItems },
		func(_ *proof, f *facts, n int64) bool { return f.maxItems <= n }, "lists of more than %v items"),
	count("minItems", lists, func(s *Props) *int64 { return s.MinItems },
		func(_ *proof, f *facts, n int64) bool { return f.minItems >= n }, "lists of fewer than %v items"),
	count("maxProperties", objects, func(s *Props) *int64 { return s.MaxProperties },
		func(_ *proof, f *facts, n int64) bool { return f.maxProperties <= n }, "objects of more than %v fields"),
	count("minProperties", objects, func(s *Props) *int64 { return s.MinProperties },
		func(_ *proof, f *facts, n int64) bool { return f.minProperties >= n }, "objects of fewer than %v fields"),
	{
		name: "maximum", decides: true,
		has: func(s *Props) bool { return s.Maximum != nil }, get: func(s *Props) any { return pointee(s.Maximum) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.bounded(s.Props, func(s *Props) (*float64, bool) { return s.Maximum, s.ExclusiveMaximum }, 1,
				func() bool { return f.hi <= highest(s.Props) })
		},
	},
	{
		name: "minimum", decides: true,
		has: func(s *Props) bool { return s.Minimum != nil }, get: func(s *Props) any { return pointee(s.Minimum) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.bounded(s.Props, func(s *Props) (*float64, bool) { return s.Minimum, s.ExclusiveMinimum }, -1,
				func() bool { return f.lo >= lowest(s.Props) })
		},
	},
	{
		name: "multipleOf", rejected: "values that are not a multiple of %v",
		has: func(s *Props) bool { return s.MultipleOf != nil }, get: func(s *Props) any { return pointee(s.MultipleOf) },
		implied: func(_ *proof, f *facts, s *part) bool {
			return f.kinds&(integers|fractions) == 0 ||
				slices.ContainsFunc(f.parts, func(p part) bool { return looseMultipleOf(p.MultipleOf, s.MultipleOf) }) ||
				f.whole && isWhole(*s.MultipleOf) && *s.MultipleOf > 0 &&
					(f.multiple%int64(*s.MultipleOf) == 0 || f.lo == f.hi && f.lo%int64(*s.MultipleOf) == 0)
		},
	},
	{
		name: "uniqueItems",
		has:  func(s *Props) bool { return s.UniqueItems }, get: func(*Props) any { return true },
		implied: func(_ *proof, f *facts, _ *part) bool {
			return f.kinds&lists == 0 || f.maxItems <= 1 ||
				slices.ContainsFunc(f.parts, func(p part) bool { return p.UniqueItems })
		},
	},
	{
		name: "pattern", decides: true,
		has: func(s *Props) bool { return s.Pattern != "" }, get: func(s *Props) any { return text(s.Pattern) },
		implied: func(p *proof, f *facts, s *part) bool {
			return f.kinds&texts == 0 || slices.Contains(f.text.Patterns, s.Pattern) ||
				p.within(f, pattern.Language{Patterns: []string{s.Pattern}, Most: -1})
		},
	},
	{
		name: "format",
		has:  func(s *Props) bool { return s.Format != "" }, get: func(s *Props) any { return text(s.Format) },
		implied: func(p *proof, f *facts, s *part) bool { return !p.knows(s.Props) || f.formatted(formatName(s.Format)) },
	},
	{
		name: "enum", decides: true,
		has: func(s *Props) bool { return len(s.Enum) > 0 }, get: func(s *Props) any { return s.Enum },
		implied: func(p *proof, f *facts, s *part) bool {
			known := p.enumOf(s.Enum).known
			unknown := func(v string) bool { return !known[v] }
			switch {
			case f.nullable && !s.skipsNull && !known["null"]:
				return false
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
		return `[^\x00-\x{10FFFF}]`
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
		same := *was == *is && p.Type == s.Type || *is == math.Trunc(*is) || s.Type != "integer"
		return same && notAbove(sign**was, wasOpen, sign**is, open) &&
			notAbove(math.Trunc(sign**was), wasOpen, math.Trunc(sign**is), open)
	})
}

// formatted reports whether the values of a case satisfy a format that API servers validate.
func (f *facts) formatted(name string) bool {
	switch {
	case f.isLiteral:
		return isValid(name, f.literal)
	case name == "int64" && f.kinds&fractions == 0, name == "double":
		return true
	case name == "int32" && f.whole && f.lo >= math.MinInt32 && f.hi <= math.MaxInt32:
		return true
	}
	return slices.ContainsFunc(f.formats, func(known string) bool { return known == name || wider[known] == name })
}

// implies reports whether each value that satisfies the parts satisfies a schema.
func (p *proof) implies(list parts, s *part) bool {
	if !p.spend() {
		return false
	}
	return inEach(p.cases(list), func(c *facts) bool { return p.impliesIn(c, s) })
}

// inEach reports whether something holds in all cases.
func inEach(cases []*facts, holds func(*facts) bool) bool {
	return !slices.ContainsFunc(cases, func(c *facts) bool { return !holds(c) })
}

// impliesIn is implies for a case.
func (p *proof) impliesIn(c *facts, s *part) bool {
	if !p.spend() {
		return false
	}
	if !isPlain(s.Props) {
		return c.says(s.Props)
	}
	for i := range keywords {
		if k := &keywords[i]; k.has(s.Props) && !k.implied(p, c, s) {
			return false
		}
	}
	return p.impliesMembers(c, s) && !slices.ContainsFunc(operatorsOf(s.Props), func(o operator) bool {
		return !p.satisfies(c, &o)
	})
}

// says reports whether a schema is one of the parts of a case, or a clause of allOf that is not a part.
func (f *facts) says(s *Props) bool {
	text := jsonOf(s)
	return slices.ContainsFunc(f.parts, func(q part) bool { return jsonOf(q.Props) == text }) ||
		slices.ContainsFunc(f.parts.operators("allOf"), func(o operator) bool {
			return slices.ContainsFunc(o.clauses, func(q Props) bool { return jsonOf(&q) == text })
		})
}

// impliesMembers is impliesIn for the keywords about the fields of objects and the items of lists.
func (p *proof) impliesMembers(c *facts, s *part) bool {
	if c.kinds&objects != 0 {
		for _, name := range s.Required {
			if c.parts.requires(name) == nil {
				return false
			}
		}
		for name, below := range s.Properties {
			if !p.implies(c.parts.field(name), &part{Props: &below}) {
				return false
			}
		}
	}
	items := schema.Items(s.Props)
	return items == nil || c.kinds&lists == 0 || c.maxItems <= 0 || p.implies(c.parts.items(), &part{Props: items})
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

// satisfies reports whether the values of a case satisfy an operator.
func (p *proof) satisfies(c *facts, o *operator) bool {
	satisfied, excluded := 0, 0
	for i := range o.clauses {
		switch {
		case p.impliesIn(c, &part{Props: &o.clauses[i], skipsNull: true}):
			satisfied++
		case o.keyword != "allOf" && p.excludes(c, &o.clauses[i]):
			excluded++
		}
	}
	switch o.keyword {
	case "allOf":
		return satisfied == len(o.clauses)
	case "anyOf":
		return satisfied > 0
	case "oneOf":
		return satisfied == 1 && excluded == len(o.clauses)-1
	}
	return excluded == 1
}

// excludes reports whether no value of a case satisfies a schema.
func (p *proof) excludes(c *facts, s *Props) bool {
	if !p.spend() || !isPlain(s) {
		return false
	}
	return len(p.cases(c.parts.with(part{Props: s, clause: true, skipsNull: true}))) == 0
}
