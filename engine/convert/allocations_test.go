package convert_test

import (
	"os"
	"testing"

	"github.com/crdeval/crdeval/engine/convert"
)

// TestAllocationsOfConversions limits the allocations of the conversion of an object.
func TestAllocationsOfConversions(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	const bench = "../conformance/testdata/bench/convert/"
	for _, c := range []struct {
		name, crd, rules, object string
		most                     float64
	}{
		{"a move", "tasks.yaml", "", `{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a"},"spec":{"host":"h"}}`, 6},
		{"the same version", "tasks.yaml", "", `{"apiVersion":"example.com/v1","kind":"Task","metadata":{"name":"a"},"spec":{"endpoint":{"host":"h"}}}`, 0},
		{
			"crontab", "../" + bench + "crontab-crd.yaml", bench + "crontab-rules.yaml",
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a"},"hostPort":"h:80"}`, 6,
		},
		{
			"workload", "../" + bench + "workload-crd.yaml", bench + "workload-rules.yaml",
			`{"apiVersion":"example.com/v1beta1","kind":"Workload","metadata":{"name":"a"},"spec":{"host":"h","address":"a:80","mode":"fast",` +
				`"ports":[{"name":"x","port":80}],"containers":[{"name":"a","command":["x"],"env":[{"name":"x","value":"y"}]}]}}`, 12,
		},
	} {
		rules := []byte("{crd: tasks.example.com, between: [v1beta1, v1], rules: [{move: {from: spec.host, to: spec.endpoint.host}}, {drop: {path: spec.note}}]}")
		if c.rules != "" {
			var err error
			if rules, err = os.ReadFile(c.rules); err != nil {
				t.Fatal(err)
			}
		}
		d := definitionWithRules(t, c.crd, string(rules))
		dst := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(200, func() {
			if _, err := convert.Append(t.Context(), d, dst, []byte(c.object), "v1", false); err != nil {
				t.Fatal(err)
			}
		}); n > c.most+2 { // the copy of the object, and the signal of the context
			t.Errorf("%s: %v allocations, more than %v", c.name, n, c.most+2)
		}
	}
}
