package kubeserver_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

var servedCRD = writecase.Manifest("boxes")

func box(version, metadata, rest string) engine.Document {
	return engine.JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1` + metadata + `}` + rest + `}`))
}

var storedCRD = writecase.Manifest("widgets")

func widget(version, metadata, rest string) engine.Document {
	return engine.JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{` + metadata + `}` + rest + `}`))
}

// TestBody: a body keeps its metadata, whether it will create or update.
func TestBody(t *testing.T) {
	d := fixture.Compile(t, servedCRD)
	body := box("v1beta1", `,"resourceVersion":"7","selfLink":"l","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"apiVersion":"v1","kind":"A","name":"a","uid":"1"}]`, `,"spec":{"x":1},"status":{"phase":"x"}`)
	want := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1,"resourceVersion":"7","selfLink":"l","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"apiVersion":"v1","kind":"A","name":"a","uid":"1"}]},"spec":{"c":"C"},"status":{"phase":"x"}}`
	for _, o := range []kubeserver.WriteOptions{{}, {Trace: rules.TraceAll}} { // both paths
		v, err := kubeserver.Body(t.Context(), d, "v1beta1", body, o)
		if err != nil || !v.Allowed || string(v.Object) != want || v.StoredObject != nil || len(v.Warnings) != 0 ||
			!slices.Equal(v.StrictErrors, []string{`unknown field "spec.x"`}) {
			t.Errorf("%v %+v\nwant %s", err, v, want)
		}
	}
	v, err := kubeserver.Body(t.Context(), d, "v1beta1", body, kubeserver.WriteOptions{FieldValidation: engine.FieldValidationStrict})
	if err != nil || v.Allowed || v.Rejection.Code != 400 || v.Rejection.Cause != `strict decoding error: unknown field "spec.x"` || len(v.StrictErrors) != 1 {
		t.Errorf("strict: %v %+v", err, v)
	}
}

// TestValidate: the object is that of the strategy, in the version of the request, without a status that the
// storage would default, and no webhook is called. No other defaults are set either.
func TestValidate(t *testing.T) {
	manifest := strings.ReplaceAll(servedCRD, "phase: {type: string}", "phase: {type: string, default: new}")
	manifest = strings.ReplaceAll(manifest, "status: {type: object,", "status: {type: object, default: {},")
	d := fixture.Compile(t, manifest+`  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://localhost/"}}}`)
	item := engine.Create{Version: "v1beta1", Namespace: "n", Object: box("v1beta1", "", `,"spec":{"a":"x","c":"C"},"status":{"phase":"x"}`)}
	want := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1},"spec":{"a":"x","c":"C"}}`
	update := engine.Update{
		Version: "v1beta1", Namespace: "n", Object: box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"y","c":"C"}`),
		Old: box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"x","c":"C"},"status":{"phase":"x"}`), OldDecoded: true,
	}
	updated := `{"apiVersion":"example.com/v1beta1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":2,"resourceVersion":"7"},"spec":{"a":"y","c":"C"},"status":{"phase":"x"}}`
	// An old object of another version lacks the default. Server-side apply that changes nothing returns it as it is.
	undefaulted := update
	undefaulted.Object = box("v1beta1", `,"resourceVersion":"7"`, `,"spec":{"a":"x"},"status":{}`)
	undefaulted.Old = undefaulted.Object
	undefaultedStatus := undefaulted
	undefaultedStatus.Subresource = "status"
	unchanged := string(undefaulted.Object.JSON)
	for _, o := range []kubeserver.WriteOptions{{}, {Trace: rules.TraceAll}} { // both paths
		for _, c := range []struct {
			write engine.ObjectWrite
			want  string
		}{{item, want}, {update, updated}, {undefaulted, unchanged}, {undefaultedStatus, unchanged}} {
			v, err := kubeserver.Validate(t.Context(), d, c.write, o)
			if err != nil || !v.Allowed || string(v.Object) != c.want || v.StoredObject != nil {
				t.Errorf("%v %+v\ngot  %s\nwant %s", err, v, v.Object, c.want)
			}
		}
	}
	if _, err := d.Finish(context.Background(), item, engine.AdmitOptions{}); engine.ReasonOf(err) != engine.ReasonConversionUnavailable {
		t.Errorf("Finish converts: %v", err)
	}
}

// TestReadsAsWritten: ReadsAsWritten is true only if Read returns the object as it is.
func TestReadsAsWritten(t *testing.T) {
	dropped := strings.Replace(servedCRD, "status: {type: object,", "status: {type: object, default: {},", 1)
	const sent = `,"spec":{"a":"x"},"status":{"phase":"x"}`
	creation := engine.Create{Namespace: "n", Object: box("v1", "", sent)}
	update := engine.Update{Namespace: "n", Object: box("v1", `,"resourceVersion":"7"`, sent), Old: box("v1", `,"resourceVersion":"7"`, ""), OldDecoded: true}
	status := update
	status.Subresource = "status"
	other, undeclared := creation, creation
	other.Object = box("v1beta1", "", sent)
	undeclared.Object = box("v1", "", `,"spec":{"b":1}`)
	validate := kubeserver.WriteOptions{FieldValidation: engine.FieldValidationIgnore}
	exact := validate
	exact.Trace = rules.TraceAll
	for name, c := range map[string]struct {
		manifest string
		item     engine.ObjectWrite
		o        kubeserver.WriteOptions
		want     bool
	}{
		"creation":                        {servedCRD, creation, validate, true},
		"update":                          {servedCRD, update, validate, true},
		"status":                          {servedCRD, status, validate, true},
		"another version":                 {servedCRD, other, validate, false},
		"a dropped status with a default": {dropped, creation, validate, false},
		"an undeclared field":             {servedCRD, undeclared, validate, false},
		"exact path":                      {servedCRD, creation, exact, false},
	} {
		d := fixture.Compile(t, c.manifest)
		v, err := kubeserver.Validate(t.Context(), d, c.item, c.o)
		if err != nil || !v.Allowed || v.ReadsAsWritten != c.want {
			t.Errorf("%s: %v %+v", name, err, v)
			continue
		}
		if read, err := d.Read(context.Background(), engine.JSON(v.Object), engine.ReadOptions{}); c.want && (err != nil || read.Changed) {
			t.Errorf("%s: %v\nread    %s\nwritten %s", name, err, read.Object, v.Object)
		}
	}
}

// TestBodyAndValidate: the body is that of Body, and ValidateAccepts is true only if Validate allows the object with the
// metadata that a server sets.
func TestBodyAndValidate(t *testing.T) {
	const at, sent = `,"resourceVersion":"7"`, `,"spec":{"a":"x"},"status":{"phase":"x"}`
	old := box("v1", at, `,"spec":{"a":"x","c":"y"},"status":{"phase":"y"}`)
	update := func(metadata, rest string) engine.Update {
		return engine.Update{Namespace: "n", Name: "b", Object: box("v1", metadata, rest), Old: old, OldDecoded: true}
	}
	status := update(at, `,"status":{"phase":"z"}`)
	status.Subresource = "status"
	stateless, stored := strings.ReplaceAll(servedCRD, "subresources: {status: {}}", "subresources: {}"), status
	stored.OldDecoded = false
	local := engine.Create{Namespace: "n", Object: engine.JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"b","creationTimestamp":null}}`))}
	root := strings.Replace(servedCRD, "openAPIV3Schema: {type: object,", `openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: "self.metadata.name != 'c'"}],`, 1)
	for name, c := range map[string]struct {
		manifest string
		item     engine.ObjectWrite
		valid    bool
	}{
		"creation":                   {servedCRD, engine.Create{Namespace: "n", Object: box("v1", "", sent)}, true},
		"no namespace":               {servedCRD, local, true},
		"defaults":                   {servedCRD, engine.Create{Namespace: "n", Object: box("v1beta1", "", sent)}, true},
		"unknown field":              {servedCRD, engine.Create{Namespace: "n", Object: box("v1", "", `,"spec":{"b":1}`)}, true},
		"invalid":                    {servedCRD, engine.Create{Namespace: "n", Object: box("v1", "", `,"spec":{"a":1}`)}, false},
		"undecodable":                {servedCRD, engine.Create{Namespace: "n", Object: box("v1", `,"labels":1`, "")}, false},
		"another namespace":          {servedCRD, engine.Create{Namespace: "m", Object: box("v1", "", sent)}, false},
		"number":                     {servedCRD, engine.Create{Namespace: "n", Object: box("v1", "", `,"spec":{"n":1.0}`)}, false},
		"rule of the root":           {root, engine.Create{Namespace: "n", Object: box("v1", "", sent)}, false},
		"update":                     {servedCRD, update(at, `,"spec":{"c":"z"},"status":{"phase":"x"}`), true},
		"update that breaks a rule":  {servedCRD, update(at, sent), false},
		"update of another revision": {servedCRD, update(`,"resourceVersion":"8"`, `,"spec":{"c":"z"}`), false},
		"no resourceVersion":         {servedCRD, update("", `,"spec":{"c":"z"}`), false},
		"status":                     {servedCRD, status, true},
		"no subresource status":      {stateless, status, false},
		"old object from storage":    {servedCRD, stored, false},
	} {
		d := fixture.Compile(t, c.manifest)
		o := kubeserver.WriteOptions{FieldValidation: engine.FieldValidationIgnore}
		got, err := kubeserver.BodyAndValidate(t.Context(), d, c.item, o)
		if err != nil || got.ValidateAccepts != c.valid {
			t.Errorf("%s: %v %+v", name, err, got)
			continue
		}
		body, err := kubeserver.Body(t.Context(), d, "", objectOf(c.item), o)
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
		validated, err := kubeserver.Validate(t.Context(), d, withObject(c.item, engine.JSON([]byte(object))), kubeserver.WriteOptions{})
		if err != nil || !validated.Allowed || validated.ReadsAsWritten != got.ReadsAsWritten || !slices.Equal(validated.Warnings, got.Warnings) {
			t.Errorf("%s: %v %+v, want %+v", name, err, validated, got)
		}
	}
	scale := engine.Update{Old: old, Object: old, Subresource: "scale"}
	for _, w := range []engine.ObjectWrite{scale, &scale} {
		_, err := kubeserver.BodyAndValidate(t.Context(), fixture.Compile(t, servedCRD), w, kubeserver.WriteOptions{})
		if engine.ReasonOf(err) != engine.ReasonInvalidArgument {
			t.Errorf("scale: %v", err)
		}
	}
}

func objectOf(w engine.ObjectWrite) engine.Document {
	if u, ok := w.(engine.Update); ok {
		return u.Object
	}
	return w.(engine.Create).Object
}

func withObject(w engine.ObjectWrite, object engine.Document) engine.ObjectWrite {
	if u, ok := w.(engine.Update); ok {
		u.Object = object
		return u
	}
	c := w.(engine.Create)
	c.Object = object
	return c
}

// TestSetDefaults: a default replaces a null, but nulls without one stay, unlike with Default.
func TestSetDefaults(t *testing.T) {
	d := fixture.Compile(t, servedCRD)
	object := box("v1beta1", "", `,"spec":{"a":null,"c":null}`)
	for name, c := range map[string]struct {
		do   func() (*engine.Transformed, error)
		want string
	}{
		"Default": {func() (*engine.Transformed, error) {
			return d.Default(t.Context(), object, engine.TransformOptions{})
		}, `,"spec":{"c":"C"}`},
		"SetDefaults": {func() (*engine.Transformed, error) {
			return kubeserver.SetDefaults(t.Context(), d, object, engine.TransformOptions{})
		}, `,"spec":{"a":null,"c":"C"}`},
	} {
		got, err := c.do()
		if want := string(box("v1beta1", "", c.want).JSON); err != nil || string(got.Object) != want {
			t.Errorf("%s: %v %s, want %s", name, err, got.Object, want)
		}
	}
}

// TestServerViews: for a server that stores objects itself, ViewChanged leaves out objects that are unchanged, on the
// fast path too, and all changes.
func TestServerViews(t *testing.T) {
	d := fixture.Compile(t, storedCRD)
	const created, stored = `"name":"w","namespace":"n","generation":1`, `"name":"w","namespace":"n","generation":2,"resourceVersion":"7"`
	whole, changed := widget("v1", stored, `,"spec":{"size":2}`), `,"spec":{"size":3}`
	type stage func(w engine.ObjectWrite, view engine.View) (*engine.Verdict, error)
	body := func(w engine.ObjectWrite, view engine.View) (*engine.Verdict, error) {
		v, err := kubeserver.Body(t.Context(), d, "", objectOf(w), kubeserver.WriteOptions{View: view})
		return v.Verdict, err
	}
	validate := func(w engine.ObjectWrite, view engine.View) (*engine.Verdict, error) {
		v, err := kubeserver.Validate(t.Context(), d, w, kubeserver.WriteOptions{View: view})
		return v.Verdict, err
	}
	for _, c := range []struct {
		name  string
		do    stage
		item  engine.ObjectWrite
		shown bool
	}{
		{"body", body, engine.Create{Object: widget("v1", stored, `,"spec":{"size":2},"status":{"phase":"x"}`)}, false},
		{"body with defaults and unknown fields", body, engine.Create{Object: widget("v1", created, `,"spec":{"other":1}`)}, true},
		{"creation", validate, engine.Create{Object: widget("v1", created, `,"spec":{"size":2}`)}, false},
		{"creation without a generation", validate, engine.Create{Object: widget("v1", `"name":"w","namespace":"n"`, `,"spec":{"size":2}`)}, true},
		{"update", validate, engine.Update{Object: whole, Old: whole, OldDecoded: true}, false},
		{"update without the new generation", validate, engine.Update{Object: widget("v1", stored, changed), Old: whole, OldDecoded: true}, true},
		{"update with the new generation", validate, engine.Update{Object: widget("v1", strings.Replace(stored, `:2`, `:3`, 1), changed), Old: whole, OldDecoded: true}, false},
	} {
		v, err := c.do(c.item, engine.ViewChanged)
		if err != nil || !v.Allowed {
			t.Fatalf("%s: %v %+v", c.name, err, v)
		}
		if (v.Object != nil) != c.shown || len(v.Pruned)+len(v.Defaulted) > 0 {
			t.Errorf("%s: object %s, pruned %v, defaulted %v", c.name, v.Object, v.Pruned, v.Defaulted)
		}
		full, err := c.do(c.item, engine.ViewFull)
		if err != nil || c.shown && string(full.Object) != string(v.Object) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, v.Object, full.Object)
		}
	}
}
