package registry

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
)

// candidate is a manifest, with conversion rules, that was compiled against one state of its catalog.
type candidate struct {
	catalogEtag string
	name        string
	old         *crd // the CRD with that name, or nil
	report      *Report

	// The rest is set if the manifest, or the rules to set, were accepted.
	definition *engine.Definition // nil in the cache of inline CRDs
	rules      []byte             // conversion rules as JSON; nil for none
	setsRules  bool               // rules are those of the submission
	rulesOnly  bool               // nothing but rules is set: no update of the CRD in the sense of API servers
	revision   *revision
	generation int64     // metadata.generation after the write
	stored     *asStored // nil if this registry sets status and metadata
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
func (j *candidate) registration(notOlderThan int64) Registration {
	done := Registration{Report: j.report, Outcome: Updated}
	switch {
	case j.revision == nil:
		done.Outcome = Rejected
	case j.old == nil:
		done.Outcome = Created
	case j.unchanged(j.old, notOlderThan):
		done.Outcome = Unchanged
	}
	return done
}

// compile compiles a manifest for a catalog: as an update of the CRD with its name, if there is one. It has the
// conversion rules of the submission, or keeps those of the CRD.
func (r *Registry) compile(ctx context.Context, c *catalog, s Submission) (*candidate, error) {
	rules, err := canonicalRules(s.Conversion, r.Engine.Limits)
	if err != nil {
		return nil, err
	}
	j := &candidate{catalogEtag: c.record.Etag, rules: rules, setsRules: rules != nil}
	err = r.Scheduler.Do(ctx, func(ctx context.Context) error {
		return r.compileCandidate(waitForMemory(ctx, call.Of(ctx).Lease), c, s, j)
	})
	if err == nil {
		err = call.Of(ctx).Lease.Grow(ctx, call.Response, reportMemory(j.report))
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// violationMemory is the memory of a violation in a report and in a response, without texts, in bytes.
const violationMemory = 1 << 10

// reportMemory estimates the memory that the report of a rejected CRD takes until the response is encoded, in bytes.
func reportMemory(r *Report) int64 {
	if r.Rejection == nil {
		return 0
	}
	size := len(r.Rejection.Message) + len(r.Violations)*violationMemory
	for i := range r.Violations {
		v := &r.Violations[i]
		size += len(v.Field) + len(v.Message) + len(v.Detail) + len(v.Pointer) + len(v.SchemaPointer) + len(v.BadValue)
	}
	return int64(size)
}

// maxMemoryWait bounds the time that a compilation waits for memory.
const maxMemoryWait = 30 * time.Second

// waitForMemory returns a context in which a compilation charges its memory to a lease. It waits for memory without a seat.
// So compilations that fit only one at a time run one after the other.
func waitForMemory(ctx context.Context, lease *call.Lease) context.Context {
	if lease == nil {
		return ctx
	}
	return host.WithHooks(ctx, &host.Hooks{Grow: func(n int64) error {
		err := lease.TryGrow(call.Tree, n)
		if !errors.Is(err, call.ErrNoMemory) {
			return err
		}
		flow.Wait(ctx, func() {
			for end := time.Now().Add(maxMemoryWait); errors.Is(err, call.ErrNoMemory) && time.Now().Before(end); {
				err = lease.Grow(ctx, call.Tree, n)
			}
		})
		return err
	}})
}

func (r *Registry) compileCandidate(ctx context.Context, c *catalog, s Submission, j *candidate) error {
	o := r.options(c)
	o.Conversion = engine.JSON(j.rules)
	var unpacking error
	o.Existing = func(name string) *engine.Existing {
		d, ok := c.crds.Get(name)
		if !ok {
			return nil
		}
		var manifest, kept []byte
		if manifest, kept, unpacking = d.current().unpack(d); unpacking != nil {
			return nil
		}
		if !j.setsRules {
			j.rules = kept
		}
		existing := d.existing(manifest)
		existing.Conversion = kept
		return existing
	}
	if s.AsStored {
		d, crd, err := kubeserver.CompileAsStored(ctx, s.Manifest, o)
		if err != nil || unpacking != nil {
			return cmp.Or(unpacking, err)
		}
		j.name, j.definition, j.revision, j.generation = d.Name(), d, revisionOf(d, j.rules), max(1, crd.Generation)
		j.old, _ = c.crds.Get(j.name)
		j.report = &Report{Conversion: withoutPositions(convert.ReportOf(d)), Report: &engine.Report{
			Name: j.name, Group: d.Group(), Kind: d.Kind(), Plural: d.Plural(), Update: j.old != nil, Generation: j.generation,
			Accepted: true,
		}}
		j.stored, err = asStoredBy(crd, j.old, r.Now().UTC())
		return err
	}
	o.FieldValidation = s.FieldValidation
	d, report, err := engine.Compile(ctx, s.Manifest, o)
	if err != nil || unpacking != nil {
		return cmp.Or(unpacking, pointToSetConversion(err, s.Manifest, o.Limits))
	}
	j.name, j.report = report.Name, NewReport(report)
	j.old, _ = c.crds.Get(j.name)
	if d == nil {
		return nil
	}
	if j.setsRules {
		if j.report, err = judgeRules(ctx, s.Manifest, d, j.report, s.Conversion, o, TestedObjects); err != nil || !j.report.Conversion.Accepted {
			return err
		}
	} else {
		j.report.Conversion = withoutPositions(j.report.Conversion)
	}
	j.definition, j.revision, j.generation = d, revisionOf(d, j.rules), report.Generation
	return nil
}

// options returns the engine's options for a catalog.
func (r *Registry) options(c *catalog) engine.Options {
	o := r.Engine
	o.Kubernetes = cmp.Or(c.record.Kubernetes, o.Kubernetes)
	return o
}

// existing describes the CRD, with one of its manifests, as the one that a manifest of its name updates.
func (c *crd) existing(manifest []byte) *engine.Existing {
	return &engine.Existing{
		Manifest: manifest, Generation: c.record.Generation, Status: *c.record.Status, Terminating: c.current().summary.Terminating,
	}
}
