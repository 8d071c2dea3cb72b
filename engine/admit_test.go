package engine

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/selector"
)

// storedCRD has a status with a default, and is stored at a version with other fields than the one that requests come
// at.
const storedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}, color: {type: string}}, x-kubernetes-validations: [{rule: "self.size < 10"}]}
          status: {type: object, default: {phase: New}, properties: {phase: {type: string}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, shade: {type: string}}}
`

func compileCRD(t testing.TB, manifest string) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), YAML([]byte(manifest)), Options{})
	if err != nil || !report.Accepted {
		t.Fatal(err, report)
	}
	return d
}

func widget(version, metadata, rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{` + metadata + `}` + rest + `}`))
}

func TestAdmit(t *testing.T) {
	d := compileCRD(t, storedCRD)
	const named, read = `"name":"w","namespace":"n"`, `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	for _, c := range []struct {
		name                   string
		item                   Write
		o                      AdmitOptions
		stage                  admission.Stage
		object, stored, status string // status: of the rejection
		old                    string
		deletes                bool
	}{
		{name: "a status that is dropped comes back by default", item: Create{Object: widget("v1", named, `,"status":{"phase":"x"}`)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1}}`},
		{name: "what only a server sets is wiped", item: Create{Version: "v1beta1", Object: widget("v1beta1", named+`,"uid":"u","creationTimestamp":"2020-01-01T00:00:00Z","selfLink":"l","resourceVersion":"0"`, `,"spec":{"size":2,"shade":"dark"}`)},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":2}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":2}}`},
		{name: "defaults of the storage version", item: Create{Object: widget("v1beta1", named, `,"spec":{}`)},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":1}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{}}`},
		{name: "completed and taken out", item: Create{Object: widget("v1", `"generateName":"w-"`, ``)}, o: AdmitOptions{CompleteMetadata: true},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","generation":1}}`},
		{name: "a resourceVersion is not for creations", item: Create{Object: widget("v1", named+`,"resourceVersion":"3"`, ``)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"resourceVersion should not be set on objects to be created","code":500}`},
		{name: "nor is one at a version that is not stored", item: Create{Object: widget("v1beta1", named+`,"resourceVersion":"3"`, ``)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"resourceVersion should not be set on objects to be created","code":500}`},
		{name: "validation comes before it", item: Create{Object: widget("v1", named+`,"resourceVersion":"3"`, `,"spec":{"size":10}`)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Widget.example.com \"w\" is invalid: spec: Invalid value: failed rule: self.size < 10","reason":"Invalid","details":{"name":"w","group":"example.com","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: failed rule: self.size < 10","field":"spec"}]},"code":422}`},
		{name: "generated name", item: Create{GeneratedName: "w-x2x4z", Object: widget("v1", `"generateName":"w-","namespace":"n"`, ``)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","namespace":"n","name":"w-x2x4z","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","namespace":"n","name":"w-x2x4z","generation":1}}`},
		{name: "generated name, and no other completion", item: Create{GeneratedName: "w-x2x4z", Object: widget("v1", `"generateName":"w-"`, ``)}, o: AdmitOptions{CompleteMetadata: true},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","name":"w-x2x4z","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","name":"w-x2x4z","generation":1}}`},
		{name: "generated name after mutating admission", item: Create{GeneratedName: "w-x2x4z", Object: widget("v1", `"generateName":"w-","namespace":"n"`, ``)}, stage: admission.StageFinish,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","namespace":"n","name":"w-x2x4z","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","namespace":"n","name":"w-x2x4z","generation":1}}`},
		{name: "no generated name before mutating admission", item: Create{GeneratedName: "w-x2x4z", Object: widget("v1", `"generateName":"w-","namespace":"n"`, ``)}, stage: admission.StageDecode,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-","namespace":"n"},"status":{"phase":"New"}}`},
		{name: "an object with a name keeps it", item: Create{GeneratedName: "w-x2x4z", Object: widget("v1", named+`,"generateName":"w-"`, ``)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generateName":"w-","generation":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generateName":"w-","generation":1}}`},
		{name: "a name that was not generated", item: Create{Object: widget("v1", `"generateName":"w-","namespace":"n"`, ``)}, o: AdmitOptions{WithStatus: true},
			status: strings.NewReplacer("NAME", "no name was generated from generateName: set generatedName to the generated name, or completeMetadata",
				"SOME", "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation").Replace(
				`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Widget.example.com \"\" is invalid: [metadata.name: Required value: NAME, \u003cnil\u003e: Invalid value: null: SOME]","reason":"Invalid","details":{"group":"example.com","kind":"Widget","causes":[{"reason":"FieldValueRequired","message":"Required value: NAME","field":"metadata.name"},{"reason":"FieldValueInvalid","message":"Invalid value: null: SOME","field":"\u003cnil\u003e"}]},"code":422}`)},
		{name: "rejected", item: Create{Object: widget("v1", named, `,"spec":{"size":10}`)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Widget.example.com \"w\" is invalid: spec: Invalid value: failed rule: self.size < 10","reason":"Invalid","details":{"name":"w","group":"example.com","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: failed rule: self.size < 10","field":"spec"}]},"code":422}`},
		{name: "decode", item: Create{Object: widget("v1", named+`,"uid":"u"`, `,"spec":{"x":1},"status":{"phase":null}`)}, stage: admission.StageDecode,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n"},"spec":{"size":1},"status":{}}`},
		{name: "finish keeps stamps", item: Create{Object: widget("v1", named+`,"uid":"u","creationTimestamp":"2020-01-01T00:00:00Z"`, `,"spec":{"color":"red"}`)}, stage: admission.StageFinish,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z","generation":1},"spec":{"color":"red","size":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z","generation":1},"spec":{"color":"red","size":1}}`},
		{name: "finish does not prune what is stored", item: Create{Object: widget("v1", named, `,"spec":{"size":1,"x":1}`)}, stage: admission.StageFinish,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":1,"x":1}}`},

		{name: "update", item: Update{Object: widget("v1", read, `,"spec":{"size":2}`), Old: widget("v1", read, `,"spec":{"size":1}`)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":3},"spec":{"size":2},"status":{"phase":"New"}}`},
		{name: "update of the status", item: Update{Object: widget("v1", read, `,"spec":{"size":2},"status":{}`), Old: widget("v1", read, `,"spec":{"size":1}`), Subresource: "status"},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":2},"spec":{"size":1},"status":{}}`},
		{name: "the last finalizer", item: Update{Object: widget("v1beta1", read, ``), Old: widget("v1", read+`,"finalizers":["a/b"],"deletionTimestamp":"2020-01-01T00:00:00Z"`, ``)},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7","deletionTimestamp":"2020-01-01T00:00:00Z"}}`, deletes: true},
		{name: "decode an update", item: Update{Version: "v1beta1", Object: widget("v1beta1", read, ``), Old: widget("v1", read, `,"spec":{}`)}, stage: admission.StageDecode,
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{` + read + `}}`,
			old:    `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{` + read + `},"spec":{"size":1}}`},
		{name: "of another object", item: Update{Object: widget("v1", named+`,"resourceVersion":"6","uid":"v"`, ``), Old: widget("v1", read, ``)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on widgets.example.com \"w\": StorageError: invalid object, Code: 4, Key: /registry/example.com/widgets/n/w, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: v, UID in object meta: u","reason":"Conflict","details":{"name":"w","group":"example.com","kind":"widgets"},"code":409}`},
		{name: "without a resourceVersion", item: Update{Object: widget("v1", named, ``), Old: widget("v1", read, ``)}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update","reason":"Invalid","details":{"name":"w","group":"example.com","kind":"widgets","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: 0: must be specified for an update","field":"metadata.resourceVersion"}]},"code":422}`},
		{name: "no such subresource", item: Update{Version: "v1beta1", Object: widget("v1beta1", read, ``), Old: widget("v1", read, ``), Subresource: "status"}, o: AdmitOptions{WithStatus: true},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"widgets.example.com \"w\" not found","reason":"NotFound","details":{"name":"w","group":"example.com","kind":"widgets"},"code":404}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := d.admit(context.Background(), c.item, &c.o, c.stage)
			if err != nil {
				t.Fatal(err)
			}
			sameText(t, "object", v.Object, c.object)
			sameText(t, "stored object", v.StoredObject, c.stored)
			sameText(t, "old object", v.OldObject, c.old)
			sameText(t, "status", v.Status, c.status)
			if v.Deletes != c.deletes || v.Allowed != (c.status == "") {
				t.Errorf("deletes %v, allowed %v: %+v", v.Deletes, v.Allowed, v.Rejection)
			}
		})
	}
}

// TestAdmitUpdatesOfFiles: of old objects that are manifests, CompleteMetadata gives the namespace and the
// resourceVersion that a storage would have, and the answers are without them.
func TestAdmitUpdatesOfFiles(t *testing.T) {
	d := compileCRD(t, storedCRD)
	file := widget("v1", `"name":"w"`, `,"spec":{"size":1}`)
	for _, c := range []struct {
		name           string
		item           Write
		stage          admission.Stage
		object, stored string
	}{
		{name: "itself", item: Update{Object: file, Old: file},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","generation":1},"spec":{"size":1},"status":{"phase":"New"}}`},
		{name: "in the request's namespace", item: Update{Object: file, Old: file, Namespace: "n", Name: "w"},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"size":1},"status":{"phase":"New"}}`},
		{name: "in the new object's namespace", item: Update{Object: widget("v1", `"name":"w","namespace":"m"`, ``), Old: file},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"m","generation":2},"status":{"phase":"New"}}`},
		{name: "from another version", item: Update{Object: widget("v1beta1", `"name":"w"`, `,"spec":{"size":2}`), Old: file},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","generation":2},"spec":{"size":2}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","generation":2},"spec":{"size":2}}`},
		{name: "the status", item: Update{Object: widget("v1", `"name":"w"`, `,"status":{"phase":"x"}`), Old: file, Subresource: "status"},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","generation":1},"spec":{"size":1},"status":{"phase":"x"}}`},
		{name: "a patch", item: Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"size":2}}`)), Old: file},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","generation":2},"spec":{"size":2},"status":{"phase":"New"}}`},
		{name: "a patch in the request's namespace", item: Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"size":2}}`)), Old: file, Namespace: "n"},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":2},"spec":{"size":2},"status":{"phase":"New"}}`},
		{name: "decode", item: Update{Object: file, Old: file}, stage: admission.StageDecode,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1},"status":{"phase":"New"}}`},
		{name: "finish", item: Update{Object: file, Old: file}, stage: admission.StageFinish,
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","generation":1},"spec":{"size":1},"status":{"phase":"New"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := d.admit(t.Context(), c.item, &AdmitOptions{CompleteMetadata: true}, c.stage)
			if err != nil {
				t.Fatal(err)
			}
			if !v.Allowed {
				t.Fatalf("%+v, %+v", v.Rejection, v.Violations)
			}
			sameText(t, "object", v.Object, c.object)
			sameText(t, "stored object", v.StoredObject, c.stored)
		})
	}
}

// sameText compares two JSON texts by their value; "" means that there is no text.
func sameText(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	if (got == nil) != (want == "") {
		t.Errorf("%s %s\nwant %s", what, got, want)
		return
	}
	if want != "" && !reflect.DeepEqual(anyJSON(t, got), anyJSON(t, []byte(want))) {
		t.Errorf("%s %s\nwant %s", what, got, want)
	}
}

func anyJSON(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// What Include asks for is shown of the object that is answered, of Admit and of Read.
func TestInclude(t *testing.T) {
	d := compileCRD(t, strings.Replace(storedCRD, "    subresources: {status: {}}\n", `    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.n}}
    selectableFields: [{jsonPath: .status.phase}]
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .status.phase}]
`, 1))
	o := AdmitOptions{View: ViewNone, Include: PresentationOptions{SelectableFields: true, TableRow: true, Scale: true}}
	object := widget("v1", `"name":"w","namespace":"n"`, `,"spec":{"size":3}`)
	v, err := d.Admit(context.Background(), Create{Object: object}, o)
	if err != nil || v.Presentation == nil {
		t.Fatalf("%v: %+v", err, v)
	}
	r, err := d.Read(context.Background(), object, ReadOptions{View: o.View, Include: o.Include})
	if err != nil || r.Presentation == nil {
		t.Fatalf("%v: %+v", err, r)
	}
	for call, p := range map[string]*Presentation{"Admit": v.Presentation, "Read": r.Presentation} {
		want := []selector.Field{{Field: "metadata.name", Value: "w"}, {Field: "metadata.namespace", Value: "n"}, {Field: "status.phase", Value: "New"}}
		if !reflect.DeepEqual(p.SelectableFields, want) {
			t.Errorf("%s: selectable fields %v", call, p.SelectableFields)
		}
		sameText(t, call+": row", p.TableRow, `{"cells":["w","New"],"object":null}`)
		sameText(t, call+": scale", p.Scale, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"w","namespace":"n"},"spec":{"replicas":3},"status":{"replicas":0}}`)
	}
	v, err = d.Admit(context.Background(), Create{Object: widget("v1", `"name":"w","namespace":"n"`, ``)}, o)
	if err != nil || v.Presentation == nil || v.Presentation.Scale != nil || !v.Allowed || len(v.Warnings) != 1 || !strings.HasPrefix(v.Warnings[0].Text, "crdeval: the scale cannot be shown: ") {
		t.Errorf("%v: %+v", err, v)
	}
	if v, err = d.Admit(context.Background(), Create{Version: "v1beta1", Object: widget("v1beta1", `"name":"w","namespace":"n"`, ``)}, o); err != nil || v.Presentation == nil || v.Presentation.Scale != nil || len(v.Warnings) > 0 {
		t.Errorf("%v: %+v", err, v)
	}
}

// TestAdmitViews: an object that is answered as it was sent is left out of the view of changes, whichever way it went.
func TestAdmitViews(t *testing.T) {
	d := compileCRD(t, storedCRD)
	const existing = `"name":"w","namespace":"n","generation":2,"resourceVersion":"7"`
	whole := widget("v1", existing, `,"spec":{"size":2},"status":{"phase":"x"}`)
	for _, c := range []struct {
		name  string
		item  Write
		shown bool
	}{
		{"unchanged", Update{Object: whole, Old: whole}, false},
		{"unchanged, from another version", Update{Object: whole, Old: widget("v1beta1", existing, `,"spec":{"size":2}`)}, true},
		{"unchanged at another version", Update{Object: widget("v1beta1", existing, `,"spec":{"size":2}`), Old: whole}, false},
		{"a default", Update{Object: widget("v1", existing, `,"spec":{},"status":{"phase":"x"}`), Old: whole}, true},
		{"another number", Update{Object: widget("v1", existing, `,"spec":{"size":2,"color":"\u0061\ud800"},"status":{"phase":"x"}`), Old: whole}, true},
		{"a patch", Patch{Type: MergePatch, Body: JSON([]byte(`{}`)), Old: whole}, true},
	} {
		for _, view := range []View{ViewFull, ViewChanged, ViewNone} {
			v, err := d.Admit(context.Background(), c.item, AdmitOptions{View: view})
			if err != nil || !v.Allowed {
				t.Fatalf("%s: %v %+v", c.name, err, v)
			}
			if want := view == ViewFull || view == ViewChanged && c.shown; (v.Object != nil) != want {
				t.Errorf("%s, view %d: object %s", c.name, view, v.Object)
			}
			if view == ViewNone && v.StoredObject != nil {
				t.Errorf("%s: stored object %s", c.name, v.StoredObject)
			}
		}
	}
}

// TestAdmitObjectsTakenForLists: a write that an API server stores, and cannot answer, is allowed with a note. A Scale
// or an object that is not a list has no note.
func TestAdmitObjectsTakenForLists(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		d, report, err := Compile(context.Background(), JSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
			"spec":{"group":"stable.example.com","names":{"kind":"CronTab","plural":"crontabs"},"scope":"Namespaced","versions":[
			{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
			 "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}},
			{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)), Options{})
		if err != nil || d == nil {
			t.Fatal(err, report)
		}
		with := func(metadata, items string) Document {
			return JSON([]byte(`{"apiVersion":"stable.example.com/` + version + `","kind":"CronTab","metadata":{"name":"x","namespace":"default"` + metadata + `},"spec":{"replicas":1}` + items + `}`))
		}
		object := func(items string) Document { return with(`,"uid":"u","resourceVersion":"7"`, items) }
		created := func(items string) Document { return with("", items) }
		none := `,"items":{}`
		for _, c := range []struct {
			name string
			item Write
			want bool
		}{
			{"a creation", Create{Object: created(`,"items":[]`)}, true},
			{"one with elements", Create{Object: created(`,"items":[{"a":1.0}]`)}, true},
			{"no list", Create{Object: created(none)}, false},
			{"an update", Update{Object: object(`,"items":[]`), Old: object(none)}, true},
			{"an update that fixes it", Update{Object: object(none), Old: object(`,"items":[]`)}, false},
			{"a patch", Patch{Type: MergePatch, Body: JSON([]byte(`{"items":[]}`)), Old: object(none)}, true},
			{"a rejected one", Create{Object: object(`,"items":[]`), Namespace: "other"}, false},
		} {
			v, err := d.Admit(context.Background(), c.item, AdmitOptions{})
			if err != nil {
				t.Fatalf("%s, %s: %v", version, c.name, err)
			}
			want := 0
			if c.want {
				want = 1
			}
			if v.Allowed != (c.name != "a rejected one") || strings.Count(strings.Join(textsOf(v.Warnings), "\n"), `crdeval: an object with a list "items"`) != want {
				t.Errorf("%s, %s: %+v %q", version, c.name, v.Rejection, textsOf(v.Warnings))
			}
		}
		if version == "v2" {
			continue
		}
		scale := JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default","resourceVersion":"7"},"spec":{"replicas":2}}`))
		v, err := d.Admit(context.Background(), Update{Subresource: "scale", Object: scale, Old: object(`,"items":[]`)}, AdmitOptions{})
		if err != nil || !v.Allowed || len(v.Warnings) > 0 {
			t.Errorf("a Scale: %v %+v", err, v)
		}
	}
}
