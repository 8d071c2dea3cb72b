package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Between atATime of the others, all the hot ones are evaluated.
const atATime = 100

// drive starts a server on what is registered and has objects of all CRDs evaluated: those of the hot ones all the time, those of the others now and then.
func drive(ctx context.Context, s settings, dir string, samples []sample) (err error) {
	server, err := start(ctx, s, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	fmt.Printf("start-up from bbolt: %v until ready (bar %v for 10,000); resident %s\n", server.ready.Round(time.Millisecond), barStart, mebibytes(server.resident()))
	m, err := server.metrics(ctx)
	if err != nil {
		return err
	}
	if m["crdeval_registry_crds"] != float64(s.crds) {
		return fmt.Errorf("after the start %v CRDs are registered, not %d", m["crdeval_registry_crds"], s.crds)
	}
	if m["crdeval_compile_duration_seconds_count"] != 0 || m["crdeval_cache_builds_total"] != 0 {
		return errors.New("CRDs were compiled at the start")
	}
	d := driver{server: server, client: crdevalv1.NewEvaluationServiceClient(server.conn), samples: samples, verdicts: make([][sha256.Size]byte, s.crds)}
	hot := indices(0, s.hot)
	var most int64
	for sweep := range s.touches {
		begin := time.Now()
		var hotTime, othersTime time.Duration
		for from := s.hot; from < s.crds; from += atATime {
			others, err := d.evaluate(ctx, indices(from, min(from+atATime, s.crds)), sweep > 0)
			if err != nil {
				return err
			}
			again, err := d.evaluate(ctx, hot, sweep > 0 || from > s.hot)
			if err != nil {
				return err
			}
			hotTime, othersTime = hotTime+again, othersTime+others
			most = max(most, server.resident())
		}
		if m, err = server.metrics(ctx); err != nil {
			return err
		}
		if m["crdeval_cache_bytes"] > m["crdeval_cache_budget_bytes"] {
			return fmt.Errorf("the cache holds %.0f bytes of %.0f", m["crdeval_cache_bytes"], m["crdeval_cache_budget_bytes"])
		}
		fmt.Printf("sweep %d over all CRDs, %d hot ones between each %d others: %v; a hot object %v, another one %v; %.0f builds, %.0f evictions, cache %s of %s, resident %s\n",
			sweep+1, s.hot, atATime, time.Since(begin).Round(time.Millisecond), each(hotTime, len(hot)*((s.crds-s.hot+atATime-1)/atATime)), each(othersTime, s.crds-s.hot),
			m["crdeval_cache_builds_total"], m["crdeval_cache_evictions_total"], mebibytes(int64(m["crdeval_cache_bytes"])), mebibytes(int64(m["crdeval_cache_budget_bytes"])), mebibytes(server.resident()))
	}
	if m["crdeval_cache_evictions_total"] == 0 {
		return errors.New("nothing was evicted: this shows nothing; lower -cache-bytes")
	}
	fmt.Printf("every verdict of a program that was built again is what it was; resident at most %s (bar %s)\n", mebibytes(most), mebibytes(barMemory))
	if most > barMemory {
		return fmt.Errorf("the server took %s", mebibytes(most))
	}
	return nil
}

// each is the time of one of n CRDs' objects.
func each(d time.Duration, n int) time.Duration {
	return (d / time.Duration(max(2*n, 1))).Round(100 * time.Nanosecond)
}

func indices(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

type driver struct {
	server   *server
	client   crdevalv1.EvaluationServiceClient
	samples  []sample
	verdicts [][sha256.Size]byte // of each CRD's objects, as they were first
}

// evaluate has the objects of CRDs evaluated in one call and returns what it took. Verdicts that are known must be the same.
func (d *driver) evaluate(ctx context.Context, crds []int, known bool) (time.Duration, error) {
	request := &crdevalv1.ValidateRequest{Catalog: catalog}
	for _, i := range crds {
		texts, err := objects(i, d.samples)
		if err != nil {
			return 0, err
		}
		for _, text := range texts {
			request.Items = append(request.Items, &crdevalv1.EvaluationItem{Object: document(text)})
		}
	}
	begin := time.Now()
	answer, err := d.client.Validate(ctx, request)
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	results := answer.GetResults()
	for n, i := range crds {
		valid, refused := results[2*n], results[2*n+1]
		if !valid.GetVerdict().GetAllowed() || refused.GetVerdict() == nil || refused.GetVerdict().GetAllowed() {
			return 0, fmt.Errorf("CRD %d: %v, %v", i, valid, refused)
		}
		hash := sha256.New()
		for _, result := range []proto.Message{valid, refused} {
			text, err := proto.MarshalOptions{Deterministic: true}.Marshal(result)
			if err != nil {
				return 0, err
			}
			_, _ = hash.Write(text)
		}
		verdict := [sha256.Size]byte(hash.Sum(nil))
		if known && verdict != d.verdicts[i] {
			return 0, fmt.Errorf("CRD %d has other verdicts than before: %v, %v", i, valid, refused)
		}
		d.verdicts[i] = verdict
	}
	return took, nil
}
