package celcheck

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

func TestScopes(t *testing.T) {
	s := props(t, `
type: object
x-kubernetes-preserve-unknown-fields: true
properties:
  spec:
    type: object
    properties:
      a: {type: object, properties: {x: {type: integer}}}
      b: {type: object, properties: {x: {type: integer}}}
      a/b: {type: string}
      1st: {type: object, properties: {w: {type: string}}}
      2nd: {x-kubernetes-preserve-unknown-fields: true}
      free: {x-kubernetes-preserve-unknown-fields: true}
      frees: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
      list: {type: array, items: {type: object, properties: {z: {type: boolean}}}}
      map: {type: object, additionalProperties: {type: array, items: {type: number}}}
      pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, properties: {metadata: {type: object, properties: {name: {type: string}, labels: {type: object, additionalProperties: {type: string}}}}}}
`)
	root := NewShared().Root(s)
	spec := root.Property("spec")
	for name, c := range map[string]struct {
		scope *Scope
		rule  string
		want  string // the beginning of the error
	}{
		"root":                      {root, "self.kind == 'x' && self.apiVersion == 'y' && self.metadata.name == 'z' && self.metadata.generateName == ''", ""},
		"labels":                    {root, "has(self.metadata.labels)", "compilation failed: ERROR: <input>:1:4: undefined field 'labels'"},
		"equal types elsewhere":     {spec, "self.a == self.b", "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(selfType0.a, selfType0.b)'"},
		"escaped":                   {spec, "self.a__slash__b == ''", ""},
		"without an escape":         {spec, "has(self.1st)", "compilation failed: ERROR: <input>:1:"},
		"below one":                 {spec.Property("1st"), "self.w == ''", ""},
		"untyped":                   {spec, "has(self.free)", "compilation failed: ERROR: <input>:1:4: undefined field 'free'"},
		"untyped items":             {spec, "has(self.frees)", "compilation failed: ERROR: <input>:1:4: undefined field 'frees'"},
		"items":                     {spec.Property("list").Items(), "self.z", ""},
		"map values":                {spec.Property("map").Additional(), "self.all(n, n > 0.0)", ""},
		"embedded":                  {spec.Property("pod"), "self.metadata.name == self.kind", ""},
		"declared metadata":         {spec.Property("pod").Property("metadata"), "has(self.generateName)", ""},
		"declared metadata, labels": {spec.Property("pod").Property("metadata"), "has(self.labels)", "compilation failed: ERROR: <input>:1:4: undefined field 'labels'"},
		"oldSelf":                   {spec.Property("a"), "self.x >= oldSelf.x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.scope.CompileRule(t.Context(), celenv.Stored(), c.rule, false)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if c.want == "" && text != "" || !strings.HasPrefix(text, c.want) {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	for _, name := range []string{"free", "frees", "2nd", "none"} {
		if spec.Property(name) != nil {
			t.Errorf("%s has a scope", name)
		}
	}
	if a, b := spec.Property("a").Type(), spec.Property("b").Type(); a != b {
		t.Error("equal types are two")
	}
	metadata := spec.Property("pod").Property("metadata")
	if metadata.Type() == metadata.Declared() || metadata.Type().Member("labels") == nil || metadata.Declared().Member("labels") != nil {
		t.Error("the values of declared metadata have a member that expressions do not see")
	}
}

func TestTypes(t *testing.T) {
	s := props(t, everything)
	got := NewShared().Root(s).Type()
	if !got.Root || !got.Declared || got.Kind != closure.Object {
		t.Errorf("%+v", got)
	}
	kinds := map[string]closure.Kind{
		"i": closure.Int, "num": closure.Double, "s": closure.String, "b": closure.Bool, "by": closure.Bytes, "du": closure.Duration, "da": closure.Date,
		"dt": closure.DateTime, "ios": closure.Dyn, "l": closure.List, "m": closure.Map, "o": closure.Object, "p": closure.Opaque,
	}
	slot := int32(0)
	for i := range got.Members {
		m := &got.Members[i]
		if kind, ok := kinds[m.Name]; ok && m.Type.Kind != kind {
			t.Errorf("%s is of kind %d, want %d", m.Name, m.Type.Kind, kind)
		}
		if _, written := s.Properties[m.Name]; !written {
			if m.Slot != closure.NoSlot {
				t.Errorf("%s has slot %d", m.Name, m.Slot)
			}
			continue
		}
		if m.Slot != slot {
			t.Errorf("%s has slot %d, want %d", m.Name, m.Slot, slot)
		}
		slot++
	}
	if m := got.Member("o").Type.Member("namespace"); m.Ident != "__namespace__" {
		t.Errorf("namespace is spelt %s", m.Ident)
	}
	if l := got.Member("ml").Type; l.List != closure.MapList || len(l.Keys) != 1 || l.Keys[0] != "k" {
		t.Errorf("%+v", l)
	}
}

// everything is a schema with a value of each type.
const everything = `
type: object
required: [i]
properties:
  i: {type: integer}
  num: {type: number}
  s: {type: string, maxLength: 10}
  b: {type: boolean}
  by: {type: string, format: byte}
  du: {type: string, format: duration}
  da: {type: string, format: date}
  dt: {type: string, format: date-time}
  ios: {x-kubernetes-int-or-string: true}
  l: {type: array, items: {type: integer}}
  ls: {type: array, items: {type: string}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
  ml: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer}}}}
  m: {type: object, additionalProperties: {type: integer}}
  o: {type: object, properties: {a-b: {type: integer}, namespace: {type: string}}}
  nul: {type: string, nullable: true}
  p: {x-kubernetes-preserve-unknown-fields: true}
`
