package bolt_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// script is what the child does: writes of every kind. The large manifest takes pages of its own and makes the file grow.
var script = []func(context.Context, *registry.Registry) error{
	registers("default", 0, "one"),
	registers("default", 1, "one"),
	registers("default", 0, "two"),
	func(ctx context.Context, r *registry.Registry) error {
		_, _, err := r.CreateCatalog(ctx, "other", "")
		return err
	},
	registers("other", 0, large()),
	registers("other", 1, "one"),
	func(ctx context.Context, r *registry.Registry) error {
		_, err := r.Delete(ctx, "default", name(1), registry.Precondition{})
		return err
	},
	registers("default", 2, "one"),
	registers("other", 0, "small"),
	func(ctx context.Context, r *registry.Registry) error {
		_, _, err := r.DeleteCatalog(ctx, "other", true, "")
		return err
	},
	registers("default", 1, "again"),
}

func name(n int) string { return fmt.Sprintf("kind%ds.kill.example.com", n) }

func registers(catalog string, n int, content string) func(context.Context, *registry.Registry) error {
	return func(ctx context.Context, r *registry.Registry) error {
		done, err := r.Register(ctx, catalog, manifest(n, content), registry.Precondition{})
		if err == nil && !done.Report.Accepted {
			err = fmt.Errorf("rejected: %v", done.Report)
		}
		return err
	}
}

// large is a text that does not compress to less than 100 KiB.
func large() string {
	b := make([]byte, 100<<10)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b)
	return hex.EncodeToString(b)
}

// scripted is a registry without anything in the background that would write.
func scripted(ctx context.Context, store registry.Store) (*registry.Registry, func(), error) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 16 << 20, Weigh: (*engine.Definition).Size})
	r, err := registry.New(ctx, store, registry.Options{Programs: programs, MaxWrite: 5 * time.Minute})
	return r, func() { _ = programs.Close(context.Background()) }, err
}

// digests are of all revisions that the script makes, by CRD.
var digests = sync.OnceValues(func() (map[string][]string, error) {
	all := map[string][]string{}
	for n, contents := range [][]string{{"one", "two", "small", large()}, {"one", "again"}, {"one"}} {
		for _, content := range contents {
			d, report, err := engine.Compile(context.Background(), manifest(n, content), engine.Options{})
			if err != nil || d == nil {
				return nil, fmt.Errorf("%v, %w", report, err)
			}
			all[name(n)] = append(all[name(n)], d.Revision())
		}
	}
	return all, nil
})

// picture is all that a registry has, but for times and etags: catalogs, CRDs, the revisions that are kept, and that
// each can be read.
func picture(ctx context.Context, r *registry.Registry) (string, error) {
	known, err := digests()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	catalogs, err := r.Catalogs(ctx, registry.Page{Size: 1000}, "")
	if err != nil {
		return "", err
	}
	for _, c := range catalogs.Catalogs {
		fmt.Fprintf(&b, "%s: %d\n", c.Name, c.CRDs)
		crds, err := r.CRDs(ctx, c.Name, registry.Page{Size: 1000, WithManifest: true}, "")
		if err != nil {
			return "", err
		}
		for _, d := range crds.CRDs {
			fmt.Fprintf(&b, "  %s %s %d %v %v %d", d.Name, d.Revision, d.Generation, d.Status.StoredVersions, d.Established, len(d.Manifest))
			for _, digest := range known[d.Name] {
				if old, err := r.CRD(ctx, c.Name, d.Name, digest, ""); err == nil {
					fmt.Fprintf(&b, " %s:%d", digest[:15], len(old.Manifest))
				}
			}
			if !slices.Contains(known[d.Name], d.Revision) {
				return "", fmt.Errorf("%s has revision %s, which was not registered", d.Name, d.Revision)
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}
