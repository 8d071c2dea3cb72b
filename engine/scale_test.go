package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestGetScale(t *testing.T) {
	d := scaled(t)
	for _, c := range []struct {
		name, version, object, want string
		reason                      Reason
		code                        int32
	}{
		{name: "all", object: stored, want: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7"},` +
			`"spec":{"replicas":1},"status":{"replicas":1,"selector":"a=b"}}`},
		{name: "no replicas", object: strings.Replace(stored, `"replicas":1,"image"`, `"image"`, 1), reason: ReasonObjectRejected, code: 500},
		{name: "a text for replicas", object: strings.Replace(stored, `"replicas":1`, `"replicas":"1"`, 1), reason: ReasonObjectRejected, code: 500},
		{name: "no subresource", object: strings.Replace(stored, "/v1", "/v2", 1), reason: ReasonInvalidArgument, code: 404},
		{name: "another version", version: "v2", object: stored, reason: ReasonInvalidArgument},
		{name: "no object", object: `[]`, reason: ReasonInvalidArgument},
		{name: "no JSON", object: `{`, reason: ReasonObjectUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := d.GetScale(context.Background(), c.version, JSON([]byte(c.object)))
			if string(got) != c.want || ReasonOf(err) != c.reason {
				t.Errorf("%s, %v", got, err)
			}
			var e *Error
			if c.code != 0 && (!errors.As(err, &e) || e.Rejection == nil || e.Rejection.Code != c.code) {
				t.Errorf("%+v, want %d", err, c.code)
			}
		})
	}
}

// scaleOf is a Scale as a client sends it.
func scaleOf(metadata, replicas string) string {
	return `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{` + metadata + `},"spec":{"replicas":` + replicas + `}}`
}

func TestSetScale(t *testing.T) {
	d := scaled(t)
	for _, c := range []struct {
		name, object, scale, want string
		reason                    Reason
		message                   string
		warnings                  []string
	}{
		{name: "set", object: stored, scale: scaleOf(`"name":"x"`, "9"), want: strings.Replace(stored, `"replicas":1`, `"replicas":9`, 1)},
		{name: "no replicas before", object: strings.Replace(stored, `"spec":{"replicas":1,"image":"a<b"},`, "", 1), scale: scaleOf(`"name":"x"`, "9"),
			want: strings.Replace(strings.Replace(stored, `"spec":{"replicas":1,"image":"a<b"},`, "", 1), `"a=b"}}`, `"a=b"},"spec":{"replicas":9}}`, 1)},
		{name: "a resourceVersion", object: stored, scale: scaleOf(`"name":"x","resourceVersion":"8"`, "9"),
			want: strings.Replace(strings.Replace(stored, `"replicas":1`, `"replicas":9`, 1), `"7"`, `"8"`, 1)},
		{name: "no way", object: strings.Replace(stored, `{"replicas":1,"image":"a<b"}`, `"x"`, 1), scale: scaleOf(`"name":"x"`, "9"), reason: ReasonObjectRejected, message: "accessor error"},
		{name: "another name", object: stored, scale: scaleOf(`"name":"y"`, "9"), reason: ReasonObjectRejected, message: "(y) does not match"},
		{name: "no name", object: stored, scale: scaleOf(``, "9"), reason: ReasonObjectRejected, message: "name must be provided"},
		{name: "another uid", object: stored, scale: scaleOf(`"name":"x","uid":"v"`, "9"), reason: ReasonObjectRejected, message: "UID in precondition: v"},
		{name: "no number", object: stored, scale: scaleOf(`"name":"x"`, `"9"`), reason: ReasonObjectRejected,
			message:  `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111": json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32`,
			warnings: []string{"crdeval: the Scale cannot be decoded: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"}},
		{name: "the least number", object: stored, scale: scaleOf(`"name":"x"`, `-2147483648`), reason: ReasonObjectRejected, message: "cannot be empty"},
		{name: "no Scale", object: stored, scale: stored, reason: ReasonObjectRejected,
			warnings: []string{`crdeval: the Scale cannot be decoded: no kind "CronTab" is registered for version "stable.example.com/v1" in scheme "pkg/runtime/scheme.go:111"`}},
		{name: "no subresource", object: strings.Replace(stored, "/v1", "/v2", 1), scale: scaleOf(`"name":"x"`, "9"), reason: ReasonInvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := d.SetScale(context.Background(), "", JSON([]byte(c.object)), JSON([]byte(c.scale)))
			if string(got) != c.want || ReasonOf(err) != c.reason || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
			var e *Error
			if errors.As(err, &e) && !slices.Equal(TextsOf(e.Warnings), c.warnings) {
				t.Errorf("warnings %q, want %q", TextsOf(e.Warnings), c.warnings)
			}
		})
	}
}

// TestAdmitScale: a write to the scale subresource is answered by a Scale, and what is stored is the object.
func TestAdmitScale(t *testing.T) {
	d := scaled(t)
	const answer = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default","uid":"u"},"spec":{"replicas":3},"status":{"replicas":1,"selector":"a=b"}}`
	after := strings.NewReplacer(`"spec":{"replicas":1`, `"spec":{"replicas":3`, `"generation":3`, `"generation":4`, `"resourceVersion":"7",`, ``).Replace(stored)
	for _, c := range []struct {
		name, body string
		patch      PatchType
		o          EvaluationOptions
		object     string
		stored     string
		code       int32
		message    string
	}{
		{name: "a Scale", body: scaleOf(`"name":"x"`, "3"), object: answer, stored: after},
		{name: "a merge patch", patch: MergePatch, body: `{"spec":{"replicas":3}}`, object: answer, stored: after},
		{name: "a JSON patch", patch: JSONPatch, body: `[{"op":"replace","path":"/spec/replicas","value":3}]`, object: answer, stored: after},
		{name: "the verdict alone", body: scaleOf(`"name":"x"`, "3"), o: EvaluationOptions{View: ViewNone}},
		{name: "stage DECODE", body: scaleOf(`"name":"x"`, "3"), o: EvaluationOptions{Stage: StageDecode},
			object: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default"},"spec":{"replicas":3},"status":{"replicas":0}}`},
		{name: "too many", body: scaleOf(`"name":"x"`, "6"), code: 422, message: "should be less than or equal to 5"},
		{name: "less than none", body: scaleOf(`"name":"x"`, "-1"), code: 422, message: "should be a non-negative integer"},
		{name: "a rule", body: scaleOf(`"name":"x"`, "4"), code: 422, message: "not 4"},
		{name: "another resourceVersion", body: scaleOf(`"name":"x","resourceVersion":"8"`, "3"), code: 409},
		{name: "another API version", body: strings.Replace(scaleOf(`"name":"x"`, "3"), "autoscaling/v1", "autoscaling/v2", 1), code: 400},
		{name: "an invalid patch of a Scale", patch: MergePatch, body: `{"spec":{"replicas":"x"}}`, code: 422, message: "patch: Invalid value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			item := Item{Subresource: "scale", OldObject: JSON([]byte(stored)), Object: JSON([]byte(c.body))}
			if c.patch != 0 {
				item.Object, item.Patch = Document{}, &Patch{Type: c.patch, Document: item.Object}
			}
			v, err := d.Admit(context.Background(), item, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if string(v.Object) != c.object || string(v.StoredObject) != c.stored {
				t.Errorf("object %s\nwant   %s\nstored %s\nwant   %s", v.Object, c.object, v.StoredObject, c.stored)
			}
			if (c.code == 0) != v.Allowed || c.code != 0 && (v.Rejection.Code != c.code || !strings.Contains(v.Rejection.Message, c.message)) {
				t.Errorf("rejection %+v, want %d %s", v.Rejection, c.code, c.message)
			}
			for _, f := range v.Violations {
				if f.Position != nil && IsCause(f.Type) {
					t.Errorf("%s has a position", f.Error())
				}
			}
		})
	}
}

// TestScaleOfManyOwners: owner references of a Scale have the bound that those of an object have: apimachinery compares
// each with all others, and knows no deadline.
func TestScaleOfManyOwners(t *testing.T) {
	d := scaled(t)
	owners := func(n int) string { return `"ownerReferences":[` + numbered(n, `{"uid":"%d"}`) + `]` }
	scale := func(n int) Document {
		return JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default",` + owners(n) + `},"spec":{"replicas":2}}`))
	}
	patch := func(n int) *Patch {
		return &Patch{Type: MergePatch, Document: JSON([]byte(`{"metadata":{` + owners(n) + `},"spec":{"replicas":2}}`))}
	}
	old := JSON([]byte(stored))
	for name, do := range map[string]func(n int) error{
		"Admit": func(n int) error {
			_, err := d.Admit(context.Background(), Item{Object: scale(n), OldObject: old, Subresource: "scale"}, EvaluationOptions{})
			return err
		},
		"Admit of a patch": func(n int) error {
			_, err := d.Admit(context.Background(), Item{Patch: patch(n), OldObject: old, Subresource: "scale"}, EvaluationOptions{})
			return err
		},
		"SetScale": func(n int) error { _, err := d.SetScale(context.Background(), "v1", old, scale(n)); return err },
	} {
		if err := do(10); err != nil {
			t.Errorf("%s of a few: %v", name, err)
		}
		if err := do(1001); ReasonOf(err) != ReasonLimitExceeded || !strings.HasPrefix(err.Error(), "Scale: size of metadata.ownerReferences") {
			t.Errorf("%s of many: %v", name, err)
		}
	}
}
