package webhook

import (
	"os"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// TestConversionAllocations limits the allocations of an object, without those of a review.
func TestConversionAllocations(t *testing.T) {
	const bench = "../../engine/conformance/testdata/bench/convert/"
	for _, c := range []struct {
		name, crd, rules, object string
		most                     float64
	}{
		{
			"a move", "../../engine/testdata/conversion/tasks.yaml", "", `{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a"},"spec":{"host":"h"}}`, 6,
		},
		{
			"the same version", bench + "crontab-crd.yaml", bench + "crontab-rules.yaml", `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"},"host":"h"}`, 1,
		},
		{
			"crontab", bench + "crontab-crd.yaml", bench + "crontab-rules.yaml",
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"h:80"}`, 6,
		},
		{
			"workload", bench + "workload-crd.yaml", bench + "workload-rules.yaml",
			`{"apiVersion":"example.com/v1beta1","kind":"Workload","metadata":{"name":"a"},"spec":{"host":"h","address":"a:80","mode":"fast",` +
				`"ports":[{"name":"x","port":80}],"containers":[{"name":"a","command":["x"],"env":[{"name":"x","value":"y"}]}]}}`, 12,
		},
	} {
		crd, err := os.ReadFile(c.crd)
		if err != nil {
			t.Fatal(err)
		}
		rules := []byte("{crd: tasks.example.com, between: [v1beta1, v1], rules: [{move: {from: spec.host, to: spec.endpoint.host}}, {drop: {path: spec.note}}]}")
		if c.rules != "" {
			if rules, err = os.ReadFile(c.rules); err != nil {
				t.Fatal(err)
			}
		}
		d, report, err := engine.Compile(t.Context(), engine.YAML(crd), engine.Options{Conversion: engine.YAML(rules)})
		if err != nil || d == nil || !d.Conversion().Accepted {
			t.Fatal(report, err)
		}
		allocations := func(n int) float64 {
			r := &Conversion{DesiredAPIVersion: "example.com/v1", Reserve: func(int64) error { return nil }}
			for range n {
				r.Objects = append(r.Objects, []byte(c.object))
			}
			return testing.AllocsPerRun(50, func() {
				parts := split(r.Objects)
				if err := r.convert(t.Context(), d, parts); err != nil || failureOf(parts) != "" {
					t.Fatal(err, failureOf(parts))
				}
			})
		}
		if n := (allocations(201) - allocations(1)) / 200; n > c.most {
			t.Errorf("%s: %.2f allocations of an object, more than %v", c.name, n, c.most)
		}
	}
}
