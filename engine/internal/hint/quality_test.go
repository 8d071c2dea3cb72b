package hint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// podFields are the fields of a PodSpec and of a Container: many names, some of them near to each other.
const podFields = `activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork
	hostPID hostUsers hostname imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims
	restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
	terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
	resizePolicy resources startupProbe stdin stdinOnce terminationMessagePath tty volumeDevices volumeMounts workingDir`

// TestTypos checks that nearly all names with a letter too few, too many, wrong or swapped are recognized, and that
// other names get no hint.
func TestTypos(t *testing.T) {
	names := strings.Fields(podFields)
	var properties []string
	for _, name := range names {
		properties = append(properties, fmt.Sprintf("%q:{}", name))
	}
	plan := planOf(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{`+strings.Join(properties, ",")+`}}}}`)
	r := rand.New(rand.NewPCG(1, 2))
	hint := func(key string) string {
		f := New(plan, nil, false, nil, tree.Limits{}, nil)
		if h := f.Removed(tree.Path{tree.Name("spec"), tree.Name(key)}); h != nil {
			return strings.TrimPrefix(h.Pointer, "/spec/")
		}
		return ""
	}
	right, wrong, asked := 0, 0, 0
	for _, name := range names {
		if len(name) < 4 {
			continue
		}
		i := 1 + r.IntN(len(name)-2)
		for _, slip := range []string{
			name[:i] + name[i+1:], name[:i] + "x" + name[i:], name[:i] + "x" + name[i+1:], name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:],
			strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:], strings.TrimSuffix(name, "s") + "_s",
		} {
			switch asked++; hint(slip) {
			case name:
				right++
			case "":
			default:
				wrong++
				t.Logf("%s is taken for %s", slip, hint(slip))
			}
		}
	}
	t.Logf("%d typos: %d recognized, %d taken for another", asked, right, wrong)
	if right*100 < asked*95 || wrong*100 > asked*2 {
		t.Errorf("of %d typos %d were recognized, %d taken for another", asked, right, wrong)
	}
	for _, other := range []string{"replicas", "selector", "template", "paused", "backoffLimit", "data", "x", "foo", "spec", "status", "rules", "hosts", "tls"} {
		if h := hint(other); h != "" {
			t.Logf("%s is taken for %s", other, h)
			if wrong++; wrong > asked/50+2 {
				t.Errorf("%s is taken for %s", other, h)
			}
		}
	}
}
