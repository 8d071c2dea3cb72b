package publish_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/publish"
)

// renamer is a conversion webhook that renames a field.
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

// TestTableItemsByWebhook checks that the webhook converts the items of an object with a list of items, if rows contain
// whole objects, and that its errors fail the table.
func TestTableItemsByWebhook(t *testing.T) {
	const manifest = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget},
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}},
  versions: [{name: v1beta1, served: true, storage: true, schema: &s {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
    {name: v1, served: true, storage: false, schema: *s}]}}`
	item := func(version, field string) string {
		return `{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{"name":"a"},` + field + `}`
	}
	const shade, color = `"shade":"red"`, `"color":"red"`
	for _, c := range []struct {
		name, items string
		o           publish.RowObject
		by          conversionwebhook.Converter
		rows        string // parts, separated by spaces
		err         string
	}{
		{"the webhook converts", item("v1beta1", shade), publish.RowWhole, renamer{}, item("v1", color), ""},
		{"items of the version stay", item("v1", shade) + "," + item("v1beta1", shade), publish.RowWhole, renamer{}, item("v1", shade) + " " + item("v1", color), ""},
		{"only apiVersion and kind", `{"apiVersion":"example.com/v1beta1","kind":"Widget"}`, publish.RowWhole, renamer{}, `{"apiVersion":"example.com/v1","kind":"Widget"}`, ""},
		{"metadata needs no conversion", item("v1beta1", shade), publish.RowMetadata, renamer{[]byte("red")}, `PartialObjectMetadata`, ""},
		{"the webhook fails", item("v1beta1", shade), publish.RowWhole, renamer{[]byte("red")}, "", "returned 0 objects, expected 1"},
		{"no webhook may be called", item("v1beta1", shade), publish.RowWhole, nil, "", "no converter is configured"},
	} {
		d, report, err := engine.Compile(t.Context(), engine.YAML([]byte(manifest)), engine.Options{Converter: c.by})
		if err != nil || !report.Accepted {
			t.Fatal(err, report)
		}
		list := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"l"},"items":[` + c.items + `]}`
		table, err := publish.TableOf(t.Context(), d, "v1", []engine.Document{engine.JSON([]byte(list))}, publish.TableOptions{Object: c.o})
		if err != nil {
			if c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		for _, part := range strings.Fields(c.rows) {
			if !bytes.Contains(table.JSON(), []byte(part)) {
				t.Errorf("%s: %s, want %s", c.name, table.JSON(), part)
			}
		}
		if c.err != "" || table.Len() != len(strings.Fields(c.rows)) {
			t.Errorf("%s: %s", c.name, table.JSON())
		}
	}
}
