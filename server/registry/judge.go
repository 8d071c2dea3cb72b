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

// longManifest is the size beyond which a manifest waits for its turn among its like. Most have some 10 KiB; the time grows with the size.
const longManifest = 256 << 10

// place waits for the turn of work on documents of so many bytes; done gives the place to the next.
func (r *Registry) place(ctx context.Context, bytes int) (done func(), err error) {
	places := r.compiling
	if bytes > longManifest {
		places = r.compilingLong
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func size(d engine.Document) int { return len(d.JSON) + len(d.YAML) }

// judge checks and compiles a manifest for a catalog when its turn has come: as an update of the CRD that has its name, if there is one.
func (r *Registry) judge(ctx context.Context, c *catalog, manifest engine.Document) (*judged, error) {
	done, err := r.place(ctx, size(manifest))
	if err != nil {
		return nil, err
	}
	defer done()
	j := &judged{catalog: c.record.Etag}
	existing := existing{catalog: c}
	o := r.options(c)
	o.Existing = existing.find
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
