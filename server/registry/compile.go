package registry

import (
	"cmp"
	"context"

	"github.com/crdeval/crdeval/engine"
)

// candidate is a manifest, with conversion rules, that was compiled against one state of its catalog.
type candidate struct {
	catalogEtag string
	name        string
	old         *crd // the CRD with that name, or nil
	report      *engine.Report

	// The rest is set if the manifest, or the rules to set, were accepted.
	definition *engine.Definition // nil in the cache of inline CRDs
	rules      []byte             // conversion rules as JSON; nil for none
	setsRules  bool               // rules are those of the submission
	revision   *revision
	generation int64 // metadata.generation after the write
}

// current reports whether the result still holds: neither the catalog nor the CRD changed.
func (j *candidate) current(c *catalog) bool {
	now, _ := c.crds.Get(j.name)
	if c.record.Etag != j.catalogEtag || (now == nil) != (j.old == nil) {
		return false
	}
	return now == nil || now.record.Etag == j.old.record.Etag
}

// registration returns the result that registering has, without the parts that only a write adds.
func (j *candidate) registration() Registration {
	done := Registration{Report: j.report, Outcome: Updated}
	switch {
	case j.revision == nil:
		done.Outcome = Rejected
	case j.old == nil:
		done.Outcome = Created
	case j.old.current().digest == j.revision.digest:
		done.Outcome = Unchanged
	}
	return done
}

// compile compiles a manifest for a catalog: as an update of the CRD with its name, if there is one. It has the
// conversion rules of the submission if these are accepted. Otherwise an update keeps those of the CRD.
func (r *Registry) compile(ctx context.Context, c *catalog, s Submission) (*candidate, error) {
	rules, err := canonicalRules(s.Conversion, r.Engine.Limits)
	if err == nil && rules != nil {
		j, accepted, err := r.compileWith(ctx, c, s.Manifest, rules)
		if err != nil || accepted || j.definition == nil {
			if j != nil {
				j.setsRules = accepted
			}
			return j, err
		}
	}
	j, _, err := r.compileWith(ctx, c, s.Manifest, nil)
	return j, err
}

// compileWith compiles a manifest. The CRD gets other conversion rules if changed is not nil. Then accepted reports
// whether they are accepted.
func (r *Registry) compileWith(
	ctx context.Context, c *catalog, manifest engine.Document, changed []byte,
) (j *candidate, accepted bool, err error) {
	slot, err := r.compileSlot(ctx, size(manifest)+len(changed))
	if err != nil {
		return nil, false, err
	}
	defer slot.release()
	j = &candidate{catalogEtag: c.record.Etag, rules: changed}
	o := r.options(c)
	o.Heavy, o.Conversion = slot.heavy, engine.JSON(changed)
	var unpacking error
	o.Existing = func(name string) *engine.Existing {
		d, ok := c.crds.Get(name)
		if !ok {
			return nil
		}
		var manifest, rules []byte
		if manifest, rules, unpacking = d.current().unpack(d); unpacking != nil {
			return nil
		}
		if changed == nil {
			j.rules = rules
		}
		existing := d.existing(manifest)
		existing.Conversion = rules
		return existing
	}
	if j.definition, j.report, err = engine.Compile(ctx, manifest, o); err != nil || unpacking != nil {
		return nil, false, cmp.Or(unpacking, pointToSetConversion(err, manifest, o.Limits))
	}
	j.name = j.report.Name
	j.old, _ = c.crds.Get(j.name)
	if j.definition == nil {
		return j, false, nil
	}
	if changed != nil {
		tested, err := testLaws(ctx, j.definition, o, TestedObjects)
		if err != nil || !tested.Accepted {
			return j, false, err
		}
	}
	j.report.Conversion = withoutPositions(j.definition.Conversion())
	j.revision, j.generation = revisionOf(j.definition, j.rules), j.report.Generation
	return j, true, nil
}

// options returns the engine's options for a catalog.
func (r *Registry) options(c *catalog) engine.Options {
	o := r.Engine
	o.KubernetesMinor = c.record.KubernetesMinor
	return o
}

// existing describes the CRD, with one of its manifests, as the one that a manifest of its name updates.
func (c *crd) existing(manifest []byte) *engine.Existing {
	return &engine.Existing{Manifest: manifest, Generation: c.record.Generation, Status: *c.record.Status}
}

// longManifest is the size above which manifests have slots of their own. Most manifests have some 10 KiB.
const longManifest = 256 << 10

func size(d engine.Document) int { return len(d.JSON) + len(d.YAML) }

// slot is the right to compile.
type slot struct {
	held, long chan struct{} // the semaphores of which a slot is held, or nil, and of long manifests
}

// compileSlot waits for a slot to compile documents of so many bytes.
func (r *Registry) compileSlot(ctx context.Context, bytes int) (*slot, error) {
	s := &slot{long: r.compilingLong}
	if bytes > longManifest {
		return s, s.heavy(ctx)
	}
	return s, s.acquire(ctx, r.compiling)
}

func (s *slot) acquire(ctx context.Context, semaphore chan struct{}) error {
	select {
	case semaphore <- struct{}{}:
		s.held = semaphore
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// heavy implements engine.Options.Heavy: it exchanges the slot for one of long manifests.
func (s *slot) heavy(ctx context.Context) error {
	if s.held == s.long {
		return nil
	}
	s.release()
	return s.acquire(ctx, s.long)
}

func (s *slot) release() {
	if s.held != nil {
		<-s.held
		s.held = nil
	}
}
