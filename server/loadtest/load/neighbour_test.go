package load

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// maxMemory is the memory of the servers of bar 1.
const maxMemory = 512 << 20

// neighbour is a normal caller with a connection and a catalog of its own.
type neighbour struct {
	*crdeval.Client
	items []*crdevalv1.WriteItem
}

// neighbour returns a caller that validates CronTabs, n in a call.
func (l *load) neighbour(s *server, catalog string, n int) *neighbour {
	l.Helper()
	l.createCatalog(s, catalog)
	c, err := crdeval.Dial(s.grpc, crdeval.WithCatalog(catalog), crdeval.WithToken(s.token),
		crdeval.WithRetries(crdeval.RetryOptions{MaxAttempts: 1})) // counts rejected calls
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = c.Close() })
	manifest, err := os.ReadFile(filepath.Join(samplesDir, "crds", "crontabs.yaml"))
	if err != nil {
		l.Fatal(err)
	}
	if _, err := c.RegisterCRD(l.Context(), manifest); err != nil {
		l.Fatal(err)
	}
	return l.crontabs(c, n)
}

// crontabs returns a caller that validates CronTabs with a client, n in a call.
func (l *load) crontabs(c *crdeval.Client, n int) *neighbour {
	l.Helper()
	object, err := os.ReadFile(filepath.Join(samplesDir, "objects", "crontab-valid.yaml"))
	if err == nil {
		object, err = yaml.YAMLToJSON(object)
	}
	if err != nil {
		l.Fatal(err)
	}
	all := &neighbour{Client: c}
	for range n {
		all.items = append(all.items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(object)}}})
	}
	return all
}

// createCatalog creates a catalog unless it is the default one.
func (l *load) createCatalog(s *server, catalog string) {
	l.Helper()
	if catalog == "default" {
		return
	}
	if _, err := s.Registry().CreateCatalog(l.Context(), &crdevalv1.CreateCatalogRequest{Catalog: catalog}); err != nil {
		l.Fatal(err)
	}
}

// call validates the objects.
func (n *neighbour) call(ctx context.Context) error {
	results, err := n.ValidateItems(ctx, n.items, nil)
	for _, r := range results {
		if err == nil && !r.Allowed() {
			err = r.Err
		}
	}
	return err
}

// isolation measures the neighbour alone, beside the attack of the case, and alone again: the speed of many machines
// changes within minutes. It compares the throughput and the memory of the server with bar 1.
func (l *load) isolation(s *server, n *neighbour) {
	l.Helper()
	d, warm := l.span(10*time.Second, 1500*time.Millisecond), l.span(3*time.Second, 500*time.Millisecond)
	closedLoop(l.Context(), 2, warm, n.call)
	alone := closedLoop(l.Context(), 2, d, n.call)
	stop := l.attack(s)
	time.Sleep(warm)
	beside := closedLoop(l.Context(), 2, d, n.call)
	rss, goroutines := s.rss(l.T), s.metric(l.T, "go_goroutines")
	peak := s.peak(l.T)
	stop()
	time.Sleep(warm)
	again := closedLoop(l.Context(), 2, d, n.call)
	l.note("neighbour alone: %v; again: %v", alone, again)
	l.note("beside the attack: %v; resident %s; %.0f goroutines", beside, mib(rss), goroutines)
	l.atMost("peak of resident memory", float64(peak)/(1<<20), bound{maxMemory >> 20, maxMemory >> 20}, " MiB")
	l.atLeast("throughput of the neighbour, of that alone", beside.rate()/((alone.rate()+again.rate())/2)*100, bound{80, 0}, "%")
	l.atMost("failed calls of the neighbour", float64(beside.failed()), failureBound(beside), "")
}

// failureBound returns the bound of failed calls: 0, or in make e2e, the number of successful calls, but at least 10.
// There, other processes can take the CPU, and the server may reject calls as overloaded.
func failureBound(o *outcome) bound { return bound{0, float64(max(o.calls, 10))} }
