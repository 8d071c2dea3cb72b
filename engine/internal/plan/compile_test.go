package plan

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func schemaOf(t testing.TB, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func compiled(t testing.TB, text string, o Options) *Plan {
	t.Helper()
	p, err := Compile(schemaOf(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at goes down the properties of a plan's root; [] is items, * additionalProperties.
func at(p *Plan, path string) *Node {
	n := p.Root
	for name := range strings.SplitSeq(path, ".") {
		switch name {
		case "":
		case "[]":
			n = n.Items
		case "*":
			n = n.Additional
		default:
			n = n.Child(name)
		}
	}
	return n
}

func TestEqualSubSchemasAreOneNode(t *testing.T) {
	p := compiled(t, `
type: object
properties:
  a: {type: object, description: one, properties: {x: {type: string, maxLength: 3, pattern: ^a}, y: {type: integer, default: 1}}}
  b: {type: object, description: two, properties: {x: {type: string, maxLength: 3, pattern: ^a, title: T}, y: {type: integer, default: 1}}}
  c: {type: object, properties: {x: {type: string, maxLength: 4, pattern: ^a}, y: {type: integer, default: 1}}}
  d: {type: object, properties: {x: {type: string, maxLength: 3, pattern: ^a}, y: {type: integer, default: 2}}}
  l: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object, properties: {x: {type: string, maxLength: 3, pattern: ^a}, y: {type: integer, default: 1}}}}
`, Options{})
	if at(p, "a") != at(p, "b") {
		t.Error("a and b differ in texts alone and are two nodes")
	}
	for _, other := range []string{"c", "d", "l.[]"} {
		if at(p, "a") == at(p, other) {
			t.Errorf("a and %s are one node", other)
		}
	}
	if at(p, "a.x") != at(p, "d.x") || at(p, "a.x").Valid.Pattern != at(p, "c.x").Valid.Pattern {
		t.Error("leaves and patterns are not shared")
	}
	if at(p, "l.[]").Flags&KeepUnknown == 0 || at(p, "a").Flags&KeepUnknown != 0 {
		t.Error("only items of a preserving array keep unknown fields")
	}
}

func TestPositions(t *testing.T) {
	p := compiled(t, `
type: object
properties:
  metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}
  spec:
    type: object
    properties:
      metadata: {type: object}
      e: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, properties: {kind: {type: string}, spec: {type: object}}}
      m: {type: object, additionalProperties: true}
      f: {type: object, additionalProperties: false}
      i: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
`, Options{StatusSubresource: true})
	for path, want := range map[string]Flags{
		"":             Root | EmbeddedBelow,
		"metadata":     KeepAll,
		"spec":         EmbeddedBelow,
		"spec.e":       Embedded | EmbeddedBelow | Preserve | KeepUnknown,
		"spec.e.kind":  KeepAll,
		"spec.e.spec":  0,
		"spec.m":       AdditionalTrue,
		"spec.f":       AdditionalFalse,
		"spec.i":       IntOrString,
		"spec.nothing": 0,
	} {
		n := at(p, path)
		if n == nil {
			if path != "spec.nothing" {
				t.Errorf("%q has no node", path)
			}
			continue
		}
		if n.Flags != want {
			t.Errorf("%q: flags %b, want %b", path, n.Flags, want)
		}
	}
	if got := at(p, "spec.metadata").Flags; got != 0 {
		t.Errorf("metadata below spec is special: %b", got)
	}
	if got := strings.Join(at(p, "spec.i").Types(), ","); got != "integer,string" {
		t.Errorf("types of int-or-string: %s", got)
	}
	if p.ExplainOnly || !p.Structural || !p.HasSchema {
		t.Errorf("plan %+v", p)
	}
}

func TestLogicalSlots(t *testing.T) {
	p := compiled(t, `
type: object
properties: {a: {type: string}, b: {type: string}, c: {type: object, properties: {d: {type: string}}}, m: {type: object, additionalProperties: {type: object, properties: {k: {type: string}}}}}
anyOf:
- {required: [b, zz], properties: {c: {required: [d]}, m: {properties: {q: {required: [k]}}}}}
- {not: {properties: {b: {maxLength: 1}}}}
`, Options{})
	first := p.Root.Valid.AnyOf[0]
	if first.Slots[0] != 2 || first.Slots[1] != 3 || first.Valid.Required[0].Slot != 1 || first.Valid.Required[1].Slot != NoSlot {
		t.Errorf("slots %v, required %v", first.Slots, first.Valid.Required)
	}
	if got := first.Props[0].Valid.Required[0].Slot; got != 0 {
		t.Errorf("slot of d below c: %d", got)
	}
	m := first.Props[1]
	if m.Slots[0] != NoSlot || m.Props[0].Valid.Required[0].Slot != 0 {
		t.Errorf("a map's value: slots %v, required %v", m.Slots, m.Props[0].Valid.Required)
	}
	if got := p.Root.Valid.AnyOf[1].Valid.Not.Slots[0]; got != 1 {
		t.Errorf("slot below not: %d", got)
	}
}

func TestExplainOnly(t *testing.T) {
	for _, c := range []struct {
		schema              string
		o                   Options
		explain, structural bool
	}{
		{`{type: object}`, Options{}, false, true},
		{`{type: object}`, Options{PreserveUnknown: true}, true, true},
		{`{type: object}`, Options{ForDefaults: true}, true, true},
		{`{type: object, properties: {a: {type: array, items: [{type: string}]}}}`, Options{PreserveUnknown: true}, true, false},
		{`{type: object, patternProperties: {^a: {type: string}}}`, Options{PreserveUnknown: true}, true, false},
		{`{type: object, anyOf: [{dependencies: {a: [b], c: {required: [d]}}}]}`, Options{PreserveUnknown: true}, true, false},
		{`{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: false}}}`, Options{PreserveUnknown: true}, true, false},
		{`{type: object, properties: {"IMPORTANT!": {type: string}}}`, Options{}, true, true},
		{`{type: object, properties: {"": {type: object, properties: {"IMPORTANT!": {type: string}}}}}`, Options{}, true, true},
		{`{type: object, properties: {a: {type: object, properties: {"IMPORTANT!": {type: string}}}}}`, Options{}, false, true},
	} {
		p := compiled(t, c.schema, c.o)
		if p.ExplainOnly != c.explain || p.Structural != c.structural {
			t.Errorf("%s %+v: ExplainOnly %v, Structural %v", c.schema, c.o, p.ExplainOnly, p.Structural)
		}
		d := tree.Acquire()
		root, _ := d.ParseJSON([]byte(`{}`), tree.Limits{})
		if got := p.Accept(d, root, Mode{}); got == c.explain {
			t.Errorf("%s %+v: Accept %v", c.schema, c.o, got)
		}
		d.Release()
	}
}

func TestNoSchema(t *testing.T) {
	p, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := acceptOnce(t, p, `{"apiVersion":"v1","kind":"K","metadata":{"name":"a"},"spec":{"a":1}}`, Mode{}); !ok || got != `{"apiVersion":"v1","kind":"K","metadata":{"name":"a"}}` {
		t.Errorf("%s %v", got, ok)
	}
}

func TestCompileErrors(t *testing.T) {
	for name, s := range map[string]*apiextensionsv1.JSONSchemaProps{
		"default":        {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"a`)}},
		"object default": {Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`{"a":}`)}},
		"enum":           {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`nonsense`)}}},
	} {
		root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": *s}}
		if _, err := Compile(root, Options{}); err == nil {
			t.Errorf("%s: no error for a value that is not JSON", name)
		} else if !strings.Contains(err.Error(), "of the schema") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefaultsAreReady: pruned once, and with the defaults below them filled in; a number keeps its kind.
func TestDefaultsAreReady(t *testing.T) {
	p := compiled(t, `
type: object
properties:
  a:
    type: object
    default: {unknown: 1, f: 1.5, "key \" quoted": "\u0041", nil: null}
    properties:
      f: {type: number}
      g: {type: string, default: "line\nbreak"}
      nil: {type: string, nullable: true}
      "key \" quoted": {type: string}
      o: {type: object, default: {}, properties: {p: {type: integer, default: 7}}}
  "z \"": {type: string, default: q}
`, Options{})
	if !at(p, "a").Default.Nulls || at(p, "a.o").Default.Nulls {
		t.Error("which default holds a null")
	}
	s := schemaOf(t, `{type: object, properties: {a: {type: object, default: {}, properties: {f: {type: number}}}}}`)
	a := s.Properties["a"]
	a.Default.Raw = []byte(`{"u":1,"f":1.0}`)
	s.Properties["a"] = a
	floats, err := Compile(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := tree.Acquire()
	defer d.Release()
	d.SetSource(tree.Defaults, floats.defaults)
	f := d.Graft(at(floats, "a").Default.Fragment)
	if k := d.Nodes[d.Field(f, "f")].Kind; k != tree.Int || d.Len(f) != 1 {
		t.Errorf("1.0 is 1 in the stored CRD, and of kind %d of %d members here", k, d.Len(f))
	}
	d.Reset()
	d.SetSource(tree.Defaults, p.defaults)
	g := d.Graft(at(p, "a").Default.Fragment)
	if got := string(d.AppendJSON(nil, g)); got != `{"f":1.5,"key \" quoted":"A","nil":null,"g":"line\nbreak","o":{"p":7}}` {
		t.Errorf("default of a: %s", got)
	}
	p = compiled(t, `{type: object, properties: {"z \"": {type: string, default: q}, x: {type: object, default: {}, properties: {p: {type: integer, default: 7}}}}}`, Options{})
	if got, ok := acceptOnce(t, p, `{}`, Mode{}); !ok || got != `{"x":{"p":7},"z \"":"q"}` {
		t.Errorf("%s %v", got, ok)
	}
}

func TestFindInLargeNodes(t *testing.T) {
	names := make([]string, 300)
	for i := range names {
		names[i] = strings.Repeat("n", i%7) + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
	}
	slices.Sort(names)
	n := &Node{Names: names}
	for i, s := range names {
		if got, ok := n.find(s); !ok || names[got] != s || got > i {
			t.Fatalf("find(%q) = %d %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "n", "zzzzz", names[0] + "!"} {
		if _, ok := n.find(s); ok {
			t.Errorf("found %q", s)
		}
	}
}
