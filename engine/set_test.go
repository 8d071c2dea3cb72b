package engine

import (
	"strings"
	"testing"
)

// TestSet finds the CRDs of all writes, and judges a second manifest of a CRD as an update.
func TestSet(t *testing.T) {
	var set Set
	if err := set.Add(t.Context(), Options{}, YAML([]byte(servedCRD)), YAML([]byte(storedCRD))); err != nil {
		t.Fatal(err)
	}
	if list := set.Definitions(); len(list) != 2 || list[0].Kind() != "Box" || list[1].Kind() != "Widget" {
		t.Errorf("%v", list)
	}
	const named, read = `"name":"w","namespace":"n"`, `"name":"w","namespace":"n","uid":"u","resourceVersion":"7"`
	old := widget("v1", read, ``)
	for name, w := range map[string]Write{
		"create":           Create{Object: widget("v1", named, ``)},
		"create, pointer":  &Create{Object: widget("v1", named, ``)},
		"update":           Update{Object: old, Old: old},
		"update, pointer":  &Update{Object: old, Old: old},
		"patch":            Patch{Type: MergePatch, Body: JSON([]byte(`{}`)), Old: old},
		"patch, pointer":   &Patch{Type: MergePatch, Body: JSON([]byte(`{}`)), Old: old},
		"of the other CRD": Create{Object: box("v1", "", "")},
	} {
		if v, err := set.Admit(t.Context(), w, AdmitOptions{}); err != nil || !v.Allowed {
			t.Errorf("%s: %v %+v", name, err, v)
		}
		if v, err := set.Validate(t.Context(), w, ValidateOptions{}); err != nil || !v.Allowed {
			t.Errorf("%s: Validate: %v %+v", name, err, v)
		}
	}
	const untyped = "the document lacks apiVersion or kind"
	for name, c := range map[string]struct {
		write Write
		want  Reason
		text  string // a part of the message
	}{
		"another kind": {Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget"}`))},
			ReasonCRDNotFound, `kind "Gadget"`},
		"another group":   {Create{Object: JSON([]byte(`{"apiVersion":"v1","kind":"Widget"}`))}, ReasonCRDNotFound, `"v1"`},
		"no kind":         {Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1"}`))}, ReasonCRDNotFound, untyped},
		"no apiVersion":   {Create{Object: JSON([]byte(`{"kind":"Widget"}`))}, ReasonCRDNotFound, untyped},
		"an empty text":   {Create{Object: YAML([]byte{})}, ReasonCRDNotFound, untyped},
		"null":            {Create{Object: YAML([]byte("null"))}, ReasonCRDNotFound, untyped},
		"a list":          {Create{Object: JSON([]byte(`[]`))}, ReasonCRDNotFound, untyped},
		"no JSON":         {Create{Object: JSON([]byte(`{`))}, ReasonObjectUnreadable, "unexpected end"},
		"no write":        {nil, ReasonInvalidArgument, "make a Create, an Update or a Patch"},
		"no object":       {Create{}, ReasonInvalidArgument, "there is no object"},
		"an empty patch":  {Patch{}, ReasonInvalidArgument, "MergePatch or JSONPatch"},
		"no old object":   {Patch{Type: MergePatch, Body: JSON([]byte(`{}`))}, ReasonInvalidArgument, "set Old"},
		"a scale of none": {Update{Object: old, Subresource: "scale"}, ReasonInvalidArgument, "set Old"},
	} {
		if _, err := set.Admit(t.Context(), c.write, AdmitOptions{}); ReasonOf(err) != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s: %s", name, err, c.want, c.text)
		}
	}
	moved := YAML([]byte("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boxes.example.com}, " +
		"spec: {group: example.org, scope: Cluster, names: {plural: boxes, kind: Box}, versions: []}}"))
	err := set.Add(t.Context(), Options{}, moved)
	if ReasonOf(err) != ReasonCRDRejected || set.Find("example.com/v1", "Box") == nil || set.Find("example.org/v1", "Box") != nil {
		t.Errorf("a rejected CRD: %v", err)
	}
}
