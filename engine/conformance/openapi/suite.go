package openapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/suite"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Options say what to run; a case is one CRD at all of its versions, in both forms.
type Options struct {
	suite.Options
	// UpstreamOnly exercises upstream alone.
	UpstreamOnly bool
	// Real has the schemas of real CRDs; nil: generated ones have to do.
	Real *generate.Real
}

// Counts say what a run was made of.
type Counts struct {
	Cases, Disagreements int
	// Unacceptable CRDs are published only where they were stored before: what makes them so is not checked there.
	Unacceptable int
	// Unpublished schemas are not structural, or could not be read.
	Unpublished, Unreadable int
	// Documents were equal, byte for byte.
	Documents, Bytes int
	// Crashed groups made upstream panic.
	Crashed int
}

// String is what a run prints.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance openapi: %d cases, %d disagreements, 0 unordered", n.Cases, n.Disagreements)
}

// Detail says how the cases were made up.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d CRDs (%d of them would be rejected today, %d schemas are not published), %d documents of %d MiB; upstream panicked on %d groups",
		n.Cases, n.Unacceptable, n.Unpublished, n.Documents, n.Bytes>>20, n.Crashed)
}

// Failed reports whether the run is red.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

// Compared implements suite.Counts.
func (n Counts) Compared() int { return n.Cases }

// Run compares the documents of generated CRDs.
func Run(o Options) Counts {
	r := &run{suite.New[Counts]("openapi", o.Options), o}
	return r.Run(0, r.group)
}

type run struct {
	*suite.Runner[Counts]
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
		p, err := publish(canonical, fmt.Sprintf("%d/%d/%d", r.Seed, k, i))
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

// guarded compares, and says whether upstream panicked on the way.
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

// differs tells a disagreement.
func (r *run) differs(n *Counts, k uint64, manifests []byte, differences ...string) {
	n.Disagreements++
	cause, _, _ := strings.Cut(differences[0], "\n")
	r.Report(k, cause, fmt.Sprintf("%s\n  definitions: %s", strings.Join(differences, "\n  "), manifests))
}
