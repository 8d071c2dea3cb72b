package sample_test

import (
	"bytes"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// managedSchema and managedTypes describe the same objects, the second one for upstream's code.
const managedSchema = `{"type":"object","properties":{"r":{"type":"string"},
	"i":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}},
	"l":{"type":"array","items":{"type":"string"}},
	"s":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
	"k":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"w":{"type":"integer"},"z":{"type":"integer"}}}}}}`

const managedTypes = `types:
- name: v
  map:
    fields:
    - {name: r, type: {scalar: string}}
    - name: i
      type: {map: {fields: [{name: a, type: {scalar: numeric}}, {name: b, type: {scalar: numeric}}]}}
    - {name: l, type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - {name: s, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - name: k
      type:
        list:
          elementRelationship: associative
          keys: [k]
          elementType:
            map: {fields: [{name: k, type: {scalar: string}}, {name: w, type: {scalar: numeric}}, {name: z, type: {scalar: numeric}}]}
`

// TestManaged checks with upstream's code that a part lacks the fields that the first entry of managedFields lists and the
// second one does not, and no others.
func TestManaged(t *testing.T) {
	parser, err := typed.NewParser(typed.YAMLObject(managedTypes))
	if err != nil {
		t.Fatal(err)
	}
	fields := func(o *sample.Tree) *fieldpath.Set {
		v := o.Get("v")
		if v == nil || v.Kind == tree.Null {
			return &fieldpath.Set{}
		}
		typed, err := parser.Type("v").FromYAML(typed.YAMLObject(v.JSON()))
		if err != nil {
			t.Fatalf("%s: %v", v.JSON(), err)
		}
		set, err := typed.ToFieldSet()
		if err != nil {
			t.Fatal(err)
		}
		return set.Leaves()
	}
	listed := func(entry *sample.Tree) *fieldpath.Set {
		set, name := &fieldpath.Set{}, "v"
		if err := set.FromJSON(bytes.NewReader(entry.Get("fieldsV1").JSON())); err != nil {
			t.Fatal(err)
		}
		return set.WithPrefix(fieldpath.PathElement{FieldName: &name}).Leaves()
	}
	g := sample.New(field(t, managedSchema), options)
	same, smaller, items := 0, 0, 0
	for n := range uint64(300) {
		o := g.Object(sample.NewRandom(1, n))
		whole, part := g.Managed(n, o)
		if again, _ := g.Managed(n, o); !bytes.Equal(again.JSON(), whole.JSON()) {
			t.Errorf("equal seeds give %s and %s", whole.JSON(), again.JSON())
		}
		if a, b := whole.Get("metadata").JSON(), part.Get("metadata").JSON(); !bytes.Equal(a, b) {
			t.Errorf("the metadata of the part is %s, of the object %s", b, a)
		}
		entries := whole.Follow(tree.Path{tree.Name("metadata"), tree.Name("managedFields")}).Items
		if bytes.Equal(whole.JSON(), part.JSON()) {
			same++
			continue
		}
		gone := listed(entries[0])
		lost := fields(whole).Difference(fields(part))
		if lost.Size() > 0 {
			smaller++
		}
		lost.Iterate(func(p fieldpath.Path) {
			if !gone.Has(p) {
				t.Errorf("the part lacks %v, which is not listed: %s of %s", p, part.JSON(), whole.JSON())
			}
		})
		kept := fields(part)
		gone.Iterate(func(p fieldpath.Path) {
			last := p[len(p)-1].FieldName
			switch isKey := last != nil && *last == "k" && len(p) == 3; {
			case isKey:
				items++
			case kept.Has(p):
				t.Errorf("the part has %v: %s", p, part.JSON())
			}
		})
		if len(entries) > 1 {
			if all := gone.Union(listed(entries[1])); !fields(whole).Difference(all).Empty() {
				t.Errorf("no manager has %v", fields(whole).Difference(all))
			}
		}
		if slices.ContainsFunc(part.Items, func(m *sample.Tree) bool { return whole.Get(m.Key) == nil }) {
			t.Errorf("the part has more: %s", part.JSON())
		}
	}
	if same < 50 || smaller < 100 || items < 50 {
		t.Errorf("of 300 parts %d are the object, %d are smaller, and %d items are concerned", same, smaller, items)
	}
}
