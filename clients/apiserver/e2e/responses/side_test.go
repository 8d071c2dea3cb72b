package responses

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver/e2e/servers"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
	"github.com/crdeval/crdeval/clients/apiserver/standalone"
)

// side is a server.
type side struct {
	name   string
	client *rest.RESTClient
}

// startSides starts upstream's server, and crdeval-apiserver with each evaluator. Each has an etcd of its own.
func startSides(t *testing.T) []*side {
	t.Helper()
	genuine, own := servers.Build(t, "e2e/genuine"), servers.Build(t, "cmd/crdeval-apiserver")
	evaluator, err := sidecartest.New("--conversion-webhooks=localhost,127.0.0.1")
	check(t, err)
	t.Cleanup(func() { check(t, evaluator.Close()) })
	check(t, evaluator.Start())
	var sides []*side
	start := func(name, binary string, evaluator *sidecartest.Server) {
		etcd, err := standalone.StartEtcd(t.TempDir(), false)
		check(t, err)
		t.Cleanup(etcd.Close)
		s := servers.Start(t, binary, etcd.Transport().ServerList[0], evaluator)
		s.Config.WarningHandler = rest.NoWarnings{} // the responses have them
		client, err := servers.Client(s.Config)
		check(t, err)
		sides = append(sides, &side{name: name, client: client})
	}
	start("upstream", genuine, nil)
	start("in process", own, nil)
	start("sidecar", own, evaluator)
	return sides
}

const toCRDs = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// register creates a CRD, and waits until all its served versions can be listed.
func (s *side) register(t *testing.T, text []byte) {
	t.Helper()
	var crd struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct {
				Name   string
				Served bool
			}
		}
	}
	check(t, json.Unmarshal(text, &crd))
	if err := s.client.Post().AbsPath(toCRDs).Body(text).Do(t.Context()).Error(); err != nil {
		t.Fatalf("%s: CRD %s: %v", s.name, crd.Metadata.Name, err)
	}
	last := error(nil)
	listed := func(ctx context.Context) (bool, error) {
		for _, v := range crd.Spec.Versions {
			path := []string{"/apis", crd.Spec.Group, v.Name, crd.Spec.Names.Plural}
			if last = s.client.Get().AbsPath(path...).Do(ctx).Error(); v.Served && last != nil {
				return false, nil //nolint:nilerr // it is not established yet
			}
		}
		return true, nil
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, listed)
	if err != nil {
		t.Fatalf("%s: CRD %s: %v: %v", s.name, crd.Metadata.Name, err, last)
	}
}
