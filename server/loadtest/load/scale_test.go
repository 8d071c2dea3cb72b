package load

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/testenv"
)

const (
	targetStart    = 5 * time.Second // for 10,000 CRDs
	maxScaleMemory = 1 << 30         // resident bytes of the server
	hotCRDs        = 100             // CRDs whose objects are evaluated after each batch of the others
	sweeps         = 2               // evaluations of the objects of each other CRD
	registerBatch  = 500             // CRDs in a call
	evaluateBatch  = 100             // CRDs whose objects are in a call
)

var (
	crdCount   = flag.Int("crds", 1000, "number of CRDs")
	cacheBytes = flag.Int64("cache-bytes", 16<<20, "--cache-bytes of the server")
)

// TestScale registers CRDs, restarts the server, and evaluates objects of all CRDs with a cache that holds a part of
// them. The server compiles nothing at the start, and verdicts do not change after evictions.
func TestScale(t *testing.T) {
	testenv.E2E(t)
	dir := t.TempDir()
	binary, samples := build(t, dir), readSamples(t)
	flags := []string{"--store=bolt", "--data-dir=" + filepath.Join(dir, "data"), fmt.Sprintf("--cache-bytes=%d", *cacheBytes)}
	s := start(t, binary, dir, flags...)
	register(t, s, samples)
	s.stop()
	evaluate(t, start(t, binary, dir, flags...), samples)
}

// register registers the CRDs.
func register(t *testing.T, s *server, samples []sample) {
	t.Helper()
	begin, bytes := time.Now(), 0
	for from := 0; from < *crdCount; from += registerBatch {
		var manifests [][]byte
		for i := from; i < min(from+registerBatch, *crdCount); i++ {
			text := crd(t, i, samples)
			manifests, bytes = append(manifests, text), bytes+len(text)
		}
		results, err := s.RegisterAll(t.Context(), manifests...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil {
				t.Fatalf("CRD %d: %v", from+i, r.Err)
			}
		}
	}
	took := time.Since(begin)
	fmt.Printf("registered %d CRDs of %.1f KiB on average in %v, %.2f ms each; resident %s\n", *crdCount,
		float64(bytes)/float64(*crdCount)/1024, took.Round(time.Millisecond), took.Seconds()*1000/float64(*crdCount),
		mib(memory(t, s.command.Process.Pid, "VmRSS")))
}

// evaluate evaluates the objects of all CRDs on a server that has just started.
func evaluate(t *testing.T, s *server, samples []sample) {
	t.Helper()
	e := &evaluator{server: s, samples: samples, verdicts: map[int][sha256.Size]byte{}}
	m := e.metrics(t)
	fmt.Printf("start from bbolt: ready after %v (target %v for 10,000 CRDs); resident %s\n",
		s.ready.Round(time.Millisecond), targetStart, mib(e.peak(t)))
	if n := m["crdeval_registry_crds"]; n != float64(*crdCount) {
		t.Errorf("%v CRDs are registered after the start, want %d", n, *crdCount)
	}
	if m["crdeval_compile_duration_seconds_count"] != 0 || m["crdeval_cache_builds_total"] != 0 {
		t.Error("CRDs were compiled at the start")
	}
	hotCRDs := min(hotCRDs, *crdCount)
	for sweep := range sweeps {
		begin := time.Now()
		var hotTime, otherTime time.Duration
		batches := 0
		for from := hotCRDs; from < *crdCount; from += evaluateBatch {
			otherTime += e.batch(t, from, min(from+evaluateBatch, *crdCount))
			hotTime += e.batch(t, 0, hotCRDs)
			batches++
		}
		m = e.metrics(t)
		fmt.Printf("sweep %d over all CRDs in %v; per hot object %v, per other object %v; %.0f builds, %.0f evictions, cache %s of %s\n",
			sweep+1, time.Since(begin).Round(time.Millisecond),
			perObject(hotTime, hotCRDs*batches), perObject(otherTime, *crdCount-hotCRDs),
			m["crdeval_cache_builds_total"], m["crdeval_cache_evictions_total"],
			mib(int64(m["crdeval_cache_bytes"])), mib(int64(m["crdeval_cache_budget_bytes"])))
		if m["crdeval_cache_bytes"] > m["crdeval_cache_budget_bytes"] {
			t.Error("the cache exceeds its limit")
		}
	}
	if m["crdeval_cache_evictions_total"] == 0 {
		t.Error("nothing was evicted: lower -cache-bytes")
	}
	fmt.Printf("all verdicts are the same after eviction; resident at most %s (limit %s)\n", mib(e.peak(t)), mib(maxScaleMemory))
	if e.peak(t) > maxScaleMemory {
		t.Error("the server exceeds its memory limit")
	}
}

// evaluator evaluates the objects of CRDs and compares the verdicts with the first ones.
type evaluator struct {
	*server
	samples  []sample
	verdicts map[int][sha256.Size]byte
}

// perObject returns the time for one of the two objects of each of n CRDs.
func perObject(d time.Duration, n int) time.Duration {
	return (d / time.Duration(max(2*n, 1))).Round(100 * time.Nanosecond)
}

// batch evaluates the objects of the CRDs from up to to, and returns the time that it took.
func (e *evaluator) batch(t *testing.T, from, to int) time.Duration {
	t.Helper()
	var all [][]byte
	for i := from; i < to; i++ {
		all = append(all, objects(t, i, e.samples)...)
	}
	begin := time.Now()
	results, err := e.Validate(t.Context(), all...)
	took := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i++ {
		valid, invalid := results[2*(i-from)], results[2*(i-from)+1]
		if !valid.Allowed() || invalid.Err != nil || invalid.Allowed() {
			t.Fatalf("CRD %d: %v, %v", i, valid, invalid)
		}
		hash := sha256.New()
		for _, m := range []proto.Message{valid.Verdict, invalid.Verdict} {
			text, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = hash.Write(text)
		}
		verdict := [sha256.Size]byte(hash.Sum(nil))
		if before, known := e.verdicts[i]; known && verdict != before {
			t.Fatalf("the verdicts of CRD %d changed: %v, %v", i, valid, invalid)
		}
		e.verdicts[i] = verdict
	}
	return took
}

var metricLine = regexp.MustCompile(`(?m)^(\w+)(?:\{[^}]*\})? (\S+)$`)

// metrics returns the metrics of the server by name.
func (e *evaluator) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := e.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]float64{}
	for _, line := range metricLine.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(line[2], 64); err == nil {
			m[line[1]] = v
		}
	}
	return m
}
