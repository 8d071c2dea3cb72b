package engine

import "testing"

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
	for name, c := range map[string]struct {
		write Write
		want  Reason
	}{
		"another kind":  {Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget"}`))}, ReasonCRDNotFound},
		"another group": {Create{Object: JSON([]byte(`{"apiVersion":"v1","kind":"Widget"}`))}, ReasonCRDNotFound},
		"no JSON":       {Create{Object: JSON([]byte(`{`))}, ReasonObjectUnreadable},
		"no object":     {nil, ReasonInvalidArgument},
	} {
		if _, err := set.Admit(t.Context(), c.write, AdmitOptions{}); ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	moved := YAML([]byte("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boxes.example.com}, " +
		"spec: {group: example.org, scope: Cluster, names: {plural: boxes, kind: Box}, versions: []}}"))
	err := set.Add(t.Context(), Options{}, moved)
	if ReasonOf(err) != ReasonCRDRejected || set.Find("example.com/v1", "Box") == nil || set.Find("example.org/v1", "Box") != nil {
		t.Errorf("a rejected CRD: %v", err)
	}
}
