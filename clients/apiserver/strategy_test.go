package apiserver

import (
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// validated records the last call of Validate.
type validated struct {
	Definition
	write   engine.ObjectWrite
	verdict kubeserver.ValidateVerdict
}

func (d *validated) Validate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (v kubeserver.ValidateVerdict, err error) {
	d.write = w
	d.verdict, err = d.Definition.Validate(ctx, w, o)
	return d.verdict, err
}

// TestUnchanged: the evaluator returns no object for usual writes, because the strategy sets the generation before, and
// receives no managed fields of the old object.
func TestUnchanged(t *testing.T) {
	d := &validated{Definition: lamps(t)}
	s := &strategy{definition: d, version: "v1", namespaced: true, written: &writtenObjects{}}
	ctx := withOutcome(genericapirequest.WithNamespace(t.Context(), "n"))
	read := func(watts string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		metadata := `,"managedFields":[{"manager":"m","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-01T00:00:00Z",` +
			`"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},"spec":{"watts":` + watts + `}}`
		if err := unmarshal([]byte(strings.Replace(lamp, `},"spec":{"watts":1.0,"volts":2}}`, metadata, 1)), u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	old := read("1.5")
	s.PrepareForCreate(ctx, old)
	old.SetResourceVersion("7")
	for _, c := range []struct {
		watts      string
		generation int64
	}{{"1.5", 1}, {"2.5", 2}} {
		u := read(c.watts)
		u.SetResourceVersion("7")
		s.PrepareForUpdate(ctx, u, old)
		if err := outcomeOf(ctx).err; err != nil || d.verdict.Object != nil {
			t.Errorf("%s: %v, returned %s", c.watts, err, d.verdict.Object)
		}
		if u.GetGeneration() != c.generation || u.GetManagedFields() == nil {
			t.Errorf("%s: metadata %v", c.watts, u.Object["metadata"])
		}
		if strings.Contains(string(d.write.(engine.Update).Old.JSON), "managedFields") || old.GetManagedFields() == nil {
			t.Errorf("old object %s", d.write.(engine.Update).Old.JSON)
		}
	}
}

// noted is a Definition whose verdicts have a warning of API servers and a note of crdeval.
type noted struct{ Definition }

var notedWarnings = []engine.Warning{
	{Type: engine.TypeNotice, Text: "crdeval: a note"}, {Type: engine.TypeWarning, Text: "a warning"},
}

func (d noted) Validate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.ValidateVerdict, error) {
	v, err := d.Definition.Validate(ctx, w, o)
	v.Warnings = notedWarnings
	return v, err
}

func (d noted) BodyAndValidate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.BodyAndValidateVerdict, error) {
	v, err := d.Definition.BodyAndValidate(ctx, w, o)
	v.Warnings, v.ValidateAccepts = notedWarnings, err == nil && v.Allowed
	return v, err
}

// TestNotesAreNotSent: clients receive the warnings of API servers, and not the notes of crdeval.
func TestNotesAreNotSent(t *testing.T) {
	d := noted{lamps(t)}
	info := &genericapirequest.RequestInfo{Verb: "create", Namespace: "n"}
	ctx := withOutcome(genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(t.Context(), "n"), info))
	want := []string{"a warning"}
	decoder := decoder(ctx, d).(bodyDecoder)
	decoder.store = &objectStore{}
	obj, _, err := decoder.Decode([]byte(strings.Replace(lamp, `,"volts":2`, "", 1)), nil, nil)
	if s := outcomeOf(ctx).speculation; err != nil || s == nil || !slices.Equal(s.warnings, want) {
		t.Fatalf("decoding: %v, %+v", err, s)
	}
	s := &strategy{definition: d, version: "v1", namespaced: true, written: &writtenObjects{}}
	outcomeOf(ctx).speculation = nil
	s.PrepareForCreate(ctx, obj)
	if out := outcomeOf(ctx); out.err != nil || !slices.Equal(out.warnings, want) {
		t.Errorf("validation: %v, %q", out.err, out.warnings)
	}
}

// TestMutatedNames: a name that mutating admission changes is a violation, and not the name of another request.
func TestMutatedNames(t *testing.T) {
	s := &strategy{definition: lamps(t), version: "v1", namespaced: true, written: &writtenObjects{}}
	ctx := withOutcome(genericapirequest.WithNamespace(t.Context(), "n"))
	read := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := unmarshal([]byte(lamp), u); err != nil {
			t.Fatal(err)
		}
		u.SetResourceVersion("7")
		return u
	}
	for name, want := range map[any]string{
		"other":  `Lamp.example.com "other" is invalid: metadata.name: Invalid value: "other": field is immutable`,
		int64(1): `metadata.name: Required value: name or generateName is required`,
	} {
		u := read()
		u.Object["metadata"].(map[string]any)["name"] = name
		s.PrepareForUpdate(ctx, u, read())
		if err := outcomeOf(ctx).err; !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", name, err, want)
		}
	}
}

// TestSpeculation: the strategy uses the validation of the body only for the object and the old object that it is about.
func TestSpeculation(t *testing.T) {
	const old = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"spec":{"watts":1.5}}`
	body := strings.Replace(old, "1.5", "2.5", 1)
	object := func(text string, fields ...string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := unmarshal([]byte(text), u); err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			u.Object["metadata"].(map[string]any)[f] = "set"
		}
		return u
	}
	const entry = `{"manager":"m","operation":"Update","apiVersion":"example.com/v1","time":"2026-01-05T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}`
	withManaged := func(entry string) string {
		return strings.Replace(body, `"name":"a"`, `"name":"a","managedFields":[`+entry+`]`, 1)
	}
	creation, update := &speculation{decoded: []byte(body)}, &speculation{decoded: []byte(body), oldVersion: "7"}
	newer := object(old)
	newer.SetResourceVersion("8")
	for name, c := range map[string]struct {
		s           *speculation
		subresource string
		u, old      *unstructured.Unstructured
		want        bool
	}{
		"creation":                   {creation, "", object(body), nil, true},
		"creation, set by a server":  {creation, "", object(body, "uid", "creationTimestamp", "generation", "namespace"), nil, true},
		"creation, deleted":          {creation, "", object(body, "deletionTimestamp"), nil, false},
		"creation, selfLink":         {creation, "", object(body, "selfLink"), nil, false},
		"creation, managed fields":   {creation, "", object(withManaged(entry)), nil, true},
		"not managed fields":         {creation, "", object(body, "managedFields"), nil, false},
		"managed fields, fraction":   {creation, "", object(withManaged(strings.Replace(entry, "00Z", "00.1Z", 1))), nil, false},
		"managed fields, no text":    {creation, "", object(withManaged(strings.Replace(entry, `"m"`, `1`, 1))), nil, false},
		"managed fields, unknown":    {creation, "", object(withManaged(strings.Replace(entry, `"manager"`, `"x"`, 1))), nil, false},
		"no managed fields entry":    {creation, "", object(withManaged("1")), nil, false},
		"namespace of another type":  {creation, "", object(strings.Replace(body, `"n"`, `1`, 1)), nil, false},
		"creation with a label":      {creation, "", object(body, "labels"), nil, false},
		"creation, another spec":     {creation, "", object(old), nil, false},
		"update":                     {update, "", object(body), object(old), true},
		"update, set by a server":    {update, "", object(body, "generation", "namespace"), object(old), true},
		"update, managed fields":     {update, "", object(withManaged(entry)), object(old), true},
		"update with another uid":    {update, "", object(body, "uid"), object(old), false},
		"update of another revision": {update, "", object(body), newer, false},
		"update of the status":       {update, "status", object(body), object(old), false},
		"update after a creation":    {creation, "", object(body), object(old), false},
		"creation after an update":   {update, "", object(body), nil, false},
		"without a speculation":      {nil, "", object(body), nil, false},
	} {
		if got := c.s.appliesTo(c.subresource, c.u, c.old); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestIsUnchanged: an object equals the text that it was decoded from, and no other.
func TestIsUnchanged(t *testing.T) {
	const text = `{"metadata":{"name":"a"},"a":[1,1.0,"x",true,false,null,{},[],{"b":"c"}],"d":{"e":2}}`
	u := &unstructured.Unstructured{}
	if err := unmarshal([]byte(text), u); err != nil {
		t.Fatal(err)
	}
	if !isUnchanged([]byte(text), u, nil) {
		t.Error("the same")
	}
	for _, edit := range []string{
		`1,1.0>1.0,1.0`, `1,1.0>1,1`, `"x">"y"`, `true>false`, `false>null`, `null>0`, `{},[]>[],{}`, `"b":"c">`, `"e":2>"e":3`, `"e":2>"f":2`,
		`"e":2>"e":2,"f":2`, `,"d":{"e":2}>`, `"name":"a">"name":"b"`, `"name":"a">"name":"a","uid":"u"`, `"metadata":{"name":"a"}>"metadata":null`,
	} {
		from, to, _ := strings.Cut(edit, ">")
		if other := strings.Replace(text, from, to, 1); other == text || isUnchanged([]byte(other), u, nil) {
			t.Errorf("%s is the same", other)
		}
	}
}

// TestPrepare: the strategy sets status and generation as upstream does.
func TestPrepare(t *testing.T) {
	const head = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{`
	for _, c := range []struct {
		hasStatus    bool
		subresource  string
		u, old, want string
	}{
		{true, "", `},"spec":1,"status":1}`, ``, `"generation":1},"spec":1}`},
		{false, "", `},"spec":1,"status":1}`, ``, `"generation":1},"spec":1,"status":1}`},
		{true, "", `"name":"a"},"spec":1,"status":1}`, `"generation":4},"spec":1,"status":2}`, `"generation":4,"name":"a"},"spec":1,"status":2}`},
		{true, "", `},"spec":1,"status":1}`, `"generation":4},"spec":2}`, `"generation":5},"spec":1}`},
		{false, "", `},"spec":1,"status":1}`, `"generation":4},"spec":1,"status":2}`, `"generation":5},"spec":1,"status":1}`},
		{true, "", `}}`, `"generation":4},"spec":1}`, `"generation":5}}`},
		{true, "status", `"generation":9,"managedFields":[{"manager":"m"}]},"spec":1,"status":1}`, `"generation":4,"managedFields":[2],"uid":"u"},"spec":2}`, `"generation":4,"managedFields":[{"manager":"m"}],"uid":"u"},"spec":2,"status":1}`},
		{true, "status", `"managedFields":"x"},"status":1}`, `"generation":4},"status":2}`, `"generation":4},"status":1}`},
		{true, "status", `},"spec":1}`, `"generation":4,"managedFields":[2]},"spec":2,"status":2}`, `"generation":4},"spec":2}`},
	} {
		read := func(text string) *unstructured.Unstructured {
			if text == "" {
				return nil
			}
			u := &unstructured.Unstructured{}
			if err := unmarshal([]byte(head+text), u); err != nil {
				t.Fatal(err)
			}
			return u
		}
		u, old := read(c.u), read(c.old)
		s := &strategy{hasStatus: c.hasStatus, subresource: c.subresource}
		s.prepare(u, old)
		got, err := marshal(u)
		if want := head + c.want; err != nil || string(got) != want {
			t.Errorf("%+v: %v\ngot  %s\nwant %s", c, err, got, want)
		}
		if old != nil {
			if kept, err := marshal(old); err != nil || string(kept) != head+c.old {
				t.Errorf("%+v: %v, old object %s", c, err, kept)
			}
		}
	}
}
