package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/app/childserver"
)

// batchSize is the number of CRDs in a batch. All hot CRDs are evaluated after each batch of the others.
const batchSize = 100

// evaluator evaluates the objects of CRDs and compares the verdicts with the first ones.
type evaluator struct {
	server   *childserver.Server
	samples  []sample
	verdicts map[int][sha256.Size]byte
	resident int64 // the largest
}

// evaluate evaluates the objects of all CRDs on a server that has just started.
func evaluate(ctx context.Context, s settings, server *childserver.Server, samples []sample) error {
	e := &evaluator{server: server, samples: samples, verdicts: map[int][sha256.Size]byte{}}
	m, err := e.metrics(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("start from bbolt: ready after %v (target %v for 10,000 CRDs); resident %s\n",
		server.Ready.Round(time.Millisecond), targetStart, childserver.MiB(e.resident))
	switch {
	case m["crdeval_registry_crds"] != float64(s.crds):
		return fmt.Errorf("%v CRDs are registered after the start, want %d", m["crdeval_registry_crds"], s.crds)
	case m["crdeval_compile_duration_seconds_count"] != 0 || m["crdeval_cache_builds_total"] != 0:
		return errors.New("CRDs were compiled at the start")
	}
	for sweep := range s.sweeps {
		begin := time.Now()
		var hotTime, otherTime time.Duration
		batches := 0
		for from := s.hot; from < s.crds; from += batchSize {
			other, err := e.batch(ctx, from, min(from+batchSize, s.crds))
			if err != nil {
				return err
			}
			hot, err := e.batch(ctx, 0, s.hot)
			if err != nil {
				return err
			}
			hotTime, otherTime, batches = hotTime+hot, otherTime+other, batches+1
		}
		if m, err = e.metrics(ctx); err != nil {
			return err
		}
		fmt.Printf("sweep %d over all CRDs in %v; per hot object %v, per other object %v; %.0f builds, %.0f evictions, cache %s of %s\n",
			sweep+1, time.Since(begin).Round(time.Millisecond),
			perObject(hotTime, s.hot*batches), perObject(otherTime, s.crds-s.hot),
			m["crdeval_cache_builds_total"], m["crdeval_cache_evictions_total"],
			childserver.MiB(int64(m["crdeval_cache_bytes"])), childserver.MiB(int64(m["crdeval_cache_budget_bytes"])))
		if m["crdeval_cache_bytes"] > m["crdeval_cache_budget_bytes"] {
			return errors.New("the cache exceeds its limit")
		}
	}
	if m["crdeval_cache_evictions_total"] == 0 {
		return errors.New("nothing was evicted: lower -cache-bytes")
	}
	fmt.Printf("all verdicts are the same after eviction; resident at most %s (limit %s)\n",
		childserver.MiB(e.resident), childserver.MiB(maxMemory))
	if e.resident > maxMemory {
		return errors.New("the server exceeds its memory limit")
	}
	return nil
}

// perObject returns the time for one of the two objects of each of n CRDs.
func perObject(d time.Duration, n int) time.Duration {
	return (d / time.Duration(max(2*n, 1))).Round(100 * time.Nanosecond)
}

// batch evaluates the objects of the CRDs from up to to, and returns the time that it took.
func (e *evaluator) batch(ctx context.Context, from, to int) (time.Duration, error) {
	var all [][]byte
	for i := from; i < to; i++ {
		texts, err := objects(i, e.samples)
		if err != nil {
			return 0, err
		}
		all = append(all, texts...)
	}
	begin := time.Now()
	results, err := e.server.Client.Validate(ctx, all...)
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	for i := from; i < to; i++ {
		valid, invalid := results[2*(i-from)], results[2*(i-from)+1]
		if !valid.Allowed() || invalid.Err != nil || invalid.Allowed() {
			return 0, fmt.Errorf("CRD %d: %v, %v", i, valid, invalid)
		}
		hash := sha256.New()
		for _, m := range []proto.Message{valid.Verdict, invalid.Verdict} {
			text, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				return 0, err
			}
			_, _ = hash.Write(text)
		}
		verdict := [sha256.Size]byte(hash.Sum(nil))
		if before, known := e.verdicts[i]; known && verdict != before {
			return 0, fmt.Errorf("the verdicts of CRD %d changed: %v, %v", i, valid, invalid)
		}
		e.verdicts[i] = verdict
	}
	return took, nil
}

var metricLine = regexp.MustCompile(`(?m)^(\w+)(?:\{[^}]*\})? (\S+)$`)

// metrics returns the metrics of the server by name, and notes its memory.
func (e *evaluator) metrics(ctx context.Context) (map[string]float64, error) {
	resident, err := e.server.Memory("VmHWM")
	if err != nil {
		return nil, err
	}
	e.resident = resident
	text, err := e.server.Get(ctx, "/metrics")
	m := map[string]float64{}
	for _, line := range metricLine.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(line[2], 64); err == nil {
			m[line[1]] = v
		}
	}
	return m, err
}
