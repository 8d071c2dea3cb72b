package sample_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

var options = sample.Options{APIVersion: "example.com/v1", Kind: "Thing", Namespaced: true}

func schemaOf(t testing.TB, text string) *schema.Props {
	t.Helper()
	s := new(schema.Props)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// field returns the schema of a resource whose field v is required.
func field(t testing.TB, text string) *schema.Props {
	return schemaOf(t, `{"type":"object","required":["v"],"properties":{"v":`+text+`}}`)
}

// judge returns what a schema finds wrong with an object, without rules.
func judge(t testing.TB, s *schema.Props) func(object []byte) ([]sample.Fault, error) {
	t.Helper()
	p, err := plan.Compile(s, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(object []byte) (faults []sample.Fault, err error) {
		d := tree.Acquire()
		defer d.Release()
		root, err := d.ParseJSON(object, tree.Limits{})
		if err != nil {
			return nil, err
		}
		for _, v := range append(p.Explain(d, root, plan.At{}), p.ExplainLists(d, root, plan.At{})...) {
			faults = append(faults, sample.Fault{Path: v.Path})
		}
		return faults, nil
	}
}

// keywords are schemas of a field whose generated values must all be valid without repairs.
var keywords = []string{
	`{"type":"string"}`, `{"type":"boolean"}`, `{"type":"integer"}`, `{"type":"number"}`,
	`{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int64"}`, `{"type":"number","format":"float"}`, `{"type":"number","format":"double"}`,
	`{"type":"integer","minimum":1,"maximum":3}`, `{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":4,"exclusiveMaximum":true}`,
	`{"type":"integer","minimum":-5,"maximum":-2}`, `{"type":"integer","maximum":-2}`, `{"type":"integer","minimum":7,"maximum":100,"multipleOf":7}`,
	`{"type":"number","minimum":0,"maximum":1}`, `{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1,"exclusiveMaximum":true}`,
	`{"type":"number","minimum":0,"maximum":10,"multipleOf":0.5}`, `{"type":"number","maximum":0.25}`,
	`{"type":"string","minLength":3,"maxLength":3}`, `{"type":"string","minLength":300}`, `{"type":"string","maxLength":2}`, `{"type":"string","maxLength":0}`,
	`{"type":"string","pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$","minLength":1,"maxLength":63}`, `{"type":"string","pattern":"^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$"}`,
	`{"type":"string","pattern":"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"}`,
	`{"type":"string","pattern":"(?i)^abc"}`, `{"type":"string","pattern":"^[A-Z]{4,8}$","minLength":6}`, `{"type":"string","pattern":"^.{2,3}$"}`, `{"type":"string","pattern":"\\p{Greek}"}`,
	`{"type":"string","pattern":"^[^/]+$","minLength":200}`, `{"type":"string","pattern":"^[a-z]+$","maxLength":2}`,
	`{"type":"string","enum":["a","b"]}`, `{"type":"string","default":"x"}`, `{"type":"integer","nullable":true,"minimum":3}`, `{"type":"string","enum":["a","b"],"nullable":true}`,
	`{"type":"array","items":{"type":"integer"}}`, `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2}`, `{"type":"array","maxItems":0,"items":{"type":"string"}}`,
	`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}`,
	`{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"w":{"type":"integer"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"minItems":1}`,
	`{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"integer"},"p":{"type":"string","default":"TCP"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"]}`,
	`{"type":"object","additionalProperties":{"type":"string","minLength":1}}`, `{"type":"object","additionalProperties":{"type":"integer"},"minProperties":2,"maxProperties":3}`,
	`{"type":"object","maxProperties":1,"minProperties":1,"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}}}`,
	`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
	`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+%?$"}`,
	`{"type":"string","allOf":[{"pattern":"^[a-c]+$"},{"maxLength":4},{"minLength":2}]}`, `{"type":"string","anyOf":[{"enum":["a"]},{"pattern":"^x[0-9]$"}]}`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"not":{"required":["a","b"]}}`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"not":{"anyOf":[{"required":["a"]},{"required":["b"]}]}},{"required":["a"]},{"required":["b"]}]}`,
	`{"type":"object","properties":{"t":{"type":"string"},"n":{"type":"integer"}},"anyOf":[{"properties":{"t":{"enum":["a"]},"n":{"maximum":3}},"required":["t"]},{"properties":{"t":{"enum":["b"]}}}]}`,
	`{"type":"array","items":{"type":"integer"},"allOf":[{"items":{"minimum":3}},{"maxItems":4}]}`,
}

func TestKeywords(t *testing.T) {
	for _, format := range []string{"bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "duration", "email", "hexcolor", "hostname",
		"ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn", "uri", "uuid", "uuid3", "uuid4", "uuid5"} {
		keywords = append(keywords, `{"type":"string","format":"`+format+`"}`)
	}
	for _, text := range keywords {
		s := field(t, text)
		check := judge(t, s)
		g := sample.New(s, options)
		seen := map[string]bool{}
		for n := range uint64(100) {
			o := g.Object(sample.NewRandom(1, n))
			if faults, err := check(o.JSON()); err != nil || len(faults) > 0 {
				t.Errorf("%s: %s has faults at %v, error %v", text, o.JSON(), faults, err)
				break
			}
			seen[string(o.Get("v").JSON())] = true
		}
		if len(seen) < 2 && !strings.Contains(text, `:0`) && !strings.Contains(text, "format") {
			t.Errorf("%s: only the values %v", text, seen)
		}
	}
}

// TestEqualSeedsGiveEqualObjects also checks that another generator gives them, whatever it generated before.
func TestEqualSeedsGiveEqualObjects(t *testing.T) {
	s := field(t, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"}},"b":{"type":"string","anyOf":[{"maxLength":2},{"minLength":4}]}}}`)
	one, two := sample.New(s, options), sample.New(s, options)
	different := map[string]bool{}
	for n := range uint64(50) {
		one.Object(sample.NewRandom(2, n))
	}
	for n := range uint64(50) {
		a, b := one.Object(sample.NewRandom(1, n)).JSON(), two.Object(sample.NewRandom(1, n)).JSON()
		if string(a) != string(b) {
			t.Fatalf("object %d is %s and %s", n, a, b)
		}
		different[string(a)] = true
	}
	if len(different) < 45 {
		t.Errorf("only %d different objects of 50", len(different))
	}
}

// TestOddValues checks that values occur that often show errors.
func TestOddValues(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"s":{"type":"string"},"i":{"type":"integer"},"f":{"type":"number"},"l":{"type":"array","items":{"type":"boolean"}},"m":{"type":"object","additionalProperties":{"type":"string"}},
		"n":{"type":"string","nullable":true}}},"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}`)
	g := sample.New(s, options)
	var all strings.Builder
	absent, many := 0, 0
	for n := range uint64(400) {
		o := g.Object(sample.NewRandom(7, n))
		text := o.JSON()
		if len(text) > 20000 {
			t.Errorf("object of %d bytes", len(text))
		}
		if o.Get("metadata").Get("labels") == nil {
			absent++
		}
		if spec := o.Get("spec"); spec != nil && spec.Get("l") != nil && len(spec.Get("l").Items) >= 10 {
			many++
		}
		all.Write(text)
	}
	for _, part := range []string{`"labels":{}`, `"annotations":{}`, `"annotations":{"`, `"finalizers"`, `"ownerReferences"`, `"managedFields"`, `"s":""`, `"l":[]`, `"m":{}`, `"spec":{}`, `"n":null`,
		"日本語", "\U0001F600", "9007199254740993", fmt.Sprint(int64(math.MaxInt64)), `"f":1.0`, `"f":1e21`, `"status":{"phase"`} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("no object of 400 contains %s", part)
		}
	}
	if absent == 0 || many == 0 {
		t.Errorf("%d objects without labels, %d with long lists", absent, many)
	}
}

// TestSlowPatterns checks that strings are short if they would take long to make or to match.
func TestSlowPatterns(t *testing.T) {
	for _, pattern := range []string{
		"^(a|b|ab)*(a{900}b{900}){1}$", "^(" + strings.Repeat("a{900}b{900}", 20) + ")*$",
		strings.Repeat("(", 60) + "^" + strings.Repeat(")+(^)*", 60) + "x",
	} {
		g := sample.New(field(t, fmt.Sprintf(`{"type":"string","pattern":%q}`, pattern)), options)
		for n := range uint64(20) {
			if v := g.Object(sample.NewRandom(1, n)).Get("v").JSON(); len(v) > 1000 {
				t.Errorf("%.40s: %d bytes", pattern, len(v))
			}
		}
	}
}

// TestLiterals checks that fields get the values that rules and hints mention.
func TestLiterals(t *testing.T) {
	s := schemaOf(t, `{"type":"object","x-kubernetes-validations":[
			{"rule":"self.spec.s in ['pro\"d', r'a\\d', \"sta\\u0067ing\"] || self.spec.s.matches('^x+$')"},{"rule":"self.spec.i > -4321 && self.spec.f <= 0.0625"},
			{"rule":"self.spec.l.exists(x, x == 'item') && 'key' in self.spec.m && self.spec.a__dash__b != 'dash'"}],
		"properties":{"spec":{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"f":{"type":"number"},"other":{"type":"string"},
			"l":{"type":"array","items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"string"}},"a-b":{"type":"string"},
			"o":{"type":"array","items":{"type":"object","properties":{"hinted":{"type":"string"},"n":{"type":"integer","maximum":100}}}}}}}}`)
	hint := &sample.Hint{}
	hint.AddNames("hinted", "n")
	for _, v := range []string{`"given"`, `98`, `true`, `"777"`} {
		hint.AddValue(v)
	}
	o := options
	o.Hints = []*sample.Hint{hint}
	g := sample.New(s, o)
	var all strings.Builder
	for n := range uint64(600) {
		all.Write(g.Object(sample.NewRandom(3, n)).JSON())
	}
	for _, part := range []string{`"s":"pro\"d"`, `"s":"a\\d"`, `"s":"staging"`, `"s":"apro\"db"`, `"i":-4321`, `"i":-4320`, `"i":-4322`, `"f":0.0625`,
		`"item"`, `"key":`, `"a-b":"dash"`, `"hinted":"given"`, `"hinted":"777"`, `"n":98`} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("no object of 600 contains %s", part)
		}
	}
	for _, part := range []string{`"other":"staging"`, `"other":"given"`, `^x`, `777,`, `"hinted":"prod`} {
		if strings.Contains(all.String(), part) {
			t.Errorf("an object contains %s", part)
		}
	}
}

func TestEdits(t *testing.T) {
	s := field(t, `{"type":"object","required":["r"],"properties":{"r":{"type":"string","minLength":1},"i":{"type":"integer","maximum":9},"l":{"type":"array","items":{"type":"string"}},
		"m":{"type":"object","additionalProperties":{"type":"integer"}},"k":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"w":{"type":"integer"}}},
		"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}}}`)
	g, check := sample.New(s, options), judge(t, s)
	removed, added, changed, valid := 0, 0, 0, 0
	for n := range uint64(300) {
		r := sample.NewRandom(1, n)
		o := g.Object(r)
		c := g.Edit(r, o)
		if c == nil {
			t.Fatalf("no change of %s", o.JSON())
		}
		before := o.Follow(c.Path)
		edited := o.Clone()
		if !c.Apply(edited) {
			t.Fatalf("%s has no place for the change at %s", o.JSON(), c.Path)
		}
		if string(edited.JSON()) == string(o.JSON()) {
			t.Errorf("the change at %s changes nothing", c.Path)
		}
		switch {
		case c.Value == nil:
			removed++
		case before == nil:
			added++
		default:
			changed++
		}
		if faults, err := check(edited.JSON()); err == nil && len(faults) == 0 {
			valid++
		}
	}
	if removed < 20 || added < 20 || changed < 20 || valid < 270 {
		t.Errorf("of 300 edits %d remove, %d add, %d change, and %d are valid", removed, added, changed, valid)
	}
}

func TestPartial(t *testing.T) {
	s := field(t, `{"type":"object","required":["r"],"properties":{"r":{"type":"string"},"i":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},
		"k":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"w":{"type":"integer"}}},
		"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}}}`)
	g := sample.New(s, options)
	smaller, nulls, bare := 0, 0, 0
	for n := range uint64(300) {
		o := g.Object(sample.NewRandom(1, n))
		p := g.Partial(n, o)
		for _, name := range []string{"apiVersion", "kind"} {
			if p.Get(name) == nil {
				t.Errorf("%s has no %s", p.JSON(), name)
			}
		}
		if p.Get("metadata") == nil {
			bare++
		} else if p.Get("metadata").Get("managedFields") != nil {
			t.Errorf("%s has managedFields", p.JSON())
		}
		if p.Leaves() < o.Leaves() {
			smaller++
		}
		if strings.Contains(string(p.JSON()), ":null") {
			nulls++
		}
		k := p.Follow(tree.Path{tree.Name("v"), tree.Name("k")})
		for i := 0; k != nil && i < len(k.Items); i++ {
			if k.Items[i].Get("k") == nil {
				t.Errorf("an element has lost its key: %s", p.JSON())
			}
		}
		if l := p.Follow(tree.Path{tree.Name("v"), tree.Name("l")}); l != nil && l.Kind != tree.Null &&
			string(l.JSON()) != string(o.Follow(tree.Path{tree.Name("v"), tree.Name("l")}).JSON()) {
			t.Errorf("an atomic list is partial: %s", p.JSON())
		}
	}
	if smaller < 200 || nulls < 5 || bare < 50 {
		t.Errorf("of 300 parts %d are smaller, %d have nulls, %d have no metadata", smaller, nulls, bare)
	}
}

func TestReverse(t *testing.T) {
	o, err := sample.Parse([]byte(`{"a":{"b":"x, \": y","c":[1,2,{"d":1,"e":2}]},"f":null,"g":1.0}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\"g\" :\n1.0 ,\n\"f\" :\nnull ,\n\"a\" :\n{\"c\" :\n[1 ,\n2 ,\n{\"e\" :\n2 ,\n\"d\" :\n1}] ,\n\"b\" :\n\"x, \\\": y\"}}"
	if text := string(sample.Reverse(o)); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestRequiredValuesAreBounded checks that nested lists with minItems do not take memory without end.
func TestRequiredValuesAreBounded(t *testing.T) {
	list := strings.Repeat(`{"type":"array","minItems":60,"items":`, 7) + `{"type":"string"}` + strings.Repeat("}", 7)
	s := schemaOf(t, `{"type":"object","required":["a"],"properties":{"a":`+list+`}}`)
	if n := len(sample.New(s, options).Object(sample.NewRandom(1, 1)).JSON()); n > 1<<20 {
		t.Errorf("the object has %d bytes", n)
	}
}

// TestPatternLengths: strings of a given length match a pattern, for each length for which the pattern has strings.
func TestPatternLengths(t *testing.T) {
	for _, tc := range []struct {
		pattern string
		lengths []int
	}{
		{"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", []int{1, 2, 3, 63, 64, 252, 253}},
		{"^(ab|cde)+$", []int{2, 3, 4, 5, 6, 7, 101}},
		{"^x{3}(y{2}){1,4}$", []int{5, 7, 9, 11}},
		{"^([a-f0-9]{2}:){5}[a-f0-9]{2}$", []int{17}},
		{"^(a|bb)?(ccc)*$", []int{0, 1, 2, 3, 4, 5, 6, 299, 300}},
		{"^[0-9]+(\\.[0-9]+){2}(-[a-z]+)?$", []int{5, 6, 7, 128}},
		{"foo", []int{3, 4, 50}}, {"^v[0-9]", []int{2, 3, 64}}, {"bar$", []int{3, 12}},
		{"^.{0,1000}$", []int{0, 999, 1000}},
	} {
		for _, n := range tc.lengths {
			s := field(t, fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d,"pattern":%q}`, n, n, tc.pattern))
			g, judge := sample.New(s, options), judge(t, s)
			for seed := range uint64(5) {
				o := g.Least(sample.NewRandom(seed, 0))
				if faults, err := judge(o.JSON()); err != nil || len(faults) > 0 {
					t.Errorf("%s, length %d, seed %d: %s: %v, %v", tc.pattern, n, seed, o.JSON(), faults, err)
				}
			}
		}
	}
}

// TestStopped: a stopped generator generates few further values, whatever the schema requires.
func TestStopped(t *testing.T) {
	const list = `{"type":"array","minItems":1000,"items":`
	s := field(t, list+list+list+`{"type":"integer"}}}}`)
	stopping := options
	stopping.Stopped = func() bool { return true }
	leaves := map[bool]int{}
	for stopped, o := range map[bool]sample.Options{false: options, true: stopping} {
		g := sample.New(s, o)
		leaves[stopped] = g.Least(sample.NewRandom(1, 0)).Leaves()
		for _, c := range g.Candidates(sample.NewRandom(1, 0), tree.Path{tree.Name("v")}) {
			if c != nil {
				leaves[stopped] += c.Leaves()
			}
		}
	}
	if leaves[false] < 10000 || leaves[true] > 1000 {
		t.Errorf("%d values, %d if stopped", leaves[false], leaves[true])
	}
}
