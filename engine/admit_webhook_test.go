package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// renamer is a conversion webhook that knows that v1's color is v1beta1's shade. What is in bad it does not convert.
type renamer struct{ bad []byte }

func (r renamer) Convert(_ context.Context, q conversionwebhook.Request) ([][]byte, error) {
	out := make([][]byte, len(q.Objects))
	for i, object := range q.Objects {
		if len(r.bad) > 0 && bytes.Contains(object, r.bad) {
			return nil, nil
		}
		from, to := "shade", "color"
		if strings.HasSuffix(q.DesiredAPIVersion, "/v1beta1") {
			from, to = to, from
		}
		text := bytes.ReplaceAll(object, []byte(`"`+from+`"`), []byte(`"`+to+`"`))
		out[i] = bytes.Replace(text, []byte(`"apiVersion":"example.com/`+map[string]string{"shade": "v1beta1", "color": "v1"}[from]+`"`), []byte(`"apiVersion":"`+q.DesiredAPIVersion+`"`), 1)
	}
	return out, nil
}

// deepener is a conversion webhook that returns objects with a nested list.
type deepener int

func (d deepener) Convert(_ context.Context, q conversionwebhook.Request) ([][]byte, error) {
	nested := strings.Repeat("[", int(d)) + strings.Repeat("]", int(d))
	return [][]byte{[]byte(`{"apiVersion":"` + q.DesiredAPIVersion + `","kind":"Widget","metadata":{},"x":` + nested + `}`)}, nil
}

// TestConvertLimits checks the limits of converted objects, and that objects without fields are not converted.
func TestConvertLimits(t *testing.T) {
	manifest := strings.Replace(storedCRD, "  scope: Namespaced\n", `  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}}
`, 1)
	for _, c := range []struct {
		by     conversionwebhook.Converter
		object string
		reason Reason
		want   string
	}{
		{nil, `{"apiVersion":"example.com/v1beta1","kind":"Widget"}`, "", `{"apiVersion":"example.com/v1","kind":"Widget"`},
		{nil, `{"apiVersion":"example.com/v1beta1","kind":"Widget","spec":{}}`, ReasonConversionUnavailable, "no converter is configured"},
		{deepener(10), `{"apiVersion":"example.com/v1beta1","kind":"Widget","spec":{}}`, "", `{"apiVersion":"example.com/v1","kind":"Widget"`},
		{deepener(100), `{"apiVersion":"example.com/v1beta1","kind":"Widget","spec":{}}`, ReasonLimitExceeded, "converted object: nesting depth"},
		{deepener(1000), `{"apiVersion":"example.com/v1beta1","kind":"Widget","spec":{}}`, ReasonLimitExceeded, "converted object: document size"},
	} {
		d, report, err := Compile(t.Context(), YAML([]byte(manifest)), Options{Converter: c.by, Limits: Limits{MaxBytes: 2000, MaxDepth: 50}})
		if err != nil || !report.Accepted {
			t.Fatal(err, report)
		}
		got, err := d.Read(t.Context(), JSON([]byte(c.object)), ReadOptions{TargetVersion: "v1"})
		switch {
		case ReasonOf(err) != c.reason:
			t.Errorf("%s: %v", c.object, err)
		case err != nil && !strings.Contains(err.Error(), c.want), err == nil && !strings.HasPrefix(string(got.Object), c.want):
			t.Errorf("%v, %v, want %s", got, err, c.want)
		}
	}
}

// A write at another version than the stored one goes through the webhook on its way to the storage and on its way
// back.
func TestAdmitByWebhook(t *testing.T) {
	manifest := strings.Replace(storedCRD, "  scope: Namespaced\n", `  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}}
`, 1)
	compile := func(c conversionwebhook.Converter) *Definition {
		d, report, err := Compile(context.Background(), YAML([]byte(manifest)), Options{Converter: c})
		if err != nil || !report.Accepted {
			t.Fatal(err, report)
		}
		return d
	}
	const named, read = `"name":"w","namespace":"n"`, `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	for _, c := range []struct {
		name                             string
		by                               conversionwebhook.Converter
		item                             Write
		reason                           Reason
		rejection, object, stored, found string
	}{
		{name: "a create at the stored version needs no converter", item: Create{Object: widget("v1", named, `,"spec":{"color":"red"}`)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"color":"red","size":1},"status":{"phase":"New"}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"color":"red","size":1}}`},
		{name: "no converter", item: Create{Object: widget("v1beta1", named, `,"spec":{"shade":"red"}`)}, reason: ReasonConversionUnavailable},
		{name: "no converter for the old object", item: Update{Object: widget("v1", read, ``), Old: widget("v1beta1", read, ``)}, reason: ReasonConversionUnavailable},
		{name: "to the storage and back", by: renamer{}, item: Create{Object: widget("v1beta1", named, `,"spec":{"shade":"red"}`)},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"shade":"red","size":1}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","generation":1},"spec":{"color":"red"}}`},
		{name: "an update", by: renamer{}, item: Update{Object: widget("v1beta1", read, `,"spec":{"shade":"blue"}`), Old: widget("v1", read, `,"spec":{"color":"red"}`)},
			object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":3},"spec":{"shade":"blue","size":1}}`,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":3},"spec":{"color":"blue"}}`},
		{name: "a bad answer", by: renamer{bad: []byte("green")}, item: Create{Object: widget("v1beta1", named, `,"spec":{"shade":"green"}`)},
			rejection: "conversion webhook for example.com/v1beta1, Kind=Widget returned 0 objects, expected 1"},
		{name: "what is rejected is not converted", item: Create{Object: widget("v1beta1", named, `,"spec":{"size":"x"}`)}, found: "/spec/size"},
		{name: "what is deleted is not converted", item: Update{Object: widget("v1", read, ``), Old: widget("v1", read+`,"finalizers":["a/b"],"deletionTimestamp":"2020-01-01T00:00:00Z"`, ``)},
			object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7","deletionTimestamp":"2020-01-01T00:00:00Z"},"status":{"phase":"New"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := compile(c.by).Admit(context.Background(), c.item, AdmitOptions{})
			if ReasonOf(err) != c.reason || (err != nil) != (c.reason != "") {
				t.Fatalf("error %v, want %q", err, c.reason)
			}
			if err != nil {
				return
			}
			sameText(t, "object", v.Object, c.object)
			sameText(t, "stored object", v.StoredObject, c.stored)
			if c.rejection != "" && (v.Rejection == nil || v.Rejection.Message != c.rejection || v.Rejection.Code != 500 || v.Rejection.Reason != "") {
				t.Errorf("rejection %+v", v.Rejection)
			}
			if c.found != "" && (len(v.Violations) != 1 || v.Violations[0].Pointer != c.found) {
				t.Errorf("violations %+v, want %s", v.Violations, c.found)
			}
		})
	}
}
