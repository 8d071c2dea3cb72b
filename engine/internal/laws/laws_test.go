package laws_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/laws"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

const things = `
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1beta1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: &schema
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [image]
            properties:
              image: {type: string}
              replicas: {type: integer, minimum: 0}
              labels: {type: object, additionalProperties: {type: string}}
              foo: {type: object, properties: {a: {type: integer}, b: {type: string}, note: {type: string, maxLength: 100}}}
              items:
                type: array
                maxItems: 5
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, maxLength: 20}, x: {type: integer}, comment: {type: string, maxLength: 50}}}
              first: {type: string}
              mode: {type: string}
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [image]
            properties:
              image: {type: string}
              replicas: {type: integer, minimum: 0}
              labels: {type: object, additionalProperties: {type: string}}
              foo: {type: object, properties: {a: {type: integer}, b: {type: string}}}
              items:
                type: array
                maxItems: 5
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, maxLength: 20}, x: {type: integer}}}
              first: {type: string}
              mode: {type: string}
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
`

const rules = `
crd: things.example.com
between: [v1beta1, v1]
rules:
- stash: {path: spec.foo.note, maxBytes: 1000}
- stash: {path: "spec.items[*].comment", maxBytes: 500}
`

// versions compiles the CRD and its rules.
func versions(t testing.TB) (beta, v1 *laws.Version, set *lens.Set) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(things), crd); err != nil {
		t.Fatal(err)
	}
	d := admission.Describe(crd, nil)
	both := make([]*laws.Version, 2)
	var sides []lens.Version
	for i, v := range d.Versions {
		s := schema.Of(&crd.Spec.Versions[i])
		var err error
		if v.Plan, err = plan.Compile(s, plan.Options{StatusSubresource: true}); err != nil {
			t.Fatal(err)
		}
		both[i] = &laws.Version{Name: v.Name, Judge: judge(d, v.Name),
			Generator: sample.New(s, sample.Options{APIVersion: v.APIVersion, Kind: "Thing", Namespaced: true})}
		sides = append(sides, lens.Version{Name: v.Name, APIVersion: v.APIVersion, Schema: s})
	}
	var doc tree.Doc
	root, err := doc.ParseYAML([]byte(rules), tree.Request, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	file, found := lens.Read(&doc, root)
	if len(found) > 0 {
		t.Fatal(found)
	}
	set, found, err = lens.Compile(t.Context(), file, sides, celcheck.NewShared())
	if err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	return both[0], both[1], set
}

func judge(d *admission.Definition, version string) func(context.Context, []byte) (laws.Verdict, error) {
	return func(ctx context.Context, object []byte) (v laws.Verdict, err error) {
		out, err := d.Judge(ctx, &admission.Request{Version: version, Body: object, WantObject: true})
		if err != nil {
			return v, err
		}
		v.Object = out.Object
		for _, found := range out.Violations {
			v.Faults = append(v.Faults, sample.Fault{Path: found.Path})
			v.Text = found.Error.Error()
		}
		if len(out.Unknown) > 0 {
			v.Text = "no field " + out.Unknown[0]
		}
		return v, nil
	}
}

// broken breaks the conversions of a set.
type broken struct {
	*lens.Set
	// change changes a converted object. before is the object. It returns another object, or the same.
	change func(to string, before, after *sample.Tree) *sample.Tree
	parts  bool // changes only what webhooks convert
	err    error
}

func (b *broken) Convert(ctx context.Context, d *tree.Doc, root uint32, from, to string, whole bool) error {
	if b.err != nil {
		return b.err
	}
	before, err := sample.Parse(d.AppendJSON(nil, root))
	if err != nil {
		return err
	}
	if err := b.Set.Convert(ctx, d, root, from, to, whole); err != nil {
		return err
	}
	after, err := sample.Parse(d.AppendJSON(nil, root))
	if err != nil {
		return err
	}
	if b.parts && whole {
		return nil
	}
	changed, err := d.Parse(b.change(to, before, after).JSON(), tree.Arena, tree.Limits{})
	if err == nil {
		d.Replace(root, changed)
	}
	return err
}

func at(names ...string) (p tree.Path) {
	for _, name := range names {
		p = append(p, tree.Name(name))
	}
	return p
}

// set sets the value at a path whose parent exists.
func set(o *sample.Tree, p tree.Path, json string) {
	v, err := sample.Parse([]byte(json))
	if err != nil {
		panic(err)
	}
	(&sample.Change{Path: p, Value: v}).Apply(o)
}

func remove(o *sample.Tree, p tree.Path) { (&sample.Change{Path: p}).Apply(o) }

// note sets the annotation of the planted conversions.
func note(o *sample.Tree, v *sample.Tree) {
	if o.Follow(at("metadata", "annotations")) == nil {
		set(o, at("metadata", "annotations"), `{}`)
	}
	set(o, at("metadata", "annotations", lens.AnnotationPrefix+"test"), string(tree.AppendString(nil, string(v.JSON()))))
}

// noted returns the value of the annotation and removes it.
func noted(o *sample.Tree) *sample.Tree {
	p := at("metadata", "annotations", lens.AnnotationPrefix+"test")
	a := o.Follow(p)
	if a == nil {
		return nil
	}
	v, err := sample.Parse([]byte(unquoted(a)))
	if err != nil {
		panic(err)
	}
	if remove(o, p); len(o.Follow(at("metadata", "annotations")).Items) == 0 {
		remove(o, at("metadata", "annotations"))
	}
	return v
}

func unquoted(a *sample.Tree) string {
	var d tree.Doc
	root, err := d.ParseJSON([]byte(a.Text), tree.Limits{})
	if err != nil {
		panic(err)
	}
	return strings.Clone(d.Str(root))
}

func hasManagers(o *sample.Tree) bool { return o.Follow(at("metadata", "managedFields")) != nil }

// planted are violations, one for each law at least. Each must be found by its law.
var planted = []struct {
	name   string
	law    lens.Law
	texts  []string // parts of the text of the counterexample
	change func(to string, before, after *sample.Tree) *sample.Tree
}{
	{"a field is lost", lens.RoundTrip, []string{"After the conversion to v1 and back, spec.replicas is absent. Before it was "},
		func(to string, _, o *sample.Tree) *sample.Tree {
			if to == "v1" {
				remove(o, at("spec", "replicas"))
			}
			return o
		}},
	{"a field of an item is lost", lens.RoundTrip, []string{"spec.items[0].x is absent"},
		func(to string, _, o *sample.Tree) *sample.Tree {
			if items := o.Follow(at("spec", "items")); items != nil && len(items.Items) > 0 {
				remove(items.Items[0], at("x"))
			}
			return o
		}},
	{"the status is lost", lens.Status, []string{"status", "is absent"},
		func(to string, _, o *sample.Tree) *sample.Tree {
			remove(o, at("status"))
			return o
		}},
	{"an annotation overrides an edit", lens.Edit, []string{"A client of v1", "spec.image", "because of the annotation"},
		func(to string, before, o *sample.Tree) *sample.Tree {
			image := before.Follow(at("spec", "image"))
			if to == "v1" && image != nil {
				note(o, image)
			} else if was := noted(o); was != nil {
				set(o, at("spec", "image"), string(was.JSON()))
			}
			return o
		}},
	{"an annotation restores below a removed parent", lens.Edit, []string{"A client of v1 ", `spec.foo is {"b":`, "because of the annotation. The change has removed it"},
		func(to string, before, o *sample.Tree) *sample.Tree {
			b := before.Follow(at("spec", "foo", "b"))
			if to == "v1" && b != nil {
				remove(o, at("spec", "foo", "b"))
				note(o, b)
			} else if was := noted(o); was != nil && o.Follow(at("spec")) != nil {
				if o.Follow(at("spec", "foo")) == nil {
					set(o, at("spec", "foo"), `{}`)
				}
				if o.Follow(at("spec", "foo", "b")) == nil {
					set(o, at("spec", "foo", "b"), string(was.JSON()))
				}
			}
			return o
		}},
	{"an annotation is forgotten after an edit", lens.Edit, []string{"spec.mode is absent", "the change does not concern it"},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if to == "v1" && before.Follow(at("spec", "mode")) != nil {
				v := before.Clone()
				remove(o, at("spec", "mode"))
				remove(v, at("metadata"))
				v.Items = append(v.Items, o.Follow(at("spec")).Clone())
				v.Items[len(v.Items)-1].Key = "now"
				note(o, v)
			} else if was := noted(o); was != nil && bytes.Equal(was.Follow(at("now")).JSON(), o.Follow(at("spec")).JSON()) {
				set(o, at("spec", "mode"), string(was.Follow(at("spec", "mode")).JSON()))
			}
			return o
		}},
	{"a constant is added to incomplete objects", lens.Locality, []string{"This is a partial object", `spec.mode of its conversion to v1 is "m". Of the conversion of the whole object it is "".`},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if o.Follow(at("spec")) != nil && o.Follow(at("spec", "mode")) == nil {
				set(o, at("spec", "mode"), `"m"`)
			}
			return o
		}},
	{"a constant is added to objects with managers", lens.Locality, []string{"This is a partial object", `spec.mode of its conversion to v1 is "m". Of the conversion of the whole object it is `},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if hasManagers(before) && o.Follow(at("spec")) != nil && o.Follow(at("spec", "mode")) == nil {
				set(o, at("spec", "mode"), `"m"`)
			}
			return o
		}},
	{"whole objects with managers pass for parts", lens.Locality, []string{"Managers have all fields of this object. The webhook converts it to another object"},
		func(_ string, before, o *sample.Tree) *sample.Tree {
			if hasManagers(before) {
				remove(o, at("spec", "replicas"))
			}
			return o
		}},
	{"parts lose a field", lens.RoundTrip, []string{"This is a partial object", "After the conversion to v1 and back, spec.mode is absent. Before it was "},
		func(_ string, before, o *sample.Tree) *sample.Tree {
			remove(o, at("spec", "mode"))
			return o
		}},
	{"parts with managers get a field by a round trip", lens.RoundTrip, []string{"This is a partial object", "After the conversion to v1 and back, spec.mode is ", "Of the whole object it is absent."},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if to == "v1beta1" && hasManagers(before) && o.Follow(at("spec")) != nil && o.Follow(at("spec", "mode")) == nil {
				set(o, at("spec", "mode"), `"m"`)
			}
			return o
		}},
	{"empty annotations are lost", lens.Metadata, []string{"changes metadata.annotations: it was {} and is absent"},
		func(_ string, _, o *sample.Tree) *sample.Tree {
			if a := o.Follow(at("metadata", "annotations")); a != nil && len(a.Items) == 0 {
				remove(o, at("metadata", "annotations"))
			}
			return o
		}},
	{"a label changes", lens.Metadata, []string{"metadata.labels.", "and is "},
		func(to string, _, o *sample.Tree) *sample.Tree {
			if l := o.Follow(at("metadata", "labels")); l != nil && to == "v1beta1" {
				for _, m := range l.Items {
					m.Text = `"changed"`
				}
			}
			return o
		}},
	{"an invalid value", lens.Validity, []string{"The object is valid in v1beta1. Its conversion to v1 is not: spec.replicas: Invalid value: -1"},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if r := o.Follow(at("spec", "replicas")); r != nil && r.Text != "0" {
				set(o, at("spec", "replicas"), `-1`)
			}
			return o
		}},
	{"an unknown field", lens.Validity, []string{"no field spec.more"},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if o.Follow(at("spec", "first")) != nil {
				set(o, at("spec", "more"), `1`)
			}
			return o
		}},
	{"an annotation without a bound", lens.Size, []string{"The conversion to v1 makes annotations of "},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if v := before.Follow(at("spec", "mode")); v != nil && to == "v1" {
				note(o, v)
			} else {
				noted(o)
			}
			return o
		}},
	{"the order of keys", lens.Determinism, []string{"The order of keys matters: spec.first is "},
		func(to string, before, o *sample.Tree) *sample.Tree {
			if l := before.Follow(at("spec", "labels")); l != nil && len(l.Items) > 1 {
				set(o, at("spec", "first"), string(tree.AppendString(nil, l.Items[0].Key)))
			}
			return o
		}},
}

func TestPlantedViolations(t *testing.T) {
	beta, v1, set := versions(t)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			results, err := laws.Test(t.Context(), &broken{Set: set, change: p.change, parts: strings.Contains(p.name, "parts")}, beta, v1, "", 200, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Law != p.law {
					continue
				}
				c := r.Counterexample
				if c == nil {
					t.Fatalf("the law %s holds for %d objects", r.Law, r.Objects)
				}
				t.Logf("%s\n%.300s\n%.300s\n%.300s", c.Text, c.Object, c.Converted, c.Back)
				o, err := sample.Parse(c.Object)
				if err != nil {
					t.Fatal(err)
				}
				if n := o.Leaves(); n > 10 {
					t.Errorf("%d fields: %s", n, c.Object)
				}
				for _, text := range p.texts {
					if !strings.Contains(c.Text, text) {
						t.Errorf("the text %q lacks %q", c.Text, text)
					}
				}
				if v, err := beta.Judge(t.Context(), c.Object); !strings.Contains(c.Text, "partial object") && !bytes.Contains(c.Object, []byte("managedFields")) && (err != nil || v.Text != "") {
					t.Errorf("the counterexample is not valid: %v %s", err, v.Text)
				}
			}
		})
	}
}

// TestLawsHold checks that nothing is found in correct rules, and that each law is tested.
func TestLawsHold(t *testing.T) {
	beta, v1, set := versions(t)
	for _, pair := range [][2]*laws.Version{{beta, v1}, {v1, beta}} {
		results, err := laws.Test(t.Context(), set, pair[0], pair[1], "", 300, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if c := r.Counterexample; c != nil {
				t.Errorf("%s from %s to %s: %s\n%s\n%s\n%s", r.Law, r.From, r.To, c.Text, c.Object, c.Converted, c.Back)
			}
			if r.Objects < 100 {
				t.Errorf("%s from %s to %s is tested with %d objects only", r.Law, r.From, r.To, r.Objects)
			}
		}
	}
}

// TestUnconverted checks that rules that convert too few objects break the law of validity.
func TestUnconverted(t *testing.T) {
	beta, v1, set := versions(t)
	results, err := laws.Test(t.Context(), &broken{Set: set, err: fmt.Errorf("no way")}, beta, v1, "", 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if c := r.Counterexample; (c != nil) != (r.Law == lens.Validity) || r.Objects > 0 {
			t.Errorf("%s: %d objects, %v", r.Law, r.Objects, c)
		} else if c != nil && !strings.Contains(c.Text, "Of 50 valid objects of v1beta1, 50 are not converted to v1. The conversion of this one fails: no way.") {
			t.Error(c.Text)
		} else if c != nil && (r.Generated != 50 || r.Unconverted != 50 || r.Failure != "no way") {
			t.Errorf("%d of %d are not converted: %s", r.Unconverted, r.Generated, r.Failure)
		}
	}
}

func TestEqualSeedsGiveEqualResults(t *testing.T) {
	beta, v1, set := versions(t)
	texts := map[string]bool{}
	for range 3 {
		results, err := laws.Test(t.Context(), &broken{Set: set, change: planted[0].change}, beta, v1, "", 20, 9)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, r := range results {
			text += fmt.Sprint(r.Law, r.Objects)
			if r.Counterexample != nil {
				text += fmt.Sprintf("%s %s", r.Counterexample.Text, r.Counterexample.Object)
			}
		}
		texts[text] = true
	}
	if len(texts) != 1 {
		t.Errorf("different results: %v", texts)
	}
}

func BenchmarkLaws(b *testing.B) {
	beta, v1, set := versions(b)
	for b.Loop() {
		if _, err := laws.Test(b.Context(), set, beta, v1, "", 200, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTestStops(t *testing.T) {
	beta, v1, set := versions(t)
	ctx, cancel := context.WithCancel(t.Context())
	objects := 0
	_, err := laws.Test(ctx, &broken{Set: set, change: func(_ string, _, o *sample.Tree) *sample.Tree {
		if objects++; objects == 50 {
			cancel()
		}
		return o
	}}, beta, v1, "", 1e9, 1)
	if err == nil || objects > 60 {
		t.Errorf("error %v after %d conversions", err, objects)
	}
}
