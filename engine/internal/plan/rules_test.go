package plan

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// ruled compiles a schema, written as YAML, with its rules.
func ruled(t testing.TB, text string) *Plan {
	t.Helper()
	s := &schema.Props{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	p, err := Compile(s, Options{Rules: RulesOfResource})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// evaluated returns the violations of Rules: for each its text, its pointer and the pointer to its rule.
func evaluated(t testing.TB, p *Plan, object, old string, ratchet, closures bool) (found, ratcheted []string) {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	root := parsed(t, d, object, tree.Request)
	u := Update{}
	if old != "" {
		u = Update{Old: parsed(t, d, old, tree.Old), Pairs: new(Pairs), Ratchet: ratchet}
		u.Pairs.Init(d, nil)
	}
	r := rule.Start(d)
	defer r.Close()
	if r.NoClosures = !closures; closures {
		p.FillSlots(d, root)
		p.FillSlots(d, u.Old)
	}
	p.Rules(r, root, u, At{})
	for _, v := range r.Found {
		found = append(found, fmt.Sprintf("%s at %s by %s", v.Error.Error(), v.Path.Pointer(), v.Schema))
	}
	for _, v := range r.Ratcheted {
		ratcheted = append(ratcheted, v.Error.Error())
	}
	if old == "" || !ratchet {
		clean := rule.Start(d)
		defer clean.Close()
		clean.NoClosures = !closures
		if p.CleanRules(clean, root, u.Old, u.Pairs) && (len(found) > 0 || clean.Left != r.Left) {
			t.Errorf("clean at a cost of %d, yet %q at %d", rule.CostBudget-clean.Left, found, rule.CostBudget-r.Left)
		}
	}
	return found, ratcheted
}

func parsed(t testing.TB, d *tree.Doc, text string, s tree.Source) uint32 {
	t.Helper()
	root, err := d.Parse([]byte(text), s, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestRules(t *testing.T) {
	p := ruled(t, `
type: object
x-kubernetes-validations: [{rule: "has(self.spec)", message: root}]
properties:
  spec:
    type: object
    x-kubernetes-preserve-unknown-fields: true
    properties:
      i: {type: integer, nullable: true, x-kubernetes-validations: [{rule: "self < 9", message: i}, {rule: "self >= oldSelf", message: grows}, {rule: "oldSelf.orValue(0) < 7", optionalOldSelf: true, message: was}]}
      m: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: "self != 'x'", message: m}, {rule: "self == oldSelf", message: kept}]}}
      l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: rises}, {rule: "self < 9", message: small}]}}}}
      set: {type: array, x-kubernetes-list-type: set, items: {type: string, x-kubernetes-validations: [{rule: "self != 'x'", message: set}]}}
      o: {type: object, properties: {a.b: {type: string}}, x-kubernetes-validations: [{rule: "false", message: o, fieldPath: "['a.b']"}]}
      1st: {type: object, properties: {w: {type: integer, x-kubernetes-validations: [{rule: "self == 1", message: w}]}}}
      free: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "false"}]}
`)
	for name, c := range map[string]struct {
		object, old     string
		ratchet         bool
		want, ratcheted string
	}{
		"nothing wrong": {object: `{"spec":{"i":1,"m":{"a":"y"},"l":[{"k":"a","v":1}],"set":["y"],"1st":{"w":1},"free":1}}`},
		"null":          {object: `{"spec":{"i":null}}`},
		"document order": {object: `{"spec":{"m":{"b":"x","a":"x"},"i":9}}`,
			want: `spec.m[b]: Invalid value: "x": m at /spec/m/b by /properties/spec/properties/m/additionalProperties/x-kubernetes-validations/0; ` +
				`spec.m[a]: Invalid value: "x": m at /spec/m/a by /properties/spec/properties/m/additionalProperties/x-kubernetes-validations/0; ` +
				`spec.i: Invalid value: 9: i at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/0`},
		"root":       {object: `{}`, want: `<nil>: Invalid value: root at  by /x-kubernetes-validations/0`},
		"field path": {object: `{"spec":{"o":{"a.b":"c"}}}`, want: `spec.o.a.b: Invalid value: o at /spec/o/a.b by /properties/spec/properties/o/x-kubernetes-validations/0`},
		"no escape":  {object: `{"spec":{"1st":{"w":2}}}`, want: `spec.1st.w: Invalid value: 2: w at /spec/1st/w by /properties/spec/properties/1st/properties/w/x-kubernetes-validations/0`},
		"another kind of value": {object: `{"spec":{"i":"x","m":[1],"set":{"a":"x"}}}`,
			want: `spec.i: Invalid value: "integer": invalid data, expected int, got string evaluating rule: i at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/0`},
		"properties by name": {object: `{"spec":{"i":1,"m":{"a":"y","b":"y"}}}`, old: `{"spec":{"m":{"b":"z"},"i":2}}`,
			want: `spec.i: Invalid value: 1: grows at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/1; ` +
				`spec.m[b]: Invalid value: "y": kept at /spec/m/b by /properties/spec/properties/m/additionalProperties/x-kubernetes-validations/1`},
		"was null": {object: `{"spec":{"i":1}}`, old: `{"spec":{"i":null}}`},
		"optional": {object: `{"spec":{"i":8}}`, old: `{"spec":{"i":7}}`, want: `spec.i: Invalid value: 8: was at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/2`},
		"map list": {object: `{"spec":{"l":[{"k":"new","v":0},{"k":"b","v":1},{"k":"a","v":1}]}}`, old: `{"spec":{"l":[{"k":"a","v":1},{"k":"b","v":2}]}}`,
			want: `spec.l[1].v: Invalid value: 1: rises at /spec/l/1/v by /properties/spec/properties/l/items/properties/v/x-kubernetes-validations/0`},
		"ratcheted": {object: `{"spec":{"i":9,"l":[{"k":"b","v":9},{"k":"a","v":9}],"m":{"a":"x"}}}`, old: `{"spec":{"i":9,"l":[{"k":"a","v":8},{"k":"b","v":9}],"m":{"a":"x"}}}`, ratchet: true,
			want: `spec.i: Invalid value: 9: was at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/2; ` +
				`spec.l[1].v: Invalid value: 9: small at /spec/l/1/v by /properties/spec/properties/l/items/properties/v/x-kubernetes-validations/1`,
			ratcheted: `spec.i: Invalid value: 9: i; spec.l[0].v: Invalid value: 9: small; spec.m[a]: Invalid value: "x": m`},
		"ratcheted as part of a set": {object: `{"spec":{"set":["x"]}}`, old: `{"spec":{"set":["x"]}}`, ratchet: true, ratcheted: `spec.set[0]: Invalid value: "x": set`},
		"not ratcheted":              {object: `{"spec":{"set":["x"]}}`, old: `{"spec":{"set":["x"]}}`, want: `spec.set[0]: Invalid value: "x": set at /spec/set/0 by /properties/spec/properties/set/items/x-kubernetes-validations/0`},
		"errors are not ratcheted": {object: `{"spec":{"i":"x"}}`, old: `{"spec":{"i":"x"}}`, ratchet: true,
			want: `spec.i: Invalid value: "integer": invalid data, expected int, got string evaluating rule: i at /spec/i by /properties/spec/properties/i/x-kubernetes-validations/0`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, closures := range []bool{true, false} {
				found, ratcheted := evaluated(t, p, c.object, c.old, c.ratchet, closures)
				if name == "another kind of value" || name == "errors are not ratcheted" {
					found = found[:1]
				}
				if got := strings.Join(found, "; "); got != c.want {
					t.Errorf("closures %v: got %s\nwant %s", closures, got, c.want)
				}
				if got := strings.Join(ratcheted, "; "); got != c.ratcheted {
					t.Errorf("closures %v: ratcheted %s\nwant %s", closures, got, c.ratcheted)
				}
			}
		})
	}
}

// TestRulesOfAField: a schema by itself, as that of a default, has no apiVersion, kind and metadata.
func TestRulesOfAField(t *testing.T) {
	s := &schema.Props{}
	if err := yaml.Unmarshal([]byte(`{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: "has(self.kind)"}]}`), s); err != nil {
		t.Fatal(err)
	}
	for o, want := range map[Rules]string{
		RulesOfField:    "default: Invalid value: \"object\": rule compile error: compilation failed: ERROR: <input>:1:4: undefined field 'kind'\n | has(self.kind)\n | ...^",
		RulesOfResource: "default: Invalid value: failed rule: has(self.kind)",
	} {
		p, err := Compile(s, Options{Rules: o})
		if err != nil {
			t.Fatal(err)
		}
		d := tree.Acquire()
		defer d.Release()
		r := rule.Start(d)
		defer r.Close()
		p.Rules(r, parsed(t, d, `{"a":"b"}`, tree.Request), Update{}, At{Field: field.NewPath("default")})
		if len(r.Found) != 1 || r.Found[0].Error.Error() != want {
			t.Errorf("%d: %v, want %s", o, r.Found, want)
		}
	}
	if p, err := Compile(s, Options{}); err != nil || p.HasRules() {
		t.Errorf("rules without the option: %v", err)
	}
}

func TestCleanRulesAllocateNothing(t *testing.T) {
	p := ruled(t, `{type: object, x-kubernetes-validations: [{rule: "self.l.all(e, e.v > 0)"}], properties: {m: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: "self.startsWith('a')"}]}}, `+
		`l: {type: array, items: {type: object, properties: {v: {type: integer, x-kubernetes-validations: [{rule: "self < 9"}]}}}}}}`)
	d := tree.Acquire()
	defer d.Release()
	root := parsed(t, d, `{"l":[{"v":1},{"v":2}],"m":{"x":"ab","y":"ac"}}`, tree.Request)
	if !p.Accept(d, root, Mode{Create: true}) {
		t.Fatal("not accepted")
	}
	r := rule.Start(d)
	defer r.Close()
	clean := true
	allocs := testing.AllocsPerRun(100, func() {
		r.Left = rule.CostBudget
		clean = clean && p.CleanRules(r, root, 0, nil)
	})
	if !clean || allocs != 0 {
		t.Errorf("clean %v with %v allocations", clean, allocs)
	}
}
