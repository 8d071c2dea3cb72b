package openapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Options of a run. A case is one CRD with all its versions, in both forms.
type Options struct {
	runner.Options
	// UpstreamOnly runs upstream only.
	UpstreamOnly bool
	// Real returns the schemas of real CRDs. If it is nil, generated ones are used.
	Real *generate.Real
}

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements int
	// Unacceptable CRDs can only come from older storage: publishing does not check what makes them invalid.
	Unacceptable int
	// Unpublished schemas are not structural, or could not be read.
	Unpublished, Unreadable int
	// Documents counts equal documents.
	Documents, Bytes int
	// Crashed counts groups for which upstream panicked.
	Crashed int
}

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance openapi: %d cases, %d disagreements, 0 unordered", n.Cases, n.Disagreements)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d CRDs (%d of them would be rejected today, %d schemas are not published), %d documents of %d MiB; upstream panicked on %d groups",
		n.Cases, n.Unacceptable, n.Unpublished, n.Documents, n.Bytes>>20, n.Crashed)
}

// Failed reports whether the run failed.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Cases }

// Run compares the documents of generated CRDs.
func Run(o Options) Counts {
	r := &run{runner.New[Counts]("openapi", o.Options), o}
	return r.Run(0, r.group)
}

type run struct {
	*runner.Runner[Counts]
	options Options
}

// group compares the k-th group.
func (r *run) group(k uint64) (n Counts) {
	ctx := context.Background()
	m := &maker{Rand: generate.New("openapi", r.Seed, k), real: r.options.Real}
	var crds []published
	var texts []string
	for i, manifest := range m.manifests() {
		text := manifest.JSON()
		decoded, err := definition.Decode(text)
		if err != nil {
			n.Unreadable++
			continue
		}
		for v := range decoded.CRD.Spec.Versions {
			if s := schema.Of(&decoded.CRD.Spec.Versions[v]); s != nil && !schema.Publishable(s) {
				n.Unpublished++
			}
		}
		canonical, err := schema.Canonical(decoded.CRD)
		if err != nil {
			r.differs(&n, k, text, "canonical form: "+err.Error())
			continue
		}
		if report, err := engine.Check(ctx, engine.JSON(text), engine.Options{}); err == nil && !report.Accepted {
			n.Unacceptable++
		}
		p, err := decode(canonical, fmt.Sprintf("%d/%d/%d", r.Seed, k, i))
		if err != nil {
			n.Unreadable++
			continue
		}
		n.Cases++
		crds, texts = append(crds, p), append(texts, string(text))
	}
	if len(crds) == 0 {
		return n
	}
	e, differences, crashed := guarded(ctx, crds, r.options.UpstreamOnly)
	if crashed {
		n.Crashed++
	}
	n.Documents, n.Bytes = e.documents, e.bytes
	if len(differences) > 0 {
		r.differs(&n, k, []byte(strings.Join(texts, "\n")), differences...)
	}
	return n
}

// guarded compares, and reports whether upstream panicked.
func guarded(ctx context.Context, crds []published, upstreamOnly bool) (n extent, differences []string, crashed bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.As(err, new(runtime.Error)) {
				crashed = true
			} else {
				differences = append(differences, fmt.Sprintf("panic: %v", p))
			}
		}
	}()
	n, differences = compare(ctx, crds)
	if upstreamOnly {
		differences = nil
	}
	return n, differences, false
}

// differs reports a disagreement.
func (r *run) differs(n *Counts, k uint64, manifests []byte, differences ...string) {
	n.Disagreements++
	cause, _, _ := strings.Cut(differences[0], "\n")
	r.Report(k, cause, fmt.Sprintf("%s\n  definitions: %s", strings.Join(differences, "\n  "), manifests))
}
