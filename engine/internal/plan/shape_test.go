package plan

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

func changed(list []Change) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Text)
	}
	return out
}

func TestPrune(t *testing.T) {
	for _, c := range []struct {
		name, schema, object, want string
		paths                      []string
	}{
		{"sorted, topmost only", `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"z":{"y":1},"a":{"x":"1","w":[1]},"b":2}`, `{"a":{"x":"1"}}`, []string{"a.w", "b", "z"}},
		{"root metadata stays whole", `{"type":"object"}`, `{"apiVersion":"v1","kind":"K","metadata":{"any":1},"spec":1}`,
			`{"apiVersion":"v1","kind":"K","metadata":{"any":1}}`, []string{"spec"}},
		{"metadata elsewhere is unknown", `v:{"type":"object","properties":{"a":{"type":"string"}}}`, `v:{"metadata":1,"kind":2,"a":"b"}`,
			`{"v":{"a":"b"}}`, []string{"v.kind", "v.metadata"}},
		{"preserve is for one level", `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			`v:{"known":{"a":"x","b":"y"},"other":{"depth":{"nested":null}}}`, `{"v":{"known":{"a":"x"},"other":{"depth":{"nested":null}}}}`, []string{"v.known.b"}},
		{"preserve passes through items", `v:{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}`,
			`v:[{"a":{"b":"x","c":"y"},"d":"z"}]`, `{"v":[{"a":{"b":"x"},"d":"z"}]}`, []string{"v[0].a.c"}},
		{"additionalProperties: true", `v:{"type":"object","additionalProperties":true}`, `v:{"a":1,"b":{"c":1,"d":{"e":1}},"l":[{"x":1}]}`,
			`{"v":{"a":1,"b":{},"l":[{}]}}`, []string{"v.b.c", "v.b.d", "v.l[0].x"}},
		{"additionalProperties: false", `v:{"type":"object","additionalProperties":false}`, `v:{"a":{"b":1}}`, `{"v":{"a":{}}}`, []string{"v.a.b"}},
		{"map values", `v:{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}`, `v:{"k.1/x":{"a":"c","b":1}}`,
			`{"v":{"k.1/x":{"a":"c"}}}`, []string{"v.k.1/x.b"}},
		{"embedded resource", `v:{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"a":{"type":"string"}}}`, `v:{"metadata":{"x":1},"kind":1,"b":1}`,
			`{"v":{"metadata":{"x":1},"kind":1}}`, []string{"v.b"}},
		{"items without schema", `v:{"type":"array"}`, `v:[{"a":1},[{"b":1}]]`, `{"v":[{},[{}]]}`, []string{"v[0].a", "v[1][0].b"}},
		{"nothing to do", `v:{"type":"string"}`, `v:{"a":1}`, `{"v":{}}`, []string{"v.a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			got, _ := p.Prune(d, root, true)
			if out := string(d.AppendJSON(nil, root)); out != c.want || !slices.Equal(changed(got), c.paths) {
				t.Errorf("got %s %q\nwant %s %q", out, changed(got), c.want, c.paths)
			}
			for _, x := range got {
				if x.Node == 0 || x.Path.Dotted() != x.Text {
					t.Errorf("%q: node %d, path %s", x.Text, x.Node, x.Path)
				}
			}
			d, root = parseText(t, c.object)
			if pruned, _ := p.Prune(d, root, false); pruned != nil || string(d.AppendJSON(nil, root)) != c.want {
				t.Error("without track it prunes otherwise")
			}
		})
	}
	t.Run("no schema", func(t *testing.T) {
		p, err := Compile(nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, root := parseText(t, `{"kind":"K","spec":1}`)
		if got := changed(prune(t, p, d, root)); !slices.Equal(got, []string{"spec"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestNullsAndDefaults(t *testing.T) {
	for _, c := range []struct {
		name, schema, object, dropped, want string
		filled                              []string
	}{
		{"the table of nulls", `v:{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","nullable":true},"c":{"type":"string","default":"x"},"d":{"type":"string","nullable":true,"default":"x"}}}`,
			`v:{"a":null,"b":null,"c":null,"d":null}`, `{"v":{"b":null,"c":null,"d":null}}`, `{"v":{"b":null,"c":"x","d":null}}`, []string{"v.c"}},
		{"absent", `v:{"type":"object","properties":{"d":{"type":"string","nullable":true,"default":"x"},"c":{"type":"string","default":"x"}}}`,
			`v:{}`, `{"v":{}}`, `{"v":{"c":"x","d":"x"}}`, []string{"v.c", "v.d"}},
		{"items", `v:{"type":"array","items":{"type":"string","default":"x"}}`, `v:[null,"a"]`, `{"v":[null,"a"]}`, `{"v":["x","a"]}`, []string{"v[0]"}},
		{"items without default", `v:{"type":"array","items":{"type":"string"}}`, `v:[null]`, `{"v":[null]}`, `{"v":[null]}`, nil},
		{"map values", `v:{"type":"object","additionalProperties":{"type":"string","default":"x"}}`, `v:{"a.b":null,"b":"c"}`, `{"v":{"a.b":null,"b":"c"}}`,
			`{"v":{"a.b":"x","b":"c"}}`, []string{"v.a.b"}},
		{"map values without default", `v:{"type":"object","additionalProperties":{"type":"string"}}`, `v:{"a":null,"b":"c"}`, `{"v":{"b":"c"}}`, `{"v":{"b":"c"}}`, nil},
		{"no parent is made", `v:{"type":"object","properties":{"a":{"type":"object","default":{},"properties":{"x":{"type":"integer","default":1}}},"b":{"type":"object","properties":{"x":{"type":"integer","default":1}}}}}`,
			`v:{}`, `{"v":{}}`, `{"v":{"a":{"x":1}}}`, []string{"v.a"}},
		{"existing values are filled", `v:{"type":"object","properties":{"b":{"type":"object","properties":{"x":{"type":"integer","default":1}}}}}`,
			`v:{"b":{}}`, `{"v":{"b":{}}}`, `{"v":{"b":{"x":1}}}`, []string{"v.b.x"}},
		{"nulls in defaults stay", `v:{"type":"object","properties":{"a":{"type":"object","default":{"n":null},"properties":{"n":{"type":"string"}}}}}`,
			`v:{}`, `{"v":{}}`, `{"v":{"a":{"n":null}}}`, []string{"v.a"}},
		{"metadata keeps the defaults that it knows", `v:{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object","properties":{
			"apiVersion":{"type":"string","default":"v1"},"name":{"type":"string","default":"n"},"namespace":{"type":"string","default":""},
			"creationTimestamp":{"type":"string","default":"2020-01-01T00:00:00+02:00"},"labels":{"type":"object","default":{"a":"b"},"additionalProperties":{"type":"string"}}}}}}`,
			`v:{"metadata":{}}`, `{"v":{"metadata":{}}}`, `{"v":{"metadata":{"creationTimestamp":"2019-12-31T22:00:00Z","labels":{"a":"b"},"name":"n"}}}`,
			[]string{"v.metadata.creationTimestamp", "v.metadata.labels", "v.metadata.name"}},
		{"preserved nulls stay", `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `v:{"a":null}`, `{"v":{"a":null}}`, `{"v":{"a":null}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			nulls, err := p.DropNulls(d, root, true)
			if err != nil {
				t.Fatal(err)
			}
			if wasDropped := c.dropped != `{"v"`+c.object[1:]+`}`; wasDropped != (len(nulls) > 0) {
				t.Errorf("reports the nulls %q", changed(nulls))
			}
			if out := string(d.AppendJSON(nil, root)); out != c.dropped {
				t.Errorf("nulls: got %s, want %s", out, c.dropped)
			}
			filled := changed(fillDefaults(t, p, d, root))
			if out := string(d.AppendJSON(nil, root)); out != c.want || !slices.Equal(filled, c.filled) {
				t.Errorf("defaults: got %s %q, want %s %q", out, filled, c.want, c.filled)
			}
			if again := fillDefaults(t, p, d, root); again != nil {
				t.Errorf("defaulting again filled %q", changed(again))
			}
		})
	}
}

const embedded = `v:{"type":"object","additionalProperties":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}`

func TestCoerceEmbedded(t *testing.T) {
	p := compileText(t, embedded, Options{})
	for _, c := range []struct {
		name, object string
		lenient      bool
		want, err    string
		unknown      []string
	}{
		{"unknown metadata", `v:{"b":{"metadata":{"name":"x","b":1,"a":1,"creationTimestamp":null}},"a":{"metadata":{"z":1}}}`, false,
			`{"v":{"b":{"metadata":{"name":"x"}},"a":{"metadata":{}}}}`, "", []string{"v[a].metadata.z", "v[b].metadata.a", "v[b].metadata.b"}},
		{"number as kind", `v:{"a.b":{"kind":1}}`, false, "", `v[a.b].kind: Invalid value: 1: must be a string`, nil},
		{"number as kind, lenient", `v:{"a":{"kind":1,"x":1}}`, true, `{"v":{"a":{"x":1}}}`, "", nil},
		{"labels that do not fit", `v:{"a":{"metadata":{"labels":{"a":1}}}}`, false, "",
			`v[a].metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`, nil},
		{"labels that do not fit, lenient", `v:{"a":{"metadata":{"name":"x","labels":{"a":1}}}}`, true, `{"v":{"a":{"metadata":{"name":"x"}}}}`, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, root := parseText(t, c.object)
			unknown, err, _ := p.CoerceEmbedded(d, root, metadata.Options{Lenient: c.lenient, Track: true})
			if err != nil {
				if err.Error.Error() != c.err || err.Step != violation.Decode {
					t.Errorf("error %q", err.Error.Error())
				}
				return
			}
			if out := string(d.AppendJSON(nil, root)); out != c.want || c.err != "" || !slices.Equal(unknown, c.unknown) {
				t.Errorf("got %s %q", out, unknown)
			}
		})
	}
}

func TestExplainEmbedded(t *testing.T) {
	p := compileText(t, embedded, Options{})
	d, root := parseText(t, `v:{"a.b":{"metadata":{"name":"x/y"}},"c":{"apiVersion":"a/b/c","kind":"","metadata":{}}}`)
	got := p.ExplainEmbedded(d, root, At{Field: field.NewPath("at")})
	want := []string{
		`at.v[a.b].apiVersion: Required value`,
		`at.v[a.b].kind: Required value`,
		`at.v[a.b].metadata.name: Invalid value: "x/y": may not contain '/'`,
		`at.v[c].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
		`at.v[c].kind: Invalid value: "": must not be empty`,
	}
	if !slices.Equal(texts(got), want) {
		t.Fatalf("got %q", texts(got))
	}
	if v := got[0]; v.Path.Pointer() != "/v/a.b/apiVersion" || v.Node != d.Finder().Lookup(root, v.Path[:2]) || v.Step != violation.Embedded {
		t.Errorf("path %s, node %d", v.Path, v.Node)
	}
	if v := got[2]; v.Path.Pointer() != "/v/a.b/metadata" || v.Schema != "/properties/v/additionalProperties/x-kubernetes-embedded-resource" {
		t.Errorf("path %s, schema %s", v.Path, v.Schema)
	}
}
