package load

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

var (
	soakRate = flag.Float64("rate", 40, "calls per second of the case soak")
	soakOut  = flag.String("out", "", "directory for soak.csv; empty: none is written")
)

// mix is the traffic of the case soak. Each call has a part of all.
type mix struct {
	*load
	server *server
	client *crdeval.Client
	parts  []part
	total  int
	slow   []byte
	items  []*crdevalv1.WriteItem
}

type part struct {
	weight int
	call   func(context.Context) error
}

// soak: mixed traffic at a low rate for hours. Memory and goroutines must reach a plateau.
func soak(l *load) {
	d := l.span(cmp.Or(*duration, 2*time.Hour), 9*time.Second)
	interval := min(max(d/120, time.Second), time.Minute)
	if !*full {
		interval = 300 * time.Millisecond
	}
	m := newMix(l)
	traffic := make(chan *outcome, 1)
	go func() { traffic <- openLoop(l.Context(), *soakRate, d, m.call) }()
	samples := m.sample(d, interval)
	o := <-traffic
	l.note("%v", o)
	l.write(samples)
	l.plateau("resident memory", " MiB", 16, column(samples, func(u usage) float64 { return u.resident }))
	l.plateau("goroutines", "", 50, column(samples, func(u usage) float64 { return u.goroutines }))
	l.atMost("unexpected failures", float64(o.failed()), bound{0, 0}, "")
}

// newMix starts a server whose cache of compiled CRDs is full after some minutes. With the default, 256 MiB, the
// revisions of updated CRDs fill it for hours.
func newMix(l *load) *mix {
	s := l.launch(launch{flags: []string{"--store=bolt", "--cache-bytes=16MiB", "--data-dir=" + filepath.Join(l.TempDir(), "data")}})
	n := l.neighbour(s, "soak", 40)
	l.register(s, "soak", schemaCRD("Regex", `{type: object, properties: {spec: {type: string, pattern: "^[ab]*a[ab]{1000}[ab]{1000}x$"}}}`))
	m := &mix{load: l, server: s, client: n.Client, items: n.items, slow: object("Regex", `"`+strings.Repeat("a", 58<<10)+`"`)}
	m.parts = []part{
		{40, m.validate}, {10, m.large}, {10, m.rest}, {8, m.update}, {2, m.remove}, {8, m.watch}, {8, m.cancelled},
		{6, m.stream}, {4, m.documents}, {4, m.reconnect},
	}
	for _, p := range m.parts {
		m.total += p.weight
	}
	return m
}

// call makes a random call. Rejections of an overloaded server are expected: the machine may be busy.
func (m *mix) call(ctx context.Context) error {
	n := rand.IntN(m.total)
	for _, p := range m.parts {
		if n -= p.weight; n < 0 {
			err := p.call(ctx)
			if err != nil && (strings.HasSuffix(kindOf(err), "/OVERLOADED") || strings.HasSuffix(err.Error(), ": 503 Service Unavailable")) {
				return nil
			}
			return err
		}
	}
	return nil
}

// validate validates 1 to 40 objects, of which some are invalid.
func (m *mix) validate(ctx context.Context) error {
	items := slices.Clone(m.items[:1+rand.IntN(len(m.items))])
	items[0] = &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document([]byte(
		`{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": "x"}}`))}}}
	_, err := m.client.ValidateItems(ctx, items, nil)
	return err
}

// large admits an object with up to 20,000 labels of an inline CRD.
func (m *mix) large(ctx context.Context) error {
	client := m.client.With(schemaCRD("Large", `{type: object, properties: {spec: {type: array, items: {type: object, properties: {a: {type: integer, default: 1}}}}}}`))
	_, err := client.Admit(ctx, crdeval.Create(object("Large", "["+repeated("{}", 1+rand.IntN(20_000), ",")+"]")))
	return err
}

func (m *mix) rest(ctx context.Context) error {
	text, err := m.server.get("/v1/catalogs/soak/crds?pageSize=5")
	if err == nil && !strings.Contains(text, "crontabs") && !strings.Contains(text, "a.dev") {
		err = errors.New("unexpected list: " + text)
	}
	return err
}

// updated returns one of 20 CRDs with one of many contents.
func updated() (name string, manifest []byte) {
	i := rand.IntN(20)
	schema := fmt.Sprintf("{type: object, properties: {spec: {type: string, default: %q}, n: {type: integer, default: %d}}}",
		strings.Repeat("d", 100*i*i), rand.IntN(1<<30))
	return fmt.Sprintf("updated%ds.a.dev", i), schemaCRD(fmt.Sprintf("Updated%d", i), schema)
}

func (m *mix) update(ctx context.Context) error {
	_, manifest := updated()
	_, err := m.client.RegisterCRD(ctx, manifest)
	return err
}

func (m *mix) remove(ctx context.Context) error {
	name, _ := updated()
	if err := m.client.DeleteCRD(ctx, name); status.Code(err) != codes.NotFound {
		return err
	}
	return nil
}

// watch watches for up to ten seconds and then cancels.
func (m *mix) watch(ctx context.Context) error {
	return watchFor(m.client, time.Duration(1+rand.IntN(m.size(10_000, 2000)))*time.Millisecond)(ctx)
}

// cancelled makes a slow call whose deadline expires, or that the caller cancels.
func (m *mix) cancelled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(50))*time.Millisecond)
	defer cancel()
	if rand.IntN(2) == 0 {
		time.AfterFunc(10*time.Millisecond, cancel)
	}
	_, err := m.client.Validate(ctx, m.slow)
	if code := status.Code(err); code == codes.DeadlineExceeded || code == codes.Canceled {
		return nil
	}
	return err
}

// stream streams 300 objects. One in three streams is abandoned.
func (m *mix) stream(ctx context.Context) error {
	abandoned, received := rand.IntN(3) == 0, 0
	for _, err := range m.client.AdmitStream(ctx, paced(m.items[0], 300), crdeval.AdmitOptions{}) {
		if err != nil {
			return err
		}
		if received++; abandoned && received == 100 {
			break
		}
	}
	return nil
}

// documents gets documents that the server builds and caches.
func (m *mix) documents(context.Context) error {
	paths := []string{"apis", "openapi/v2", "openapi/v3", "explain/crontabs", "crds"}
	_, err := m.server.get("/v1/catalogs/soak/" + paths[rand.IntN(len(paths))])
	return err
}

// reconnect makes a call on a new connection.
func (m *mix) reconnect(ctx context.Context) error {
	conn, err := grpc.NewClient(m.server.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = crdevalv1.NewServerServiceClient(conn).GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	return err
}

// usage is what the server uses at a time.
type usage struct {
	at                                             time.Duration
	resident, heap, goroutines, files, crds, cache float64 // memory in MiB
}

// sample measures the server at intervals for a time.
func (m *mix) sample(d, interval time.Duration) (all []usage) {
	m.Helper()
	for begin := time.Now(); time.Since(begin) < d; time.Sleep(interval) {
		const mebi = 1 << 20
		all = append(all, usage{
			at: time.Since(begin), resident: float64(m.server.rss(m.T)) / mebi,
			heap:       m.server.metric(m.T, "go_memstats_heap_alloc_bytes") / mebi,
			goroutines: m.server.metric(m.T, "go_goroutines"), files: m.server.metric(m.T, "process_open_fds"),
			crds: m.server.metric(m.T, "crdeval_registry_crds"), cache: m.server.metric(m.T, "crdeval_cache_bytes") / mebi,
		})
	}
	return all
}

// write writes the samples to soak.csv.
func (l *load) write(samples []usage) {
	l.Helper()
	if *soakOut == "" {
		return
	}
	rows := [][]string{{"seconds", "resident_mib", "heap_mib", "goroutines", "open_files", "crds", "cache_mib"}}
	for _, u := range samples {
		row := []string{fmt.Sprintf("%.0f", u.at.Seconds())}
		for _, v := range []float64{u.resident, u.heap, u.goroutines, u.files, u.crds, u.cache} {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		rows = append(rows, row)
	}
	file, err := os.Create(filepath.Join(*soakOut, "soak.csv"))
	if err == nil {
		err = errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
	}
	if err != nil {
		l.Fatal(err)
	}
	l.note("wrote %s", file.Name())
}

func column(samples []usage, value func(usage) float64) (all []float64) {
	for _, u := range samples {
		all = append(all, value(u))
	}
	return all
}

// plateau compares the last third of a series with the middle third: its maximum, and the growth that its trend
// (least squares) gives over its length, relative to its mean. noise is added to what it is compared with.
func (l *load) plateau(what, unit string, noise float64, values []float64) {
	l.Helper()
	third := len(values) / 3
	middle, last := values[third:2*third], values[2*third:]
	mean, growth := trend(last)
	l.note("%s: first %.0f%s, maximum of the middle third %.0f, of the last %.0f, growth in the last %.1f", what,
		values[0], unit, slices.Max(middle), slices.Max(last), growth)
	l.atMost(what+": maximum of the last third, of that of the middle third", 100*slices.Max(last)/(slices.Max(middle)+noise), bound{105, 200}, "%")
	l.atMost(what+": growth in the last third, of its mean", 100*max(growth-noise, 0)/mean, bound{5, 100}, "%")
}

// trend returns the mean of a series, and the growth of its regression line over its length.
func trend(values []float64) (mean, growth float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	center := float64(len(values)-1) / 2
	var product, square float64
	for i, v := range values {
		x := float64(i) - center
		product += x * (v - mean)
		square += x * x
	}
	if square == 0 {
		return mean, 0
	}
	return mean, product / square * (float64(len(values)) - 1)
}
