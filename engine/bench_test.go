package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

const cronTabCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","required":["cronSpec"],"properties":{
"cronSpec":{"type":"string","pattern":"^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$"},"image":{"type":"string"},
"replicas":{"type":"integer","minimum":1,"maximum":10,"default":1}}}}}}}]}}`

const cronTab = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"my-cron","namespace":"default","labels":{"app":"x"}},
"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image"}}`

func mustCompile(t testing.TB, crd string) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), JSON([]byte(crd)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		t.Fatalf("rejected: %+v", report.Violations)
	}
	return d
}

func BenchmarkValidate(b *testing.B) {
	d := mustCompile(b, cronTabCRD)
	item := Create{Version: "v1", Object: JSON([]byte(cronTab))}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		v, err := d.Validate(ctx, item, ValidateOptions{})
		if err != nil || !v.Allowed {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkCreateWithObject(b *testing.B) {
	d := mustCompile(b, cronTabCRD)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		out, err := d.compiled.Inner.Write(ctx, &admission.Request{Version: "v1", Body: []byte(cronTab), WantObject: true})
		if err != nil || out.Rejection != nil || out.Exact {
			b.Fatal(out, err)
		}
	}
}

// TestAllocations: an accepted object costs little more than its verdict.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	d := mustCompile(t, cronTabCRD)
	whole := strings.Replace(cronTab, `"image":`, `"replicas":2,"image":`, 1)
	for _, tt := range []struct {
		name, object string
		most         float64
	}{
		{"an object with every field", whole, 6},
		{"an object with one default to fill in, and to tell of", cronTab, 8},
	} {
		item := Create{Version: "v1", Object: JSON([]byte(tt.object))}
		ctx := context.Background()
		if n := testing.AllocsPerRun(100, func() {
			if v, err := d.Validate(ctx, item, ValidateOptions{}); err != nil || !v.Allowed {
				t.Fatal(v, err)
			}
		}); n > tt.most {
			t.Errorf("Validate of %s: %v allocations, more than %v", tt.name, n, tt.most)
		}
	}
}

// TestAllocationsOfRejections checks that a violation takes few allocations.
func TestAllocationsOfRejections(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	d := mustCompile(t, cronTabCRD)
	rejected := strings.NewReplacer(`"name":"`, `"name":"-`, `* * *`, `never`, `"image":"my-awesome-cron-image"`, `"replicas":11,"image":7`).Replace(cronTab)
	item := Create{Version: "v1", Object: JSON([]byte(rejected))}
	violations := 0
	n := testing.AllocsPerRun(100, func() {
		v, err := d.Validate(context.Background(), item, ValidateOptions{Brief: true})
		if err != nil || v.Allowed {
			t.Fatal(v, err)
		}
		violations = len(v.Violations)
	})
	if most := float64(16 + 7*violations); n > most {
		t.Errorf("%v allocations for %d violations, more than %v", n, violations, most)
	}
}
