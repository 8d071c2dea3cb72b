package engine

import (
	"context"
	"strings"
	"testing"
)

// ruledCRD is cronTabCRD in two versions that say the same with other words, with rules and a default that rules apply
// to.
func ruledCRD() string {
	ruled := strings.Replace(cronTabCRD, `"spec":{"type":"object","required"`,
		`"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.replicas < 9 || self.image.startsWith('big')","message":"use another image"},`+
			`{"rule":"self.cronSpec != '* * * * *'","messageExpression":"'not every minute: ' + self.cronSpec"}],"required"`, 1)
	ruled = strings.Replace(ruled, `"image":{"type":"string"}`, `"image":{"type":"string","default":"small","maxLength":100,"x-kubernetes-validations":[{"rule":"self != 'none'"}]}`, 1)
	list := strings.Index(ruled, `"versions":[`) + len(`"versions":[`)
	version := ruled[list:strings.LastIndex(ruled, `]}}`)]
	other := strings.NewReplacer(`"name":"v1"`, `"name":"v1beta1"`, `"storage":true`, `"storage":false`, `"type":"string"`, `"type":"string","description":"text"`).Replace(version)
	return ruled[:list] + version + "," + other + "]}}"
}

// TestAllocationsOfRegistrations: what a registration allocates hardly depends on how often a CRD says the same.
func TestAllocationsOfRegistrations(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	for _, tt := range []struct {
		name, crd string
		most      float64
	}{
		{"without rules", cronTabCRD, 500},
		{"with rules, in two versions", ruledCRD(), 2900},
	} {
		d := mustCompile(t, tt.crd)
		if n := testing.AllocsPerRun(20, func() { mustCompile(t, tt.crd) }); n > tt.most {
			t.Errorf("%s: %v allocations, more than %v", tt.name, n, tt.most)
		} else {
			t.Logf("%s: %v allocations for %d versions", tt.name, n, len(d.Versions()))
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, crd := range map[string]string{"plain": cronTabCRD, "ruled": ruledCRD()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, _, err := Compile(context.Background(), JSON([]byte(crd)), Options{}); d == nil || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
