package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// Tests of what a server needs that decodes bodies before it knows the old object, and holds objects decoded.

const servedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string}, c: {type: string}, n: {type: number}}, x-kubernetes-validations: [{rule: "!has(oldSelf.c) || has(self.c)"}]},
      status: {type: object, properties: {phase: {type: string}}}}}}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string}, c: {type: string, default: C}, n: {type: number}}},
      status: {type: object, properties: {phase: {type: string}}}}}}
`

func box(version, metadata, rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1` + metadata + `}` + rest + `}`))
}

// TestStageBody: a body keeps its metadata, whether it will create or update.
func TestStageBody(t *testing.T) {
	d := compileCRD(t, servedCRD)
	body := box("v1beta1", `,"resourceVersion":"7","selfLink":"l","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"apiVersion":"v1","kind":"A","name":"a","uid":"1"}]`, `,"spec":{"x":1},"status":{"phase":"x"}`)
	want := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1,"resourceVersion":"7","selfLink":"l","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"apiVersion":"v1","kind":"A","name":"a","uid":"1"}]},"spec":{"c":"C"},"status":{"phase":"x"}}`
	item := Item{Version: "v1beta1", Name: "other", Namespace: "other", Object: body}
	for _, o := range []EvaluationOptions{{Stage: StageBody}, {Stage: StageBody, Trace: TraceAll}} { // both paths
		v, err := d.Admit(context.Background(), item, o)
		if err != nil || !v.Allowed || string(v.Object) != want || v.StoredObject != nil || len(v.Warnings) != 0 ||
			!slices.Equal(v.StrictErrors, []string{`unknown field "spec.x"`}) {
			t.Errorf("%v %+v\nwant %s", err, v, want)
		}
	}
	v, err := d.Admit(context.Background(), item, EvaluationOptions{Stage: StageBody, FieldValidation: FieldValidationStrict})
	if err != nil || v.Allowed || v.Rejection.Code != 400 || v.Rejection.Cause != `strict decoding error: unknown field "spec.x"` || len(v.StrictErrors) != 1 {
		t.Errorf("strict: %v %+v", err, v)
	}
	for _, bad := range []Item{
		{Object: body, OldObject: body}, {Object: body, GeneratedName: "x"}, {Object: body, Subresource: "status"},
		{Patch: &Patch{MergePatch, JSON([]byte("{}"))}},
	} {
		if _, err := d.Admit(context.Background(), bad, EvaluationOptions{Stage: StageBody}); ReasonOf(err) != ReasonInvalidArgument {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := d.Validate(context.Background(), item, EvaluationOptions{Stage: StageBody}); ReasonOf(err) != ReasonInvalidArgument {
		t.Error("Validate has no stage", err)
	}
}

// TestStageValidate: the object is that of the strategy, in the version of the request, without a status that the
// storage would default, and no webhook is called. No other defaults are set either.
func TestStageValidate(t *testing.T) {
	manifest := strings.ReplaceAll(servedCRD, "phase: {type: string}", "phase: {type: string, default: new}")
	manifest = strings.ReplaceAll(manifest, "status: {type: object,", "status: {type: object, default: {},")
	d := compileCRD(t, manifest+`  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://localhost/"}}}`)
	item := Item{Version: "v1beta1", Namespace: "n", Object: box("v1beta1", "", `,"spec":{"a":"x","c":"C"},"status":{"phase":"x"}`)}
	want := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1},"spec":{"a":"x","c":"C"}}`
	update := item
	update.Object, update.OldDecoded = box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"y","c":"C"}`), true
	update.OldObject = box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"x","c":"C"},"status":{"phase":"x"}`)
	updated := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":2,"resourceVersion":"7"},"spec":{"a":"y","c":"C"},"status":{"phase":"x"}}`
	// An old object of another version lacks the default. Server-side apply that changes nothing returns it as it is.
	undefaulted := update
	undefaulted.Object = box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"x"},"status":{}`)
	undefaulted.OldObject = undefaulted.Object
	undefaultedStatus := undefaulted
	undefaultedStatus.Subresource = "status"
	unchanged := string(undefaulted.Object.JSON)
	for _, o := range []EvaluationOptions{{Stage: StageValidate}, {Stage: StageValidate, Trace: TraceAll}} { // both paths
		for _, c := range []struct {
			Item
			want string
		}{{item, want}, {update, updated}, {undefaulted, unchanged}, {undefaultedStatus, unchanged}} {
			v, err := d.Admit(context.Background(), c.Item, o)
			if err != nil || !v.Allowed || string(v.Object) != c.want || v.StoredObject != nil {
				t.Errorf("%v %+v\ngot  %s\nwant %s", err, v, v.Object, c.want)
			}
		}
	}
	if _, err := d.Admit(context.Background(), item, EvaluationOptions{Stage: StageFinish}); ReasonOf(err) != ReasonConversionUnavailable {
		t.Errorf("StageFinish converts: %v", err)
	}
	bad := Item{OldObject: update.OldObject, Patch: &Patch{MergePatch, JSON([]byte("{}"))}}
	if _, err := d.Admit(context.Background(), bad, EvaluationOptions{Stage: StageValidate}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("a patch: %v", err)
	}
	included := EvaluationOptions{Stage: StageValidate, Include: PresentationOptions{Scale: true}}
	if _, err := d.Admit(context.Background(), item, included); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("Include: %v", err)
	}
}

// TestReadsAsWritten: ReadsAsWritten is true only if Read returns the object as it is.
func TestReadsAsWritten(t *testing.T) {
	dropped := strings.Replace(servedCRD, "status: {type: object,", "status: {type: object, default: {},", 1)
	const sent = `,"spec":{"a":"x"},"status":{"phase":"x"}`
	creation := Item{Namespace: "n", Object: box("v1", "", sent)}
	update := Item{Namespace: "n", Object: box("v1", `,"resourceVersion":"7"`, sent), OldObject: box("v1", `,"resourceVersion":"7"`, ""), OldDecoded: true}
	status := update
	status.Subresource = "status"
	other, undeclared := creation, creation
	other.Object = box("v1beta1", "", sent)
	undeclared.Object = box("v1", "", `,"spec":{"b":1}`)
	validate := EvaluationOptions{Stage: StageValidate, FieldValidation: FieldValidationIgnore}
	exact := validate
	exact.Trace = TraceAll
	for name, c := range map[string]struct {
		manifest string
		item     Item
		o        EvaluationOptions
		want     bool
	}{
		"creation":                        {servedCRD, creation, validate, true},
		"update":                          {servedCRD, update, validate, true},
		"status":                          {servedCRD, status, validate, true},
		"another version":                 {servedCRD, other, validate, false},
		"a dropped status with a default": {dropped, creation, validate, false},
		"an undeclared field":             {servedCRD, undeclared, validate, false},
		"exact path":                      {servedCRD, creation, exact, false},
		"another stage":                   {servedCRD, creation, EvaluationOptions{}, false},
	} {
		d := compileCRD(t, c.manifest)
		v, err := d.Admit(context.Background(), c.item, c.o)
		if err != nil || !v.Allowed || v.ReadsAsWritten != c.want {
			t.Errorf("%s: %v %+v", name, err, v)
			continue
		}
		if read, err := d.Read(context.Background(), Item{Object: JSON(v.Object)}, EvaluationOptions{}); c.want && (err != nil || read.Changed) {
			t.Errorf("%s: %v\nread    %s\nwritten %s", name, err, read.Object, v.Object)
		}
	}
}

// TestStageBodyAndValidate: the body is that of StageBody, and an object is Valid only if StageValidate allows it with
// the metadata that a server sets.
func TestStageBodyAndValidate(t *testing.T) {
	const at, sent = `,"resourceVersion":"7"`, `,"spec":{"a":"x"},"status":{"phase":"x"}`
	old := box("v1", at, `,"spec":{"a":"x","c":"y"},"status":{"phase":"y"}`)
	update := func(metadata, rest string) Item {
		return Item{Namespace: "n", Name: "b", Object: box("v1", metadata, rest), OldObject: old, OldDecoded: true}
	}
	status := update(at, `,"status":{"phase":"z"}`)
	status.Subresource = "status"
	stateless, stored := strings.ReplaceAll(servedCRD, "subresources: {status: {}}", "subresources: {}"), status
	stored.OldDecoded = false
	local := Item{Namespace: "n", Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"b","creationTimestamp":null}}`))}
	root := strings.Replace(servedCRD, "openAPIV3Schema: {type: object,", `openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: "self.metadata.name != 'c'"}],`, 1)
	for name, c := range map[string]struct {
		manifest string
		item     Item
		valid    bool
	}{
		"creation":                   {servedCRD, Item{Namespace: "n", Object: box("v1", "", sent)}, true},
		"no namespace":               {servedCRD, local, true},
		"defaults":                   {servedCRD, Item{Namespace: "n", Object: box("v1beta1", "", sent)}, true},
		"unknown field":              {servedCRD, Item{Namespace: "n", Object: box("v1", "", `,"spec":{"b":1}`)}, true},
		"invalid":                    {servedCRD, Item{Namespace: "n", Object: box("v1", "", `,"spec":{"a":1}`)}, false},
		"undecodable":                {servedCRD, Item{Namespace: "n", Object: box("v1", `,"labels":1`, "")}, false},
		"another namespace":          {servedCRD, Item{Namespace: "m", Object: box("v1", "", sent)}, false},
		"number":                     {servedCRD, Item{Namespace: "n", Object: box("v1", "", `,"spec":{"n":1.0}`)}, false},
		"rule of the root":           {root, Item{Namespace: "n", Object: box("v1", "", sent)}, false},
		"update":                     {servedCRD, update(at, `,"spec":{"c":"z"},"status":{"phase":"x"}`), true},
		"update that breaks a rule":  {servedCRD, update(at, sent), false},
		"update of another revision": {servedCRD, update(`,"resourceVersion":"8"`, `,"spec":{"c":"z"}`), false},
		"no resourceVersion":         {servedCRD, update("", `,"spec":{"c":"z"}`), false},
		"status":                     {servedCRD, status, true},
		"no subresource status":      {stateless, status, false},
		"old object from storage":    {servedCRD, stored, false},
	} {
		d := compileCRD(t, c.manifest)
		o := EvaluationOptions{Stage: StageBodyAndValidate, FieldValidation: FieldValidationIgnore}
		got, err := d.Admit(t.Context(), c.item, o)
		if err != nil || got.Valid != c.valid {
			t.Errorf("%s: %v %+v", name, err, got)
			continue
		}
		o.Stage = StageBody
		body, err := d.Admit(t.Context(), Item{Object: c.item.Object}, o)
		if err != nil || body.Allowed != got.Allowed || string(body.Object) != string(got.Object) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got.Object, body.Object)
		}
		if !c.valid {
			continue
		}
		object := strings.Replace(string(got.Object), `"name":"b"`, `"name":"b","managedFields":[{"manager":"m","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-05T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{}}]`, 1)
		if !strings.Contains(object, `"namespace"`) {
			object = strings.Replace(object, `"name":"b"`, `"name":"b","namespace":"n"`, 1)
		}
		c.item.Object = JSON([]byte(object))
		validated, err := d.Admit(t.Context(), c.item, EvaluationOptions{Stage: StageValidate})
		if err != nil || !validated.Allowed || validated.ReadsAsWritten != got.ReadsAsWritten || !slices.Equal(validated.Warnings, got.Warnings) {
			t.Errorf("%s: %v %+v, want %+v", name, err, validated, got)
		}
	}
	d := compileCRD(t, servedCRD)
	for _, bad := range []Item{
		{OldObject: old, Patch: &Patch{MergePatch, JSON([]byte("{}"))}}, {OldObject: old, Object: old, Subresource: "scale"}, {Object: old, Subresource: "status"},
	} {
		if _, err := d.Admit(t.Context(), bad, EvaluationOptions{Stage: StageBodyAndValidate}); ReasonOf(err) != ReasonInvalidArgument {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestOldDecoded: an old object that was read already does not get defaults of the version of the request.
func TestOldDecoded(t *testing.T) {
	d := compileCRD(t, servedCRD)
	const spec, stored = `,"spec":{"a":"x"}`, `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1},"spec":{"a":"x"`
	status := Item{Subresource: "status", Object: box("v1beta1", `,"resourceVersion":"7"`, spec+`,"status":{"phase":"x"}`),
		OldObject: box("v1beta1", `,"resourceVersion":"7"`, spec), OldDecoded: true}
	for _, trace := range []TraceMode{TraceNone, TraceAll} { // both paths
		o := EvaluationOptions{Trace: trace}
		v, err := d.Admit(context.Background(), status, o)
		if want := stored + `},"status":{"phase":"x"}}`; err != nil || string(v.StoredObject) != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, v.StoredObject, want)
		}
		fromStorage := status
		fromStorage.OldDecoded = false
		v, err = d.Admit(context.Background(), fromStorage, o)
		if want := stored + `,"c":"C"},"status":{"phase":"x"}}`; err != nil || string(v.StoredObject) != want {
			t.Errorf("from storage: %v\ngot  %s\nwant %s", err, v.StoredObject, want)
		}
		// A rule sees the old object as it is, too.
		update := status
		update.Subresource, update.Object = "", box("v1", `,"resourceVersion":"7"`, spec)
		update.OldObject = box("v1", `,"resourceVersion":"7"`, `,"spec":{"a":"x","c":"C"}`)
		if v, err := d.Admit(context.Background(), update, o); err != nil || len(v.Violations) != 1 {
			t.Errorf("%v %+v", err, v)
		}
		other := status
		other.OldObject = box("v1", "", spec)
		if _, err := d.Admit(context.Background(), other, o); ReasonOf(err) != ReasonInvalidArgument {
			t.Errorf("an old object of another version: %v", err)
		}
	}
	if _, err := d.Admit(context.Background(), Item{Object: status.Object, OldDecoded: true}, EvaluationOptions{}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("no old object: %v", err)
	}
	if _, err := d.Read(context.Background(), Item{Object: status.Object, OldDecoded: true}, EvaluationOptions{}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("a read: %v", err)
	}
}

// TestUnchanged: which updates store what is stored already.
func TestUnchanged(t *testing.T) {
	d := compileCRD(t, servedCRD)
	const sent, spec = `,"resourceVersion":"7"`, `,"spec":{"a":"x"}`
	for _, c := range []struct {
		name string
		item Item
		want bool
	}{
		{"the same", Item{Object: box("v1", sent, spec), OldObject: box("v1", "", spec)}, true},
		{"keys in another order", Item{Object: box("v1", sent, `,"spec":{"c":"C","a":"x"}`), OldObject: box("v1", "", `,"spec":{"a":"x","c":"C"}`)}, true},
		{"a null that is dropped", Item{Object: box("v1", sent, `,"spec":{"a":"x","c":null}`), OldObject: box("v1", "", spec)}, true},
		{"another spec", Item{Object: box("v1", sent, `,"spec":{"a":"y"}`), OldObject: box("v1", "", spec)}, false},
		{"a label", Item{Object: box("v1", sent+`,"labels":{"a":"b"}`, spec), OldObject: box("v1", "", spec)}, false},
		{"a status that is ignored", Item{Object: box("v1", sent, spec+`,"status":{"phase":"x"}`), OldObject: box("v1", "", spec)}, true},
		{"another status", Item{Subresource: "status", Object: box("v1", sent, spec+`,"status":{"phase":"x"}`), OldObject: box("v1", "", spec)}, false},
		{"the same status", Item{Subresource: "status", Object: box("v1", sent, `,"spec":{"a":"y"},"status":{"phase":"x"}`), OldObject: box("v1", "", spec+`,"status":{"phase":"x"}`)}, true},
		{"a patch without effect", Item{Patch: &Patch{MergePatch, JSON([]byte(`{"spec":{"a":"x"}}`))}, OldObject: box("v1", sent, spec)}, true},
		{"a patch", Item{Patch: &Patch{MergePatch, JSON([]byte(`{"spec":{"a":"y"}}`))}, OldObject: box("v1", sent, spec)}, false},
		{"the same at another version", Item{Version: "v1beta1", Object: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), OldObject: box("v1", "", `,"spec":{"a":"x","c":"C"}`)}, true},
		{"a default of another version", Item{Version: "v1beta1", Object: box("v1beta1", sent, spec), OldObject: box("v1", "", spec)}, false},
		{"stored at another version", Item{Object: box("v1", sent, `,"spec":{"a":"x","c":"C"}`), OldObject: box("v1beta1", "", `,"spec":{"a":"x","c":"C"}`)}, false},
		{"an unknown field in storage", Item{Object: box("v1", sent, spec), OldObject: box("v1", "", `,"spec":{"a":"x","y":1}`)}, false},
		{"a stored 1.0", Item{Object: box("v1", sent, `,"spec":{"n":1}`), OldObject: box("v1", "", `,"spec":{"n":1.0}`)}, false},
		{"the same as a decoded one", Item{Version: "v1beta1", Object: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), OldObject: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), OldDecoded: true}, true},
		{"a default that a decoded one lacks", Item{Version: "v1beta1", Object: box("v1beta1", sent, spec), OldObject: box("v1beta1", sent, spec), OldDecoded: true}, false},
		{"invalid UTF-8 in storage", Item{Object: box("v1", sent, `,"spec":{"a":"\ufffd("}`), OldObject: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}")}, false},
		{"invalid UTF-8 in storage, a status", Item{Version: "v1", Subresource: "status", Object: box("v1", sent, spec), OldObject: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}")}, false},
		{"an unpaired surrogate in storage", Item{Object: box("v1", sent, `,"spec":{"a":"\ufffd("}`), OldObject: box("v1", "", `,"spec":{"a":"\ud800("}`)}, false},
		{"a creation", Item{Object: box("v1", "", spec)}, false},
		{"rejected", Item{Object: box("v1", "", spec), OldObject: box("v1", "", spec)}, false},
		{"the last finalizer", Item{Object: box("v1", sent, ""), OldObject: box("v1", `,"deletionTimestamp":"2026-01-06T08:00:00Z","finalizers":["a/b"]`, "")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range []EvaluationOptions{{}, {View: ViewNone}, {View: ViewChanged}, {Trace: TraceAll}} {
				v, err := d.Admit(context.Background(), c.item, o)
				if err != nil || v.Unchanged != c.want {
					t.Errorf("%+v: %v %+v", o, err, v)
				}
			}
		})
	}
	nullable := compileCRD(t, strings.Replace(servedCRD, "status: {type: object", "status: {nullable: true, type: object", 1))
	null := Item{Subresource: "status", Object: box("v1", sent, spec), OldObject: box("v1", "", spec+`,"status":null`)}
	if v, err := nullable.Admit(context.Background(), null, EvaluationOptions{}); err != nil || v.Unchanged {
		t.Errorf("a status of null is removed: %v %+v", err, v)
	}
}

// TestKeepNulls: a default replaces a null, but nulls without one stay.
func TestKeepNulls(t *testing.T) {
	d := compileCRD(t, servedCRD)
	for keep, want := range map[bool]string{false: `,"spec":{"c":"C"}}`, true: `,"spec":{"a":null,"c":"C"}}`} {
		got, err := d.Default(context.Background(), Item{Object: box("v1beta1", "", `,"spec":{"a":null,"c":null}`)}, EvaluationOptions{KeepNulls: keep})
		if want = string(box("v1beta1", "", "").JSON[:len(box("v1beta1", "", "").JSON)-1]) + want; err != nil || string(got.Object) != want {
			t.Errorf("%v: %v %s, want %s", keep, err, got.Object, want)
		}
	}
	if _, err := d.Prune(context.Background(), Item{Object: box("v1", "", "")}, EvaluationOptions{KeepNulls: true}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("Prune: %v", err)
	}
	if _, err := d.Validate(context.Background(), Item{Object: box("v1", "", "")}, EvaluationOptions{KeepNulls: true}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("Validate: %v", err)
	}
}

// TestServerViews: for a server that stores objects itself, ViewChanged leaves out objects that are unchanged, on the
// fast path too, and all changes.
func TestServerViews(t *testing.T) {
	d := compileCRD(t, storedCRD)
	const created, stored = `"name":"w","namespace":"n","generation":1`, `"name":"w","namespace":"n","generation":2,"resourceVersion":"7"`
	whole, changed := widget("v1", stored, `,"spec":{"size":2}`), `,"spec":{"size":3}`
	for _, c := range []struct {
		name  string
		stage Stage
		item  Item
		shown bool
	}{
		{"body", StageBody, Item{Object: widget("v1", stored, `,"spec":{"size":2},"status":{"phase":"x"}`)}, false},
		{"body with defaults and unknown fields", StageBody, Item{Object: widget("v1", created, `,"spec":{"other":1}`)}, true},
		{"creation", StageValidate, Item{Object: widget("v1", created, `,"spec":{"size":2}`)}, false},
		{"creation without a generation", StageValidate, Item{Object: widget("v1", `"name":"w","namespace":"n"`, `,"spec":{"size":2}`)}, true},
		{"update", StageValidate, Item{Object: whole, OldObject: whole, OldDecoded: true}, false},
		{"update without the new generation", StageValidate, Item{Object: widget("v1", stored, changed), OldObject: whole, OldDecoded: true}, true},
		{"update with the new generation", StageValidate, Item{
			Object: widget("v1", strings.Replace(stored, `:2`, `:3`, 1), changed), OldObject: whole, OldDecoded: true,
		}, false},
	} {
		v, err := d.Admit(t.Context(), c.item, EvaluationOptions{Stage: c.stage, View: ViewChanged})
		if err != nil || !v.Allowed {
			t.Fatalf("%s: %v %+v", c.name, err, v)
		}
		if (v.Object != nil) != c.shown || len(v.Pruned)+len(v.Defaulted) > 0 {
			t.Errorf("%s: object %s, pruned %v, defaulted %v", c.name, v.Object, v.Pruned, v.Defaulted)
		}
		full, err := d.Admit(t.Context(), c.item, EvaluationOptions{Stage: c.stage})
		if err != nil || c.shown && string(full.Object) != string(v.Object) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, v.Object, full.Object)
		}
	}
}
