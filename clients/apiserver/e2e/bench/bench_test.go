package bench

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver/e2e/servers"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

var (
	rounds = flag.Int("rounds", 16, "measured rounds of each kind of object")
	kinds  = flag.String("kinds", ".", "regular expression of the measured kinds of objects")
	linger = flag.Duration("linger", 0, "time to keep the servers of a kind after its measurement, for profiles")
)

const (
	workers = 4
	lists   = 20 // requests for all objects in a round
	// settle is the time in which a server finishes the background work of a phase, such as the events of its watch cache.
	settle = 100 * time.Millisecond
)

const table = "application/json;as=Table;v=v1;g=meta.k8s.io"

// names are the servers. The first one is upstream's, with which the others are compared.
var names = []string{"upstream", "in process", "sidecar"}

// phase is a kind of operation on all objects.
type phase struct {
	name string
	run  func(ctx context.Context, s *side, k *kind) (operations int, err error)
}

var phases = []phase{
	{"create", func(ctx context.Context, s *side, k *kind) (int, error) {
		return k.objects, each(k.objects, func(i int) error {
			return s.client.Post().AbsPath(k.path).Body(k.body(i, "")).Do(ctx).Error()
		})
	}},
	{"update", func(ctx context.Context, s *side, k *kind) (int, error) {
		return k.objects, each(k.objects, func(i int) error {
			return s.client.Put().AbsPath(k.path, k.objectName(i)).Body(k.body(i, s.versions[i])).Do(ctx).Error()
		})
	}},
	{"list", func(ctx context.Context, s *side, k *kind) (int, error) {
		return lists, s.list(ctx, s.plain, k, "application/json", lists)
	}},
	{"table", func(ctx context.Context, s *side, k *kind) (int, error) {
		return lists, s.list(ctx, s.plain, k, table, lists)
	}},
	{"list gzip", func(ctx context.Context, s *side, k *kind) (int, error) {
		return lists, s.list(ctx, s.client, k, "application/json", lists)
	}},
	{"table gzip", func(ctx context.Context, s *side, k *kind) (int, error) {
		return lists, s.list(ctx, s.client, k, table, lists)
	}},
}

// side is a server with clients.
type side struct {
	*servers.Server
	client, plain *rest.RESTClient // plain accepts no compressed responses
	versions      []string         // the resourceVersions of the objects
}

// each calls f for the numbers below n, with all workers.
func each(n int, f func(i int) error) error {
	var group sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				errs[w] = f(i)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// list lists all objects n times.
func (s *side) list(ctx context.Context, client *rest.RESTClient, k *kind, accept string, n int) error {
	return each(n, func(int) error {
		text, err := client.Get().AbsPath(k.path).SetHeader("Accept", accept).DoRaw(ctx)
		if found := strings.Count(string(text), k.mark); err == nil && found != k.objects {
			err = fmt.Errorf("list has %d of %d objects", found, k.objects)
		}
		return err
	})
}

// TestBench prints the CPU time of an operation, as the median of the rounds, and its ratio to that of upstream's server.
// Each kind has servers of its own. The watch caches keep the objects of many rounds, and each garbage collection visits
// them, so the time for a kind would depend on the kinds before.
func TestBench(t *testing.T) {
	testenv.E2E(t)
	selected := regexp.MustCompile(*kinds)
	for _, k := range readKinds(t) {
		if selected.MatchString(k.name) {
			t.Run(k.name, func(t *testing.T) { compare(t, k) })
		}
	}
}

// compare measures a kind.
func compare(t *testing.T, k *kind) {
	sides := startServers(t)
	for _, s := range sides {
		k.register(t, s)
	}
	measured := map[string][][]time.Duration{} // by phase and side
	const warmUp = 1
	for round := range warmUp + *rounds {
		for i := range sides {
			at := (i + round) % len(sides)
			for p, used := range measure(t, sides[at], k) {
				if measured[p] == nil {
					measured[p] = make([][]time.Duration, len(sides))
				}
				if round >= warmUp {
					measured[p][at] = append(measured[p][at], used)
				}
			}
		}
	}
	for _, p := range phases {
		t.Log(k.line(p.name, measured[p.name]))
	}
	for i, s := range sides {
		if *linger > 0 {
			t.Logf("%s: %s token %s", names[i], s.Config.Host, s.Config.BearerToken)
		}
	}
	time.Sleep(*linger)
}

// startServers starts the servers. Each has an etcd of its own, whose CPU time does not count.
func startServers(t *testing.T) []*side {
	t.Helper()
	genuine, own := servers.Build(t, "e2e/genuine"), servers.Build(t, "cmd/crdeval-apiserver")
	evaluator, err := sidecartest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = evaluator.Close() })
	if err := evaluator.Start(); err != nil {
		t.Fatal(err)
	}
	var sides []*side
	for _, s := range []*servers.Server{
		servers.Start(t, genuine, etcdtest.Start(t).Endpoint, nil),
		servers.Start(t, own, etcdtest.Start(t).Endpoint, nil),
		servers.Start(t, own, etcdtest.Start(t).Endpoint, evaluator),
	} {
		plain := rest.CopyConfig(s.Config)
		plain.DisableCompression = true
		out := &side{Server: s}
		for config, client := range map[*rest.Config]**rest.RESTClient{s.Config: &out.client, plain: &out.plain} {
			if *client, err = servers.Client(config); err != nil {
				t.Fatal(err)
			}
		}
		sides = append(sides, out)
	}
	return sides
}

// measure runs a round, and returns the CPU time of an operation for each phase. It deletes the objects at the end.
func measure(t *testing.T, s *side, k *kind) map[string]time.Duration {
	t.Helper()
	used := map[string]time.Duration{}
	for _, p := range phases {
		if p.name == "update" {
			s.readVersions(t, k)
		}
		before := s.settledCPU(t)
		operations, err := p.run(t.Context(), s, k)
		if err != nil {
			t.Fatalf("%s of %s: %v", p.name, k.name, err)
		}
		used[p.name] = (s.settledCPU(t) - before) / time.Duration(operations)
	}
	if err := s.client.Delete().AbsPath(k.path).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	return used
}

func (s *side) settledCPU(t *testing.T) time.Duration {
	t.Helper()
	time.Sleep(settle)
	used, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// line describes the times of a phase, by side and round.
func (k *kind) line(phase string, measured [][]time.Duration) string {
	out := fmt.Sprintf("%-16s %-10s", k.name, phase)
	medians := make([]float64, len(measured))
	for i, times := range measured {
		slices.Sort(times)
		medians[i] = float64(times[len(times)/2].Microseconds())
		out += fmt.Sprintf("  %s %6.0f µs", names[i], medians[i])
		if i > 0 {
			out += fmt.Sprintf(" %.2f", medians[i]/medians[0])
			if bar, ok := k.bars[phase]; ok {
				out += fmt.Sprintf(" (bar %.1f)", bar[i-1])
			}
		}
	}
	return out
}
