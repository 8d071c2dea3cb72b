package convert

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Replies are checked as an API server checks them, and metadata but for labels and annotations is the original's.
func TestWebhook(t *testing.T) {
	object := func(version, metadata string) string {
		return `{"apiVersion":"g/` + version + `","kind":"A","metadata":` + metadata + `,"spec":{"a":9007199254740993}}`
	}
	const meta = `{"name":"n","namespace":"ns","uid":"u","generation":3,"labels":{"a":"b"}}`
	const preamble = "conversion webhook for g/v1, Kind=A returned invalid "
	for _, c := range []struct {
		name, original, reply string
		want                  string // the object, or the error
	}{
		{"what was asked for", object("v1", meta), object("v2", meta),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"generation":3,"labels":{"a":"b"},"name":"n","namespace":"ns","uid":"u"},"spec":{"a":9007199254740993}}`},
		{"labels and annotations may change, nothing else", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","generation":4,"annotations":{"c":"d"}}`),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"annotations":{"c":"d"},"generation":3,"name":"n","namespace":"ns","uid":"u"},"spec":{"a":9007199254740993}}`},
		{"bad labels that were there already", object("v1", `{"labels":{"a":"b c"}}`), object("v2", `{"labels":{"a":"b c"}}`),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"labels":{"a":"b c"}},"spec":{"a":9007199254740993}}`},
		{"bad labels", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":{"a":"b c"}}`), preamble + `metadata: metadata.labels: Invalid value: "b c"`},
		{"a label that is no text", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":{"a":1}}`), preamble + `metadata: metadata.labels[a] must be a string, but is int64 in converted object`},
		{"labels that are none", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":[]}`), preamble + `metadata: invalid metadata.labels of type []interface {} in converted object`},
		{"bad annotations", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","annotations":{"b c":""}}`), preamble + `metadata: metadata.annotation: Invalid value: "b c"`},
		{"another version", object("v1", meta), object("v3", meta), preamble + `object at index 0: invalid groupVersion (expected g/v2, received g/v3)`},
		{"another kind", object("v1", meta), `{"apiVersion":"g/v2","kind":"B","metadata":` + meta + `}`, preamble + `object at index 0: invalid kind (expected A, received B)`},
		{"another name", object("v1", meta), object("v2", `{"name":"m","namespace":"ns","uid":"u"}`), preamble + `object: must have the same name: n != m`},
		{"another namespace", object("v1", meta), object("v2", `{"name":"n","uid":"u"}`), preamble + `object: must have the same namespace: ns != `},
		{"another uid", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"v"}`), preamble + `object: must have the same UID: u != v`},
		{"no metadata", object("v1", `{}`), `{"apiVersion":"g/v2","kind":"A"}`, preamble + `metadata: missing metadata in converted object`},
		{"metadata that is none", object("v1", `{}`), object("v2", `[]`), preamble + `metadata: invalid metadata of type []interface {} in converted object`},
		{"no JSON", object("v1", meta), `{`, `unexpected end of JSON input`},
		{"an object with only apiVersion and kind is not sent", `{"apiVersion":"g/v1","kind":"A"}`, `{`, `{"apiVersion":"g/v2","kind":"A"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Request{CRD: "as.g", Kind: "A", From: schema.GroupVersion{Group: "g", Version: "v1"}, To: "g/v2", Object: []byte(c.original)}
			got, err := Webhook(t.Context(), func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
				return [][]byte{[]byte(c.reply)}, nil
			}, r)
			if err != nil {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("%v\nwant %s", err, c.want)
				}
			} else if string(got) != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// A missing answer differs from a bad answer: the next call may succeed.
func TestUnavailable(t *testing.T) {
	r := Request{CRD: "as.g", Kind: "A", From: schema.GroupVersion{Group: "g", Version: "v1"}, To: "g/v2", Object: []byte(`{"apiVersion":"g/v1","kind":"A","spec":{}}`)}
	broken := errors.New("connection refused")
	answer := func(replies [][]byte, err error) Converter {
		return func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
			return replies, err
		}
	}
	for _, c := range []struct {
		by          Converter
		unavailable bool
		want        string
	}{
		{nil, true, "as.g converts by a webhook, and no converter is configured: objects of g/v1, Kind=A cannot be converted to g/v2"},
		{answer(nil, broken), true, "conversion webhook for g/v1, Kind=A failed: connection refused"},
		{answer(nil, nil), false, "conversion webhook for g/v1, Kind=A returned 0 objects, expected 1"},
		{answer([][]byte{{}, {}}, nil), false, "conversion webhook for g/v1, Kind=A returned 2 objects, expected 1"},
	} {
		_, err := Webhook(t.Context(), c.by, r)
		var u *Unavailable
		if err == nil || err.Error() != c.want || errors.As(err, &u) != c.unavailable {
			t.Errorf("%v, want %s", err, c.want)
		}
		if strings.Contains(c.want, "refused") && !errors.Is(err, broken) {
			t.Errorf("the cause of %v is lost", err)
		}
	}
}
