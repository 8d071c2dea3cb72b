package publish_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/publish"
)

func TestGetScale(t *testing.T) {
	d := scaled(t)
	for _, c := range []struct {
		name, version, object, want string
		reason                      engine.Reason
		code                        int32
	}{
		{name: "all", object: stored, want: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7"},` +
			`"spec":{"replicas":1},"status":{"replicas":1,"selector":"a=b"}}`},
		{name: "no replicas", object: strings.Replace(stored, `"replicas":1,"image"`, `"image"`, 1), reason: engine.ReasonObjectRejected, code: 500},
		{name: "a text for replicas", object: strings.Replace(stored, `"replicas":1`, `"replicas":"1"`, 1), reason: engine.ReasonObjectRejected, code: 500},
		{name: "no subresource", object: strings.Replace(stored, "/v1", "/v2", 1), reason: engine.ReasonInvalidArgument, code: 404},
		{name: "another version", version: "v2", object: stored, reason: engine.ReasonInvalidArgument},
		{name: "no object", object: `[]`, reason: engine.ReasonInvalidArgument},
		{name: "no JSON", object: `{`, reason: engine.ReasonObjectUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := publish.GetScale(context.Background(), d, c.version, engine.JSON([]byte(c.object)))
			if string(got) != c.want || engine.ReasonOf(err) != c.reason {
				t.Errorf("%s, %v", got, err)
			}
			var e *engine.Error
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
		reason                    engine.Reason
		message                   string
		warnings                  []string
	}{
		{name: "set", object: stored, scale: scaleOf(`"name":"x"`, "9"), want: strings.Replace(stored, `"replicas":1`, `"replicas":9`, 1)},
		{name: "no replicas before", object: strings.Replace(stored, `"spec":{"replicas":1,"image":"a<b"},`, "", 1), scale: scaleOf(`"name":"x"`, "9"),
			want: strings.Replace(strings.Replace(stored, `"spec":{"replicas":1,"image":"a<b"},`, "", 1), `"a=b"}}`, `"a=b"},"spec":{"replicas":9}}`, 1)},
		{name: "a resourceVersion", object: stored, scale: scaleOf(`"name":"x","resourceVersion":"8"`, "9"),
			want: strings.Replace(strings.Replace(stored, `"replicas":1`, `"replicas":9`, 1), `"7"`, `"8"`, 1)},
		{name: "no way", object: strings.Replace(stored, `{"replicas":1,"image":"a<b"}`, `"x"`, 1), scale: scaleOf(`"name":"x"`, "9"), reason: engine.ReasonObjectRejected, message: "accessor error"},
		{name: "another name", object: stored, scale: scaleOf(`"name":"y"`, "9"), reason: engine.ReasonObjectRejected, message: "(y) does not match"},
		{name: "no name", object: stored, scale: scaleOf(``, "9"), reason: engine.ReasonObjectRejected, message: "name must be provided"},
		{name: "another uid", object: stored, scale: scaleOf(`"name":"x","uid":"v"`, "9"), reason: engine.ReasonObjectRejected, message: "UID in precondition: v"},
		{name: "no number", object: stored, scale: scaleOf(`"name":"x"`, `"9"`), reason: engine.ReasonObjectRejected,
			message:  `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111": json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32`,
			warnings: []string{"crdeval: the Scale cannot be decoded: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"}},
		{name: "the least number", object: stored, scale: scaleOf(`"name":"x"`, `-2147483648`), reason: engine.ReasonObjectRejected, message: "cannot be empty"},
		{name: "no Scale", object: stored, scale: stored, reason: engine.ReasonObjectRejected,
			warnings: []string{`crdeval: the Scale cannot be decoded: no kind "CronTab" is registered for version "stable.example.com/v1" in scheme "pkg/runtime/scheme.go:111"`}},
		{name: "no subresource", object: strings.Replace(stored, "/v1", "/v2", 1), scale: scaleOf(`"name":"x"`, "9"), reason: engine.ReasonInvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := publish.SetScale(context.Background(), d, "", engine.JSON([]byte(c.object)), engine.JSON([]byte(c.scale)))
			if string(got) != c.want || engine.ReasonOf(err) != c.reason || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
			var e *engine.Error
			if !errors.As(err, &e) {
				return
			}
			same := func(w engine.Warning, text string) bool { return w.Type == engine.TypeNotice && w.Text == text }
			if !slices.EqualFunc(e.Warnings, c.warnings, same) {
				t.Errorf("warnings %+v, want %q", e.Warnings, c.warnings)
			}
		})
	}
}

// TestSetScaleOfManyOwners: owner references of a Scale have the bound that those of an object have.
func TestSetScaleOfManyOwners(t *testing.T) {
	d := scaled(t)
	for owners, reason := range map[int]engine.Reason{10: "", 1001: engine.ReasonLimitExceeded} {
		scale := scaleOf(`"name":"x","namespace":"default","ownerReferences":[`+strings.Repeat(`{"uid":"u"},`, owners-1)+`{"uid":"v"}]`, "2")
		if _, err := publish.SetScale(t.Context(), d, "v1", engine.JSON([]byte(stored)), engine.JSON([]byte(scale))); engine.ReasonOf(err) != reason {
			t.Errorf("%d owners: %v", owners, err)
		}
	}
}
