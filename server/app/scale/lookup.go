package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
	"github.com/crdeval/crdeval/server/registry/memory"
)

const (
	few     = 10        // CRDs to compare with
	lookups = 1_000_000 // that are timed
	rounds  = 5         // of which the fastest counts
)

// lookUps measures, in this process, how long it takes to load the registry and to find a compiled CRD by its kind, among few and among all.
func lookUps(ctx context.Context, s settings, dir string, samples []sample) error {
	store, err := bolt.Open(filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	all, err := open(ctx, store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	fmt.Printf("registry alone: loaded from bbolt in %v\n", all.loaded.Round(time.Millisecond))
	handful, err := open(ctx, memory.New())
	if err != nil {
		return err
	}
	for i := range few {
		text, err := crd(i, samples)
		if err != nil {
			return err
		}
		if _, err := handful.registry.Register(ctx, catalog, engine.JSON(text), registry.Precondition{}); err != nil {
			return err
		}
	}
	var times []time.Duration
	for _, o := range []*opened{handful, all} {
		t, err := o.time(ctx)
		if err != nil {
			return err
		}
		times = append(times, t)
	}
	fmt.Printf("look-up of a CRD by kind, view and cache included: %v among %d, %v among %d\n", times[0], few, times[1], s.crds)
	return errors.Join(handful.close(ctx), all.close(ctx), store.Close())
}

// opened is a registry in this process.
type opened struct {
	registry *registry.Registry
	programs *cache.Cache[string, *engine.Definition]
	loaded   time.Duration
}

func open(ctx context.Context, store registry.Store) (*opened, error) {
	o := &opened{programs: cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 256 << 20, Weigh: (*engine.Definition).Size})}
	begin := time.Now()
	var err error
	o.registry, err = registry.New(ctx, store, registry.Options{Programs: o.programs, Log: slog.New(slog.DiscardHandler)})
	o.loaded = time.Since(begin)
	return o, err
}

func (o *opened) close(ctx context.Context) error {
	return errors.Join(o.registry.Close(ctx), o.programs.Close(ctx))
}

// time is that of one look-up of a few CRDs in turn, all compiled.
func (o *opened) time(ctx context.Context) (time.Duration, error) {
	var groups, kinds [few]string
	for i := range few {
		groups[i], kinds[i] = group(i), kind(i)
	}
	best := time.Duration(0)
	for range rounds {
		begin := time.Now()
		for n := range lookups / rounds {
			view, err := o.registry.View(ctx, catalog, "")
			if err != nil {
				return 0, err
			}
			if _, err := view.OfKind(ctx, groups[n%few], kinds[n%few], ""); err != nil {
				return 0, err
			}
		}
		if t := time.Since(begin) / (lookups / rounds); best == 0 || t < best {
			best = t
		}
	}
	return best, nil
}
