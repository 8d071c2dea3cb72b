package tests

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestConversionRules tests the laws of declared conversions of CRDs in testdata and of real projects, whose webhooks
// are expressed as rules. CRDEVAL_VOLUME=250 tests 10,000 objects of each version.
func TestConversionRules(t *testing.T) {
	const folder = "../testdata/conversion/"
	for _, c := range []struct{ name, module, file string }{
		{"crontabs", "", ""}, // host and port of the versioning page of Kubernetes
		{"services", "", ""}, // a list becomes a map, and a list inside of it, too
		{"clusterresourcesets", "sigs.k8s.io/cluster-api",
			"core/config/crd/bases/addons.cluster.x-k8s.io_clusterresourcesets.yaml"},
		{"tasks", "github.com/tektoncd/pipeline", "config/300-crds/300-task.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules, err := os.ReadFile(folder + c.name + ".rules.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var crd engine.Document
			if c.module == "" {
				crd.YAML, err = os.ReadFile(folder + c.name + ".yaml")
			} else {
				crd.JSON, err = corpus.Definition(c.module, c.file)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.module != "" {
				crd.JSON = withWebhook(t, crd.JSON)
			}
			d, report, err := engine.Compile(t.Context(), crd, engine.Options{Conversion: engine.YAML(rules)})
			if err != nil || d == nil {
				t.Fatalf("%+v %v", report, err)
			}
			for _, v := range convert.ReportOf(d).Violations {
				t.Errorf("%d: %v", v.Position.Line, v)
			}
			n := testenv.Volume(40)
			laws, err := convert.Test(t.Context(), d, n, 1)
			if err != nil || len(laws) != 16 {
				t.Fatalf("%d results, %v", len(laws), err)
			}
			for _, l := range laws {
				if x := l.Counterexample; x != nil {
					t.Errorf("%s from %s to %s: %s\n%s\n%s\n%s", l.Law, l.Between[0], l.Between[1], x.Text, x.Object, x.Converted, x.Back)
				}
				if l.Law == "round-trip" && l.Objects < n*9/10 {
					t.Errorf("%s from %s to %s: only %d of %d objects were valid and converted", l.Law, l.Between[0], l.Between[1],
						l.Objects, n)
				}
			}
		})
	}
}

// withWebhook returns a CRD with the strategy Webhook.
func withWebhook(t *testing.T, crd []byte) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(crd, &all); err != nil {
		t.Fatal(err)
	}
	all["spec"].(map[string]any)["conversion"] = map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []string{"v1"},
			"clientConfig":             map[string]any{"service": map[string]any{"namespace": "default", "name": "crdeval"}},
		},
	}
	changed, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
