package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/pattern"
)

// none is an upper bound that bounds nothing.
const none = math.MaxInt64

// facts are what all values have in common that satisfy some parts.
type facts struct {
	parts parts
	kinds kinds
	// whole: all numbers are integers, and lo and hi are their bounds. They are multiples of multiple.
	whole            bool
	lo, hi, multiple int64
	// text is the set of the strings. literal is the only one if isLiteral is true.
	text      pattern.Language
	literal   string
	isLiteral bool
	formats   []string // canonical names of the formats that API servers validate
	// counts of items and of fields
	minItems, maxItems           int64
	minProperties, maxProperties int64
	// values are the possible values. They are not known if finite is false.
	values []string
	finite bool
	// exact: there is one value, and all facts about it are known.
	exact bool
	// null: the only value is null. nullable: null is another possible value.
	null, nullable bool
}

// factsOf returns the facts of some parts.
func (p *proof) factsOf(list parts) *facts {
	f := &facts{parts: list, kinds: anything, whole: true, lo: math.MinInt64, hi: none, multiple: 1, text: pattern.Language{Most: -1},
		maxItems: none, maxProperties: none}
	var required []string
	for i := range list {
		s := list[i].Props
		required = append(required, s.Required...)
		f.kinds &= p.kindsOf(s)
		f.limit(s)
		if s.MultipleOf != nil && isWhole(*s.MultipleOf) && *s.MultipleOf > 0 {
			f.multiple = commonMultiple(f.multiple, int64(*s.MultipleOf))
		}
		f.text.Least = max(f.text.Least, atLeast(s.MinLength))
		if s.MaxLength != nil && (f.text.Most < 0 || *s.MaxLength < f.text.Most) {
			f.text.Most = max(*s.MaxLength, 0)
		}
		if s.Pattern != "" && !slices.Contains(f.text.Patterns, s.Pattern) {
			f.text.Patterns = append(f.text.Patterns, s.Pattern)
		}
		if p.knows(s) {
			name := formatName(s.Format)
			f.formats = append(f.formats, name)
			if texts := formatPatterns[name]; texts != "" {
				f.text.Patterns = append(f.text.Patterns, texts)
			}
			if name == "int32" {
				f.lo, f.hi = max(f.lo, math.MinInt32), min(f.hi, math.MaxInt32)
			}
		}
		f.minItems, f.maxItems = max(f.minItems, atLeast(s.MinItems)), min(f.maxItems, atMost(s.MaxItems))
		f.minProperties = max(f.minProperties, atLeast(s.MinProperties))
		if f.maxProperties = min(f.maxProperties, atMost(s.MaxProperties)); list[i].closed {
			f.maxProperties = min(f.maxProperties, int64(len(s.Properties)))
		}
	}
	f.minProperties = max(f.minProperties, int64(len(setOf(required))))
	if f.whole = f.whole && f.kinds&fractions == 0; f.whole {
		f.align()
	}
	f.enumerate(p)
	return f
}

func atLeast(bound *int64) int64 {
	if bound == nil {
		return 0
	}
	return max(*bound, 0)
}

func atMost(bound *int64) int64 {
	if bound == nil {
		return none
	}
	return *bound
}

// isWhole reports whether a number is an integer that a float64 and an int64 represent exactly.
func isWhole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<53 }

// limit adds the bounds of numbers of a schema. API servers compare integers and floats with a fractional bound
// differently, so then the bounds are not known.
func (f *facts) limit(s *Props) {
	for _, b := range []*float64{s.Minimum, s.Maximum} {
		f.whole = f.whole && (b == nil || isWhole(*b))
	}
	if !f.whole {
		return
	}
	if s.Minimum != nil {
		f.lo = max(f.lo, lowest(s))
	}
	if s.Maximum != nil {
		f.hi = min(f.hi, highest(s))
	}
}

// lowest and highest return the bounds of integers of a schema that has whole bounds.
func lowest(s *Props) int64 {
	if s.ExclusiveMinimum {
		return int64(*s.Minimum) + 1
	}
	return int64(*s.Minimum)
}

func highest(s *Props) int64 {
	if s.ExclusiveMaximum {
		return int64(*s.Maximum) - 1
	}
	return int64(*s.Maximum)
}

// align moves the bounds of integers to multiples.
func (f *facts) align() {
	const far = 1 << 53
	if f.multiple == 1 {
		return
	}
	if f.lo > -far {
		f.lo = int64(math.Ceil(float64(f.lo)/float64(f.multiple))) * f.multiple
	}
	if f.hi < far {
		f.hi = int64(math.Floor(float64(f.hi)/float64(f.multiple))) * f.multiple
	}
}

// commonMultiple returns the least common multiple of two numbers, or the first number if that is large.
func commonMultiple(a, b int64) int64 {
	const large = 1 << 31
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if b > large || a > large || a/x*b > large {
		return a
	}
	return a / x * b
}

// mostValues bounds the values that are known one by one.
const mostValues = 64

// enumerate fills values: those in each enum, or all booleans or a few integers.
func (f *facts) enumerate(proof *proof) {
	for i := range f.parts {
		p := &f.parts[i]
		f.nullable = f.nullable || p.Nullable
		if len(p.Enum) == 0 || f.finite && len(f.values) == 0 {
			continue
		}
		e := proof.enumOf(p.Enum)
		switch {
		case !f.comparesExactly(e.values):
		case f.finite:
			f.values = slices.DeleteFunc(slices.Clone(f.values), func(v string) bool { return !e.known[v] })
		default:
			f.values, f.finite = e.values, true
		}
	}
	for i := range f.parts { // after the loop above, because any part can be nullable
		p := &f.parts[i]
		f.nullable = f.nullable && (p.skipsNull || len(p.Enum) == 0 || proof.enumOf(p.Enum).known["null"])
	}
	switch {
	case f.finite && len(f.values) == 1:
		f.fix()
	case f.finite:
	case f.kinds == booleans:
		f.values, f.finite = []string{"false", "true"}, true
	case f.kinds == integers && f.whole && f.lo > -none/2 && f.hi < none/2 && f.hi-f.lo < mostValues:
		f.finite = true
		for i := f.lo; i <= f.hi; i++ {
			f.values = append(f.values, strconv.FormatInt(i, 10))
		}
	}
}

// comparesExactly reports whether only the values of an enum satisfy it. API servers convert a value to the type of the
// element of the enum: 1.5 is 1 for an integer, and 65 is "A" for a string.
func (f *facts) comparesExactly(enum []string) bool {
	return !slices.ContainsFunc(enum, func(v string) bool {
		isText := strings.HasPrefix(v, `"`)
		_, err := strconv.ParseInt(v, 10, 64)
		return isText && f.kinds&(integers|fractions) != 0 || err == nil && f.kinds&fractions != 0
	})
}

// fix adds what is known of the only value.
func (f *facts) fix() {
	switch v := f.values[0]; v[0] {
	case 'n':
		f.null, f.kinds, f.exact = true, 0, true
	case '"':
		if json.Unmarshal([]byte(v), &f.literal) == nil {
			n := int64(utf8.RuneCountInString(f.literal))
			f.text = pattern.Language{Patterns: []string{pattern.Literal(f.literal)}, Least: n, Most: n}
			f.isLiteral, f.exact = true, true
		}
	case 't', 'f':
		f.exact = true
	case '[', '{':
	default:
		f.exact = f.whole && f.lo == f.hi
	}
}

// isEmpty reports whether no value has the facts.
func (f *facts) isEmpty() bool {
	switch {
	case f.null:
		return false
	case f.kinds == 0, f.finite && len(f.values) == 0:
		return true
	case f.kinds == integers:
		return f.whole && f.lo > f.hi
	case f.kinds == texts:
		return f.text.Most >= 0 && f.text.Least > f.text.Most
	case f.kinds == lists:
		return f.minItems > f.maxItems
	case f.kinds == objects:
		return f.minProperties > f.maxProperties
	}
	return false
}

// formatPatterns has patterns that all strings of a format match.
var formatPatterns = map[string]string{
	"date":         `^\d{4}-\d{2}-\d{2}$`,
	"datetime":     `^\d{4}-\d{2}-\d{2}(?s:.)\d+:\d{2}:\d{2}`,
	"uuid":         `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`,
	"uuid3":        `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$`,
	"uuid4":        `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$`,
	"uuid5":        `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$`,
	"bsonobjectid": `^[0-9a-fA-F]{24}$`,
	"k8sshortname": `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`,
	"k8slongname":  `^[a-z0-9][-a-z0-9.]{0,252}$`,
	"byte":         `^[A-Za-z0-9+/]+={0,2}$`,
	"ipv4":         `^(?s:.){7,}$`,
	"ipv6":         `^(?s:.){2,}$`,
	"cidr":         `^(?s:.){4,}$`,
	"mac":          `^[0-9a-fA-F.:-]{14,59}$`,
	"hostname":     `^(?s:.){1,255}$`,
	"duration":     `[0-9]`,
	"email":        `@`,
}

// isValid reports whether a string satisfies a format.
func isValid(name, text string) bool { return format.Lookup(name).Valid(text) }

// cases returns the facts of parts case by case: for each value of an enum, and for each clause of anyOf and oneOf. Each
// value that satisfies the parts belongs to a case. No case means that no value satisfies them.
func (p *proof) cases(list parts) []*facts {
	cases := []*facts{p.factsOf(list)}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, o := range list.operators(keyword) {
			if len(cases)*len(o.clauses) > mostValues || slices.ContainsFunc(o.clauses, func(s Props) bool { return !isPlain(&s) }) {
				continue
			}
			var split []*facts
			for _, c := range cases {
				for i := range o.clauses {
					split = append(split, p.factsOf(o.choose(c.parts, i)))
				}
			}
			cases = split
		}
	}
	var single []*facts
	for _, c := range cases {
		if !c.finite || len(c.values) == 1 || len(c.values) > mostValues || len(single)+len(c.values) > 4*mostValues {
			single = append(single, c)
			continue
		}
		for _, v := range c.values {
			single = append(single, p.factsOf(c.parts.with(part{Props: exactly(v)})))
		}
	}
	return slices.DeleteFunc(single, p.isImpossible)
}

// choose returns parts with a clause of anyOf or oneOf, and without the other clauses of oneOf.
func (o *operator) choose(list parts, i int) parts {
	chosen := list.with(part{Props: &o.clauses[i], clause: true})
	for k := range o.clauses {
		if k != i && o.keyword == "oneOf" {
			chosen = chosen.with(part{Props: &Props{Not: &o.clauses[k]}, clause: true})
		}
	}
	return chosen
}

// isImpossible reports whether no value satisfies the parts of a case. It is true only if that is certain.
func (p *proof) isImpossible(c *facts) bool {
	if !p.spend() {
		return false
	}
	if c.null || c.isEmpty() {
		return !c.null
	}
	if c.finite && len(c.values) == 1 {
		only := p.factsOf(partsOf(exactly(c.values[0]), nil))
		for i := 0; i < len(c.parts) && only.exact; i++ {
			for k := range keywords {
				if k := &keywords[k]; k.has(c.parts[i].Props) && k.decides && !k.implied(p, only, &c.parts[i]) {
					return true
				}
			}
		}
	}
	for _, o := range c.parts.operators("not") {
		if p.impliesIn(c, &part{Props: &o.clauses[0], skipsNull: true}) {
			return true
		}
	}
	return false
}
