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
	formats   []knownFormat
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

// knownFormat is a format that API servers validate, and the type of its schema. They accept other values than strings
// for some types, and reject them for others.
type knownFormat struct{ name, of string }

// factsOf returns the facts of some parts.
func (p *proof) factsOf(list parts) *facts {
	f := &facts{parts: list, kinds: anything, whole: true, lo: math.MinInt64, hi: none, multiple: 1, text: pattern.Language{Most: -1},
		maxItems: none, maxProperties: none}
	var required, absent []string
	for i := range list {
		s := list[i].Props
		required = append(append(required, s.Required...), list[i].given...)
		if v := list[i].violates; v != nil && v.field != "" {
			absent = append(absent, v.field)
		}
		f.kinds &= p.kindsOf(s)
		if list[i].kinds != 0 {
			f.kinds &= list[i].kinds
		}
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
			f.formats = append(f.formats, knownFormat{name, typeName(s)})
			if texts := formatPatterns[name]; texts != "" {
				f.text.Patterns = append(f.text.Patterns, texts)
			}
			if name == "int32" {
				f.lo, f.hi = max(f.lo, math.MinInt32), min(f.hi, math.MaxInt32)
			}
		}
		f.minItems, f.maxItems = max(f.minItems, atLeast(s.MinItems)), min(f.maxItems, atMost(s.MaxItems))
		f.minProperties = max(f.minProperties, atLeast(s.MinProperties))
		f.maxProperties = min(f.maxProperties, atMost(s.MaxProperties))
	}
	names := setOf(required)
	f.minProperties = max(f.minProperties, int64(len(names)))
	for i := range list {
		if list[i].closed {
			f.close(list[i].Properties, names, setOf(absent))
		}
	}
	if f.whole = f.whole && f.kinds&fractions == 0; f.whole {
		f.align()
	}
	f.enumerate(p)
	return f
}

// close adds what is known of objects whose undeclared fields are pruned.
func (f *facts) close(declared map[string]Props, required, absent map[string]bool) {
	most := int64(len(declared))
	for name := range absent {
		if _, ok := declared[name]; ok {
			most--
		}
	}
	for name := range required {
		if _, ok := declared[name]; !ok {
			f.kinds &^= objects
		}
	}
	f.maxProperties = min(f.maxProperties, most)
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
	for _, b := range []*float64{s.Minimum, s.Maximum, s.MultipleOf} {
		if b != nil && *b != math.Trunc(*b) && strings.HasPrefix(numbersOf(s), "integer") {
			f.kinds &^= integers | fractions // API servers reject all numbers if a bound is not of the type
		}
	}
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
	untyped, isNull := true, true // isNull: the parts do not exclude null
	for i := range f.parts {
		p := &f.parts[i]
		f.nullable = f.nullable || p.Nullable
		untyped = untyped && p.Type == "" && !p.XIntOrString
		isNull = isNull && p.kinds == 0
		if len(p.Enum) == 0 || f.finite && len(f.values) == 0 {
			continue
		}
		e := proof.enumOf(p.Enum)
		switch values, exact := f.valuesOf(e); {
		case !exact:
		case f.finite:
			f.values = slices.DeleteFunc(slices.Clone(f.values), func(v string) bool { return !e.has(v) })
		default:
			f.values, f.finite = values, true
		}
	}
	f.nullable = (f.nullable || untyped) && isNull
	for i := range f.parts { // after the loop above, because any part can be nullable
		p := &f.parts[i]
		f.nullable = f.nullable && (p.skipsNull || len(p.Enum) == 0)
	}
	if slices.Contains(f.values, "null") { // API servers reject null even if the enum has it
		f.values = slices.DeleteFunc(slices.Clone(f.values), func(v string) bool { return v == "null" })
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

// valuesOf returns the values that satisfy an enum, and whether there are no others. API servers convert a value to the
// type of the element of the enum: 1.5 is 1 for an integer, and 65 is "A" for a string.
func (f *facts) valuesOf(e *enum) (values []string, exact bool) {
	values = e.values
	for _, v := range e.values {
		isText := strings.HasPrefix(v, `"`)
		_, err := strconv.ParseInt(v, 10, 64)
		switch {
		case f.kinds&fractions != 0 && (isText || err == nil), f.kinds&integers != 0 && v == jsonOf(string(utf8.RuneError)):
			return nil, false
		case f.kinds&integers != 0 && isText:
			if code, size := utf8.DecodeRuneInString(v[1:]); size == len(v)-2 {
				values = append(values[:len(values):len(values)], strconv.Itoa(int(code)))
			} else if v[1] == '\\' {
				return nil, false // an escape
			}
		}
	}
	return values, true
}

// has reports whether a value satisfies the enum.
func (e *enum) has(v string) bool {
	code, err := strconv.ParseInt(v, 10, 32)
	return e.known[v] || err == nil && e.known[jsonOf(string(rune(code)))]
}

// intervals returns schemas of the numbers with a fraction that satisfy an enum, or nil if there are too many.
func (f *facts) intervals(p *proof) (all []part) {
	for i := range f.parts {
		e := p.enumOf(f.parts[i].Enum)
		if len(e.values) == 0 || len(e.values) > mostValues {
			continue
		}
		for _, v := range e.values {
			b, err := strconv.ParseFloat(v, 64)
			switch {
			case strings.HasPrefix(v, `"`):
				return nil
			case err == nil && isWhole(b):
				lo, hi := b, b // truncation leaves b
				if b <= 0 {
					lo = math.Nextafter(b-1, b)
				}
				if b >= 0 {
					hi = math.Nextafter(b+1, b)
				}
				all = append(all, part{Props: &Props{Minimum: &lo, Maximum: &hi}, exact: true})
			case err == nil:
				all = append(all, part{Props: &Props{Minimum: &b, Maximum: &b}, exact: true})
			}
		}
		return all
	}
	return nil
}

// fix adds what is known of the only value.
func (f *facts) fix() {
	switch v := f.values[0]; v[0] {
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
	case f.whole && f.kinds == integers:
		return f.lo > f.hi
	case f.kinds&^(integers|fractions) == 0:
		return f.hasNoNumber()
	case f.kinds == texts:
		return f.text.Most >= 0 && f.text.Least > f.text.Most
	case f.kinds == lists:
		return f.minItems > f.maxItems
	case f.kinds == objects:
		return f.minProperties > f.maxProperties
	}
	return false
}

// hasNoNumber reports whether the bounds of the parts exclude all numbers. API servers truncate bounds for integers
// without a decimal point.
func (f *facts) hasNoNumber() bool {
	empty := func(round func(float64) float64) bool {
		lo, hi, loOpen, hiOpen := math.Inf(-1), math.Inf(1), false, false
		for i := range f.parts {
			s := f.parts[i].Props
			if s.Minimum != nil {
				if b := round(*s.Minimum); b > lo || b == lo && s.ExclusiveMinimum {
					lo, loOpen = b, s.ExclusiveMinimum
				}
			}
			if s.Maximum != nil {
				if b := round(*s.Maximum); b < hi || b == hi && s.ExclusiveMaximum {
					hi, hiOpen = b, s.ExclusiveMaximum
				}
			}
		}
		return lo > hi || lo == hi && (loOpen || hiOpen)
	}
	const far = 1 << 53 // truncation changes larger bounds in other ways
	return empty(func(b float64) float64 { return b }) && (f.kinds == fractions || empty(math.Trunc) &&
		!slices.ContainsFunc(f.parts, func(p part) bool {
			return p.Minimum != nil && math.Abs(*p.Minimum) >= far || p.Maximum != nil && math.Abs(*p.Maximum) >= far
		}))
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
