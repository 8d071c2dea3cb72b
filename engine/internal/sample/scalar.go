package sample

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// integers and floats are numbers that are often handled wrongly.
var (
	integers = []int64{0, 1, -1, 2, 10, 80, 443, 1000, 1<<31 - 1, -1 << 31, 1 << 31, 1<<53 - 1, 1<<53 + 1, -1<<53 - 1,
		math.MaxInt64, math.MinInt64}
	floats = []string{"1.0", "0.5", "-1.5", "0.1", "1e21", "1e-7", "2.5e10", "100.0", "1.7976931348623157e308"}
)

// number returns a number within the bounds of a schema.
func (g *Generator) number(r Random, n *node, integer bool) *Tree {
	g.left -= 4
	lo, hi := bounds(n.Props, integer)
	if t := n.hintedNumber(r); t != nil && (t.Kind == tree.Int || !integer) && n.MultipleOf == nil &&
		numberFits(n.Props, t.Text, lo, hi) {
		return t
	}
	if !integer && !g.plain() && r.chance(40) {
		for range 4 {
			if text := pick(r, floats); numberFits(n.Props, text, lo, hi) {
				return &Tree{Kind: tree.Float, Text: text}
			}
		}
		if hi-lo < 1e9 && n.MultipleOf == nil {
			return number(lo + (hi-lo)*float64(r.IntN(1001))/1000)
		}
	}
	low, high := ceil(lo), floor(hi)
	if low > high {
		if integer { // no value is valid: this one violates only the maximum
			return &Tree{Kind: tree.Int, Text: strconv.FormatInt(low, 10)}
		}
		return number(lo + (hi-lo)/2)
	}
	var v int64
	k := r.IntN(10)
	if g.plain() {
		k = 4 + r.IntN(6)
	}
	switch {
	case k < 2:
		v = low
	case k < 4:
		v = high
	case k < 6:
		v = pick(r, integers[:g.upTo(2, len(integers))])
	default:
		v = max(low, 0)
		if width := high - v; width > 0 {
			v += r.Int64N(min(width, 1000) + 1)
		} else if width < 0 && high < 0 {
			v = high
		}
	}
	if v = min(max(v, low), high); n.MultipleOf != nil && *n.MultipleOf != 0 {
		return multiple(v, low, high, *n.MultipleOf)
	}
	return &Tree{Kind: tree.Int, Text: strconv.FormatInt(v, 10)}
}

// bounds returns the least and the largest number that a schema allows, without multipleOf.
func bounds(s *schema.Props, integer bool) (lo, hi float64) {
	lo, hi = math.MinInt64, math.MaxInt64
	switch s.Format {
	case "int32":
		lo, hi = math.MinInt32, math.MaxInt32
	case "float":
		lo, hi = -math.MaxFloat32, math.MaxFloat32
	case "double", "":
		if !integer {
			lo, hi = -math.MaxFloat64, math.MaxFloat64
		}
	}
	step := math.Nextafter
	if integer {
		step = func(x, to float64) float64 { return x + math.Copysign(1, to-x) }
	}
	if s.Minimum != nil && *s.Minimum >= lo {
		if lo = *s.Minimum; s.ExclusiveMinimum {
			lo = step(lo, math.Inf(1))
		}
	}
	if s.Maximum != nil && *s.Maximum <= hi {
		if hi = *s.Maximum; s.ExclusiveMaximum {
			hi = step(hi, math.Inf(-1))
		}
	}
	return lo, hi
}

func numberFits(s *schema.Props, text string, lo, hi float64) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < lo || f > hi {
		return false
	}
	return s.MultipleOf == nil || math.Mod(f, *s.MultipleOf) == 0 && f != math.Trunc(f)
}

// ceil and floor convert to an integer within int64.
func ceil(f float64) int64  { return within64(math.Ceil(f)) }
func floor(f float64) int64 { return within64(math.Floor(f)) }

func within64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// multiple returns a multiple of a number that is close to v. Upstream rejects integers if the number is a fraction.
func multiple(v, low, high int64, of float64) *Tree {
	k := math.Floor(float64(v) / of)
	if k*of < float64(low) {
		k++
	}
	if k*of == math.Trunc(k*of) && of != math.Trunc(of) {
		if k++; k*of > float64(high) {
			k -= 2
		}
	}
	return number(k * of)
}

// number returns the shortest text of a float.
func number(f float64) *Tree {
	raw, err := json.Marshal(f)
	if err != nil {
		raw = []byte("0")
	}
	t := &Tree{Kind: tree.Float, Text: string(raw)}
	if !strings.ContainsAny(t.Text, ".eE") {
		t.Kind = tree.Int
	}
	return t
}

func (g *Generator) anyNumber(r Random) *Tree {
	if r.chance(70) {
		return &Tree{Kind: tree.Int, Text: strconv.FormatInt(pick(r, integers), 10)}
	}
	return &Tree{Kind: tree.Float, Text: pick(r, floats)}
}

// words are strings without a pattern or a format.
var words = []string{
	"a", "b", "x", "name", "value-1", "A", "true", "1", "0.5", "null", "10.0.0.1", "a/b", "a.b", "a:b", "http://a.example.com/x", "10Gi", "100m", "1h",
	"two words", " ", "ä", "日本語", "\U0001F600", "e\u0301", "line\nbreak", `"quoted"`, `back\slash`, "<&>", "\u2028", "a'b",
}

// text returns a string for a schema.
func (g *Generator) text(r Random, n *node) *Tree {
	best := ""
	for try := range 24 {
		s := g.candidate(r, n, try)
		if stringFits(n, s) {
			g.left -= len(s) + 2
			return text(s)
		}
		best = s
	}
	g.left -= len(best) + 2
	return text(best)
}

// stringFits reports whether a string satisfies the schema, without operators and rules.
func stringFits(n *node, s string) bool {
	if !lengthFits(n.Props, s) {
		return false
	}
	for _, p := range n.patterns {
		if matched, _ := p.Match(s, nil); !matched {
			return false
		}
	}
	return n.format == format.None || n.format.Valid(s)
}

// lengthFits reports whether a string has a length that the schema allows.
func lengthFits(s *schema.Props, text string) bool {
	runes := int64(utf8.RuneCountInString(text))
	return (s.MinLength == nil || runes >= *s.MinLength) && (s.MaxLength == nil || runes <= *s.MaxLength)
}

// lengthBounds returns bounds of the lengths to generate.
func lengthBounds(s *schema.Props) (least, most int) {
	if s.MinLength != nil {
		least = int(min(*s.MinLength, mostElements))
	}
	if most = least + 256; s.MaxLength != nil {
		most = int(min(int64(most), *s.MaxLength))
	}
	return least, most
}

// candidate returns a string that may satisfy the schema. Later tries stay closer to it.
func (g *Generator) candidate(r Random, n *node, try int) string {
	if s, ok := n.hintedText(r); ok {
		return s
	}
	if texts := textsFor(n); texts != nil && r.chance(95) {
		return pick(r, texts)
	}
	lo, hi := 0, 12
	if n.MinLength != nil {
		lo = int(min(*n.MinLength, 1<<12))
		hi = max(hi, lo+4)
	}
	if n.MaxLength != nil {
		if *n.MaxLength <= 300 && g.left > 300 && r.chance(5) {
			lo = int(*n.MaxLength)
			hi = lo
		}
		hi = int(min(int64(hi), *n.MaxLength))
	}
	if len(n.patterns) > 0 {
		p := pick(r, n.patterns)
		s := p.text(r, lo, hi, try, g.plain())
		if least, most := lengthBounds(n.Props); !lengthFits(n.Props, s) {
			s = cmp.Or(p.sized(NewRandom(uint64(len(s)), uint64(try)), least, most, g.plain()), s)
		}
		return s
	}
	if n.format != format.None {
		return pick(r, formatTexts[n.format.String()])
	}
	if lo == 0 && !g.plain() && r.chance(8) {
		return ""
	}
	s := pick(r, words[:g.upTo(5, len(words))])
	if length := utf8.RuneCountInString(s); length >= lo && length <= hi {
		return s
	}
	return strings.Repeat("a", r.between(lo, max(lo, hi)))
}

// textsFor returns strings that functions in the rules of a schema accept, or nil.
func textsFor(n *node) (texts []string) {
	for i := range n.XValidations {
		if texts = FunctionTexts(n.XValidations[i].Rule); texts != nil {
			break
		}
	}
	return texts
}

// FunctionTexts returns strings that the first known function accepts which a rule calls, or nil.
func FunctionTexts(rule string) []string {
	for _, known := range functionTexts {
		for _, name := range known.names {
			if strings.Contains(rule, name+"(") {
				return known.texts
			}
		}
	}
	return nil
}

// functionTexts are strings that functions accept. The names are those of functions, or ends of them.
var functionTexts = []struct{ names, texts []string }{
	{[]string{"uantity"}, []string{"0", "1", "100m", "10Gi", "1.5", "2k", "1e3"}},
	{[]string{"duration"}, []string{"0s", "1s", "1h30m", "500ms", "10m"}},
	{[]string{"timestamp"}, []string{"2024-02-29T12:00:00Z", "1999-12-31T23:59:59.5+01:00"}},
	{[]string{"isURL", "url"}, []string{"http://a.example.com", "https://a.example.com:8443/x?y=z"}},
	{[]string{"CIDR", "cidr"}, []string{"10.0.0.0/8", "10.0.0.0/24", "192.168.1.0/24", "0.0.0.0/0", "10.0.0.1/32", "fd00::/8",
		"fd00::/64"}},
	{[]string{"IP", "ip", "isCanonical"}, []string{"10.0.0.1", "192.168.1.255", "fd00::1", "127.0.0.1", "::1", "169.254.0.1",
		"fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0", "8.8.8.8", "2001:db8::1"}},
	{[]string{"emver"}, []string{"1.2.3", "0.0.1-rc.1"}},
	{[]string{"int"}, []string{"0", "1", "10"}},
	{[]string{"double"}, []string{"0.5", "1", "100.25"}},
	{[]string{"bool"}, []string{"true", "false"}},
}
