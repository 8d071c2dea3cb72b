package registry

import (
	"cmp"
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine"
)

// judged is what is made of a manifest at one moment of its catalog.
type judged struct {
	catalog    string             // etag of the catalog
	name       string             // of the CRD
	against    *crd               // the CRD that has its name, nil for none
	definition *engine.Definition // nil if the manifest is refused, and where the verdict was known before
	revision   *revision          // nil if the manifest is refused
	// generation is metadata.generation after the write.
	generation int64
	report     *engine.Report
}

// holds says whether the verdict is still that of now: nobody wrote to the CRD since.
func (j *judged) holds(c *catalog) bool {
	now, _ := c.crds.Get(j.name)
	if c.record.Etag != j.catalog || (now == nil) != (j.against == nil) {
		return false
	}
	return now == nil || now.record.Etag == j.against.record.Etag
}

// registration is the answer but for what a write adds to it.
func (j *judged) registration() Registration {
	done := Registration{Report: j.report, Outcome: Created}
	switch {
	case j.revision == nil:
		done.Outcome = Refused
	case j.against == nil:
	case j.against.current().digest == j.revision.digest:
		done.Outcome = Unchanged
	default:
		done.Outcome = Updated
	}
	return done
}

// longManifest is the size beyond which a manifest waits for its turn among its like, as do those with heavy rules. Most have some 10 KiB; the time
// grows with the size.
const longManifest = 256 << 10

// A turn is the place of a manifest among those that are judged at once.
type turn struct {
	r    *Registry
	held chan struct{} // nil: none
}

// place waits for the turn of work on documents of so many bytes.
func (r *Registry) place(ctx context.Context, bytes int) (*turn, error) {
	t := &turn{r: r}
	if bytes > longManifest {
		return t, t.take(ctx, r.compilingLong)
	}
	return t, t.take(ctx, r.compiling)
}

func (t *turn) take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		t.held = places
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// heavy has what turns out to be heavy wait among its like, so that nothing light waits for it.
func (t *turn) heavy(ctx context.Context) error {
	if t.held == t.r.compilingLong {
		return nil
	}
	t.done()
	return t.take(ctx, t.r.compilingLong)
}

// done gives the place to the next.
func (t *turn) done() {
	if t.held != nil {
		<-t.held
		t.held = nil
	}
}

func size(d engine.Document) int { return len(d.JSON) + len(d.YAML) }

// judge checks and compiles a manifest for a catalog when its turn has come: as an update of the CRD that has its name, if there is one.
func (r *Registry) judge(ctx context.Context, c *catalog, manifest engine.Document) (*judged, error) {
	place, err := r.place(ctx, size(manifest))
	if err != nil {
		return nil, err
	}
	defer place.done()
	j := &judged{catalog: c.record.Etag}
	existing := existing{catalog: c}
	o := r.options(c)
	o.Existing, o.Heavy = existing.find, place.heavy
	j.definition, j.report, err = engine.Compile(ctx, manifest, o)
	if err != nil || existing.err != nil {
		return nil, cmp.Or(existing.err, err)
	}
	if j.definition == nil {
		return j, nil
	}
	j.name, j.revision, j.generation = j.definition.Name(), revisionOf(j.definition), j.report.Generation
	j.against, _ = c.crds.Get(j.name)
	return j, nil
}

// options are those for a catalog's CRDs.
func (r *Registry) options(c *catalog) engine.Options {
	o := r.engine
	o.KubernetesMinor = c.record.KubernetesMinor
	return o
}

// existing answers the engine's question for the CRD of a name.
type existing struct {
	catalog  *catalog
	name     string // the last one asked for, if there is a CRD of that name
	manifest []byte // its manifest
	err      error  // of a manifest that could not be unpacked
}

func (e *existing) find(name string) *engine.Existing {
	d, ok := e.catalog.crds.Get(name)
	if !ok {
		return nil
	}
	if e.name != name {
		if e.manifest, e.err = d.current().unpack(d); e.err != nil {
			return nil
		}
		e.name = name
	}
	return &engine.Existing{Manifest: e.manifest, Generation: d.record.Generation, Status: *d.record.Status}
}

// unpack returns the manifest of one of d's revisions.
func (rev *revision) unpack(d *crd) ([]byte, error) {
	manifest, err := rev.manifest.unpack()
	if err != nil {
		return nil, fmt.Errorf("CRD %q of catalog %q, revision %s: %w", d.name, d.catalog, rev.digest, err)
	}
	return manifest, nil
}
