package api_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestErrorSizes checks that long keys do not make an error larger than max_error_bytes and its details.
func TestErrorSizes(t *testing.T) {
	w := start(t, nil).withCronTab()
	key := strings.Repeat("\x01", 300<<10)
	long := strings.Repeat("k", 128<<10)
	for name, d := range map[string]*crdevalv1.Document{
		"duplicate key":         yamlDocument("apiVersion: stable.example.com/v1\nkind: CronTab\n" + long + ": 1\n" + long + ": 2\n"),
		"duplicate before kind": yamlDocument(long + ": 1\n" + long + ": 2\napiVersion: stable.example.com/v1\nkind: CronTab\n"),
		"mapping key":           yamlDocument("? {" + long + ": 1}\n: 2\n"),
		"alias":                 yamlDocument("*" + long + "\n"),
		"control":               yamlDocument("a" + key + ": 1\n"),
		"tag":                   yamlDocument("!" + long + " 1\n"),
		"json":                  jsonDocument(`{"apiVersion": "` + long + `", "kind": "` + long + `"}`),
	} {
		for _, crd := range []string{"", "crontabs.stable.example.com"} {
			got, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{
				Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Crd: crd, Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: d}}}},
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			r := got.GetResults()[0]
			if n := proto.Size(r.GetError()); n > 16<<10 {
				t.Errorf("%s, crd %q: an error of %d bytes", name, crd, n)
			}
		}
		for what, call := range map[string]func() error{
			"register": func() error {
				_, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: d})
				return err
			},
			"scale": func() error {
				_, err := w.shows.GetScale(context.Background(), &crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: d})
				return err
			},
		} {
			if err := call(); err == nil || len(err.Error()) > 16<<10 {
				t.Errorf("%s, %s: an error of %d bytes", name, what, len(err.Error()))
			}
		}
	}

	const asYAML = "application/yaml"
	for name, body := range map[string]string{
		"duplicate key of the request": long + ": 1\n" + long + ": 2\n",
		"duplicate keys":               "items:\n- create: {object: {" + strings.Repeat(long+": 1, ", 2) + "}}\n  " + long + ": 1\n  " + long + ": 2\n",
		"unknown field":                long + ": 1\n",
		"control":                      "\"" + strings.Repeat("\\x01", 128<<10) + "\": 1\n\"" + strings.Repeat("\\x01", 128<<10) + "\": 2\n",
		"unknown field of an item":     "items:\n- \"" + strings.Repeat("\\x01", 128<<10) + "\": 1\n",
		"key of a mapping":             "? {" + long + ": 1}\n: 2\n",
		"alias":                        "items: *" + long + "\n",
		"tag":                          "items: !" + long + " x\n",
	} {
		for _, path := range []string{":validate", "/crds", "/crds:register", ":admitStream", ":table"} {
			if a := w.do("POST", "/v1/catalogs/default"+path, body, "Content-Type", asYAML); len(a.text) > 16<<10 {
				t.Errorf("REST %s, %s: HTTP %d with %d bytes", path, name, a.code, len(a.text))
			}
		}
	}
}
