package generate

import (
	"math"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Value returns a value that the schema probably accepts. It follows one branch of allOf, anyOf and oneOf, ignores not,
// and generates strings from patterns.
func Value(r Rand, schema *jsontree.Node, depth int) *jsontree.Node {
	s := resolve(r, schema, 3)
	if e := s.Get("enum"); e != nil && len(e.Items) > 0 {
		return Pick(r, e.Items).Clone()
	}
	if s.Get("nullable").IsTrue() && r.Chance(5) {
		return jsontree.Null()
	}
	if d := s.Get("default"); d != nil && r.Chance(20) {
		return d.Clone()
	}
	if s.Get("x-kubernetes-int-or-string").IsTrue() {
		if r.Chance(50) {
			return integer(r, s)
		}
		return str(r, s)
	}
	t, _ := s.Get("type").Text()
	switch t {
	case "object":
		return object(r, s, depth)
	case "array":
		return array(r, s, depth)
	case "string":
		return str(r, s)
	case "integer":
		return integer(r, s)
	case "number":
		return number(r, s)
	case "boolean":
		return jsontree.Bool(r.Chance(50))
	}
	return Any(r, min(depth, 3))
}

// resolve merges one branch of each allOf, anyOf and oneOf into the schema.
func resolve(r Rand, s *jsontree.Node, depth int) *jsontree.Node {
	if depth == 0 {
		return s
	}
	out := s
	for _, j := range []string{"allOf", "anyOf", "oneOf"} {
		branches := s.Get(j)
		if branches == nil || len(branches.Items) == 0 {
			continue
		}
		chosen := branches.Items
		if j != "allOf" {
			chosen = []*jsontree.Node{Pick(r, branches.Items)}
		}
		for _, b := range chosen {
			out = overlay(out, resolve(r, b, depth-1))
		}
	}
	return out
}

// overlay adds a value validation's constraints to a schema, without changing either.
func overlay(s, v *jsontree.Node) *jsontree.Node {
	out := &jsontree.Node{Kind: jsontree.Object, Members: append([]jsontree.Member(nil), s.Members...)}
	for _, m := range v.Members {
		switch m.Key {
		case "properties":
			props := &jsontree.Node{Kind: jsontree.Object}
			if old := s.Get("properties"); old != nil {
				props.Members = append(props.Members, old.Members...)
			}
			for _, p := range m.Value.Members {
				if old := props.Get(p.Key); old != nil {
					props.Set(p.Key, overlay(old, p.Value))
				} else {
					props.Set(p.Key, p.Value)
				}
			}
			out.Set("properties", props)
		case "required":
			req := jsontree.Arr()
			if old := s.Get("required"); old != nil {
				req.Items = append(req.Items, old.Items...)
			}
			req.Items = append(req.Items, m.Value.Items...)
			out.Set("required", req)
		case "items":
			if old := s.Get("items"); old != nil {
				out.Set("items", overlay(old, m.Value))
			}
		case "allOf", "anyOf", "oneOf", "not":
		default:
			out.Set(m.Key, m.Value)
		}
	}
	return out
}

func object(r Rand, s *jsontree.Node, depth int) *jsontree.Node {
	o := jsontree.Obj()
	required := map[string]bool{}
	if req := s.Get("required"); req != nil {
		for _, n := range req.Items {
			if name, ok := n.Text(); ok {
				required[name] = true
			}
		}
	}
	embedded := s.Get("x-kubernetes-embedded-resource").IsTrue()
	if embedded {
		o.Set("apiVersion", Pick(r, []string{"v1", "apps/v1", "a.b/v1beta1"})).Set("kind", Pick(r, []string{"Pod", "Foo"}))
		if r.Chance(80) {
			o.Set("metadata", metadata(r, false))
		}
	}
	if props := s.Get("properties"); props != nil {
		often := 60
		if depth <= 0 {
			often = 0
		} else if len(props.Members) > 12 {
			often = 600 / len(props.Members)
		}
		for _, p := range props.Members {
			if embedded && (p.Key == "apiVersion" || p.Key == "kind" || p.Key == "metadata") {
				continue
			}
			if required[p.Key] || r.Chance(often) {
				o.Set(p.Key, Value(r, p.Value, depth-1))
			}
			delete(required, p.Key)
		}
	}
	extra := s.Get("additionalProperties")
	switch {
	case extra != nil && extra.Kind == jsontree.Object:
		for range count(r, s, "minProperties", "maxProperties", len(o.Members), depth) {
			v := Value(r, extra, depth-1)
			if extra.Get("default") != nil && r.Chance(40) {
				v = jsontree.Null() // the only value to which a default of a map's values applies
			}
			if extra.Get("nullable").IsTrue() && r.Chance(20) {
				v = jsontree.Null()
			}
			o.Set(Pick(r, Keys), v)
		}
		for name := range required {
			o.Set(name, Value(r, extra, depth-1))
		}
	case extra.IsTrue() || s.Get("x-kubernetes-preserve-unknown-fields").IsTrue():
		for range r.IntN(3) {
			o.Set("u"+Pick(r, Keys), Any(r, 2))
		}
	}
	return o
}

// count returns the number of items or members to add within the schema's bounds.
func count(r Rand, s *jsontree.Node, least, most string, have, depth int) int {
	lo, hi := 0, 3
	if depth <= 0 {
		hi = 1
	}
	if n, ok := num(s.Get(least)); ok {
		lo = int(min(n, 64))
		hi = max(hi, lo)
	}
	if n, ok := num(s.Get(most)); ok {
		hi = int(min(n, float64(hi)))
	}
	if hi < lo {
		hi = lo
	}
	return max(0, r.Between(max(lo, 0), max(hi, 0))-have)
}

func array(r Rand, s *jsontree.Node, depth int) *jsontree.Node {
	a := jsontree.Arr()
	items := s.Get("items")
	if items == nil {
		items = jsontree.Obj()
	}
	listType, _ := s.Get("x-kubernetes-list-type").Text()
	seen := map[string]bool{}
	for range count(r, s, "minItems", "maxItems", 0, depth) {
		for try := 0; try < 3; try++ {
			v := Value(r, items, depth-1)
			k := v.String()
			if listType == "map" {
				k = mapKey(s, v)
			}
			if listType == "set" || listType == "map" {
				if seen[k] {
					continue
				}
				seen[k] = true
			}
			a.Items = append(a.Items, v)
			break
		}
	}
	return a
}

func mapKey(s, item *jsontree.Node) string {
	var b strings.Builder
	if keys := s.Get("x-kubernetes-list-map-keys"); keys != nil {
		for _, k := range keys.Items {
			name, _ := k.Text()
			if v := item.Get(name); v != nil {
				b.WriteString(v.String())
			}
			b.WriteByte(0)
		}
	}
	return b.String()
}

func str(r Rand, s *jsontree.Node) *jsontree.Node {
	if p, ok := s.Get("pattern").Text(); ok {
		for _, known := range Patterns {
			if known.Re == p {
				return jsontree.Str(Pick(r, known.Good))
			}
		}
		if text, ok := sample(r, p); ok {
			return jsontree.Str(text)
		}
	}
	if f, ok := s.Get("format").Text(); ok {
		if table := Formats[strings.ReplaceAll(f, "-", "")]; table != nil {
			return jsontree.Str(table[r.IntN(min(len(table), 4))])
		}
		if table := Formats[f]; table != nil {
			return jsontree.Str(table[0])
		}
	}
	lo, hi := 0, 6
	if n, ok := num(s.Get("minLength")); ok {
		lo = int(min(n, 300))
		hi = max(hi, lo)
	}
	if n, ok := num(s.Get("maxLength")); ok {
		hi = int(min(n, float64(hi)))
	}
	n := r.Between(max(0, min(lo, hi)), max(0, hi))
	var b strings.Builder
	for range n {
		b.WriteRune(Pick(r, []rune("abcxyz01-.é日\U0001F600 /")))
	}
	return jsontree.Str(b.String())
}

func num(n *jsontree.Node) (float64, bool) {
	if n == nil || n.Kind != jsontree.Scalar {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Raw, 64)
	return f, err == nil
}

func bounds(s *jsontree.Node) (lo, hi float64) {
	lo, hi = -20, 20
	if n, ok := num(s.Get("minimum")); ok {
		lo = n
		hi = max(hi, lo+20)
		if s.Get("exclusiveMinimum").IsTrue() {
			lo++
		}
	}
	if n, ok := num(s.Get("maximum")); ok {
		hi = n
		if s.Get("exclusiveMaximum").IsTrue() {
			hi--
		}
		if _, bounded := num(s.Get("minimum")); !bounded {
			lo = min(lo, hi-20)
		}
	}
	return lo, hi
}

func integer(r Rand, s *jsontree.Node) *jsontree.Node {
	lo, hi := bounds(s)
	l, h := math.Ceil(max(lo, math.MinInt64/2)), math.Floor(min(hi, math.MaxInt64/2))
	v := int64(l)
	if h > l {
		v = int64(l) + r.Int64N(int64(min(h-l, 1e6))+1)
	}
	if m, ok := num(s.Get("multipleOf")); ok && m >= 1 {
		v -= v % int64(m)
	}
	if r.Chance(8) {
		return jsontree.Raw(strconv.FormatInt(v, 10) + Pick(r, []string{".0", "e0", "E+0", ".00e0"}))
	}
	return jsontree.Int(v)
}

func number(r Rand, s *jsontree.Node) *jsontree.Node {
	if r.Chance(50) {
		return integer(r, s)
	}
	lo, hi := bounds(s)
	v := lo + (hi-lo)*r.Float64()
	if m, ok := num(s.Get("multipleOf")); ok && m > 0 {
		v = m * math.Floor(v/m)
	} else if r.Chance(50) {
		v = math.Round(v*4) / 4
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		v = 1.5
	}
	return jsontree.Raw(strconv.FormatFloat(v, byte(Pick(r, []rune("gef"))), -1, 64))
}

// sample returns a string that probably matches a regular expression. It ignores anchors, so check the result.
func sample(r Rand, expr string) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	sampleInto(r, re.Simplify(), &b, 200)
	return b.String(), true
}

func sampleInto(r Rand, re *syntax.Regexp, b *strings.Builder, budget int) {
	if b.Len() > budget {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			b.WriteRune(c)
		}
	case syntax.OpCharClass:
		if len(re.Rune) >= 2 {
			i := r.IntN(len(re.Rune)/2) * 2
			lo, hi := re.Rune[i], re.Rune[i+1]
			b.WriteRune(lo + rune(r.IntN(int(min(hi-lo, 40))+1)))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			sampleInto(r, sub, b, budget)
		}
	case syntax.OpAlternate:
		sampleInto(r, Pick(r, re.Sub), b, budget)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		lo, hi := 0, 3
		switch re.Op {
		case syntax.OpPlus:
			lo = 1
		case syntax.OpQuest:
			hi = 1
		case syntax.OpRepeat:
			lo, hi = re.Min, max(re.Min, min(re.Max, re.Min+3))
		}
		for range r.Between(lo, hi) {
			sampleInto(r, re.Sub[0], b, budget)
		}
	}
}
