package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// webhookDefinition returns a CRD that converts by a webhook.
func webhookDefinition(by Converter) *Definition {
	return &Definition{Name: "as.g", Group: "g", Converter: by,
		Conversion: &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{}}}
}

var webhookKind = schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "A"}

// TestConvertByWebhook checks that replies are checked as an API server checks them. Metadata except for labels and
// annotations is the original's.
func TestConvertByWebhook(t *testing.T) {
	object := func(version, metadata string) string {
		return `{"apiVersion":"g/` + version + `","kind":"A","metadata":` + metadata + `,"spec":{"a":9007199254740993}}`
	}
	const meta = `{"name":"n","namespace":"ns","uid":"u","generation":3,"labels":{"a":"b"}}`
	const preamble = "conversion webhook for g/v1, Kind=A returned invalid "
	for _, c := range []struct {
		name, original, reply string
		want                  string // the object, or the error
	}{
		{"a valid reply", object("v1", meta), object("v2", meta),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"generation":3,"labels":{"a":"b"},"name":"n","namespace":"ns","uid":"u"},"spec":{"a":9007199254740993}}`},
		{"only labels and annotations may change", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","generation":4,"annotations":{"c":"d"}}`),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"annotations":{"c":"d"},"generation":3,"name":"n","namespace":"ns","uid":"u"},"spec":{"a":9007199254740993}}`},
		{"invalid labels of the original", object("v1", `{"labels":{"a":"b c"}}`), object("v2", `{"labels":{"a":"b c"}}`),
			`{"apiVersion":"g/v2","kind":"A","metadata":{"labels":{"a":"b c"}},"spec":{"a":9007199254740993}}`},
		{"invalid labels", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":{"a":"b c"}}`), preamble + `metadata: metadata.labels: Invalid value: "b c"`},
		{"a label that is not a string", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":{"a":1}}`), preamble + `metadata: metadata.labels[a] must be a string, but is int64 in converted object`},
		{"labels that are not an object", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","labels":[]}`), preamble + `metadata: invalid metadata.labels of type []interface {} in converted object`},
		{"invalid annotations", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"u","annotations":{"b c":""}}`), preamble + `metadata: metadata.annotation: Invalid value: "b c"`},
		{"another version", object("v1", meta), object("v3", meta), preamble + `object at index 0: invalid groupVersion (expected g/v2, received g/v3)`},
		{"another kind", object("v1", meta), `{"apiVersion":"g/v2","kind":"B","metadata":` + meta + `}`, preamble + `object at index 0: invalid kind (expected A, received B)`},
		{"another name", object("v1", meta), object("v2", `{"name":"m","namespace":"ns","uid":"u"}`), preamble + `object: must have the same name: n != m`},
		{"another namespace", object("v1", meta), object("v2", `{"name":"n","uid":"u"}`), preamble + `object: must have the same namespace: ns != `},
		{"another uid", object("v1", meta), object("v2", `{"name":"n","namespace":"ns","uid":"v"}`), preamble + `object: must have the same UID: u != v`},
		{"no metadata", object("v1", `{}`), `{"apiVersion":"g/v2","kind":"A"}`, preamble + `metadata: missing metadata in converted object`},
		{"metadata that is not an object", object("v1", `{}`), object("v2", `[]`), preamble + `metadata: invalid metadata of type []interface {} in converted object`},
		{"invalid JSON", object("v1", meta), `{`, `unexpected end of JSON input`},
		{"a malformed version", object("v1", meta), object("a/b", `{}`), `Object 'Kind' is missing in '{"apiVersion":"g/a/b","kind":"A","metadata":{},"spec":{"a":9007199254740993}}'`},
		{"a large reply", object("v1", meta), object("v2", `{"name":"`+strings.Repeat("n", 1000)+`"}`), `document size of 1085 bytes exceeds the limit of 1000 bytes`},
		{"an object with only apiVersion and kind is not sent", `{"apiVersion":"g/v1","kind":"A"}`, `{`, `{"apiVersion":"g/v2","kind":"A"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := webhookDefinition(func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
				return [][]byte{[]byte(c.reply)}, nil
			})
			got, err := convertByWebhook(t.Context(), t, d, c.original)
			if err != nil {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("%v\nwant %s", err, c.want)
				}
			} else if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// convertByWebhook converts an object of version v1 to v2, and returns it with sorted fields.
func convertByWebhook(ctx context.Context, t *testing.T, d *Definition, object string) (string, error) {
	t.Helper()
	p := &pass{
		call:     call{ctx: ctx, def: d, r: Request{Limits: tree.Limits{MaxBytes: 1000}}},
		document: document{d: tree.Acquire(), of: webhookKind},
	}
	var err error
	if p.root, err = p.d.ParseJSON([]byte(object), tree.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := p.convertByWebhook("g/v2"); err != nil {
		return "", err
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(p.d.AppendJSON(nil, p.root), &o); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted), nil
}

// TestConvertByWebhookDeadline checks that a failed call after the end of the context is not a failure of the webhook.
func TestConvertByWebhookDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := webhookDefinition(func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
		cancel()
		return nil, ctx.Err()
	})
	const object = `{"apiVersion":"g/v1","kind":"A","spec":{}}`
	_, err := convertByWebhook(ctx, t, d, object)
	var f *Fault
	if !errors.As(err, &f) || f.Code != Deadline {
		t.Errorf("%v", err)
	}
}

// TestConversionUnavailable checks that a failed call, a webhook that cannot convert, and an invalid reply are different
// errors: after a failed call, the next one may succeed.
func TestConversionUnavailable(t *testing.T) {
	const object = `{"apiVersion":"g/v1","kind":"A","spec":{}}`
	broken := errors.New("connection refused")
	answer := func(replies [][]byte, err error) Converter {
		return func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
			return replies, err
		}
	}
	for _, c := range []struct {
		by   Converter
		code Code
		want string
	}{
		{nil, ConversionUnavailable, "as.g converts by a webhook, and no converter is configured: objects of g/v1, Kind=A cannot be converted to g/v2"},
		{answer(nil, broken), ConversionUnavailable, "conversion webhook for g/v1, Kind=A failed: connection refused"},
		{answer(nil, fmt.Errorf("no port: %w", conversionwebhook.ErrFailed)), ConversionFailed,
			"conversion webhook for g/v1, Kind=A failed: no port: the webhook cannot convert the objects"},
		{answer(nil, nil), "", "conversion webhook for g/v1, Kind=A returned 0 objects, expected 1"},
		{answer([][]byte{{}, {}}, nil), "", "conversion webhook for g/v1, Kind=A returned 2 objects, expected 1"},
	} {
		_, err := convertByWebhook(t.Context(), t, webhookDefinition(c.by), object)
		f := new(Fault)
		if err == nil || err.Error() != c.want || errors.As(err, &f) != (c.code != "") || f.Code != c.code {
			t.Errorf("%v, want %s %s", err, c.code, c.want)
		}
		if of := (*conversionwebhook.Error)(nil); c.code != "" &&
			(!errors.As(err, &of) || of.CRD != "as.g" || of.From != "v1" || of.To != "v2" || of.Rule+of.Path+of.Preamble != "") {
			t.Errorf("%+v", of)
		}
		if strings.Contains(c.want, "refused") && !errors.Is(err, broken) {
			t.Errorf("the cause of %v is lost", err)
		}
	}
}
