package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Options say what to run.
type Options struct {
	// N is the number of cases, a case being one CRD at all of its versions, in both forms.
	N    int
	Seed uint64
	// Limit ends the run after that many distinct disagreements; 0 means 20.
	Limit int
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
	// Log receives disagreements.
	Log io.Writer
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
	return fmt.Sprintf("  %d CRDs (%d of them would be refused today, %d schemas are not published), %d documents of %d MiB; upstream panicked on %d groups",
		n.Cases, n.Unacceptable, n.Unpublished, n.Documents, n.Bytes>>20, n.Crashed)
}

// Failed reports whether the run is red.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

func (n *Counts) add(m Counts) {
	n.Cases += m.Cases
	n.Disagreements += m.Disagreements
	n.Unacceptable += m.Unacceptable
	n.Unpublished += m.Unpublished
	n.Unreadable += m.Unreadable
	n.Documents += m.Documents
	n.Bytes += m.Bytes
	n.Crashed += m.Crashed
}

// Run compares the documents of generated CRDs.
func Run(o Options) Counts {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = 20
	}
	r := &run{Options: o, seen: map[string]int{}}
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k, more := r.take(); more; k, more = r.take() {
				n := r.group(k)
				r.mu.Lock()
				r.sum.add(n)
				r.mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return r.sum
}

type run struct {
	Options
	mu   sync.Mutex
	next uint64
	sum  Counts
	seen map[string]int
}

// take returns the number of the next group, unless the run is over.
func (r *run) take() (k uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, r.next = r.next, r.next+1
	return k, r.sum.Cases < r.N && len(r.seen) < r.Limit
}

// group compares the k-th group.
func (r *run) group(k uint64) (n Counts) {
	ctx := context.Background()
	m := &maker{Rand: generate.New("openapi", r.Seed, k), real: r.Real}
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
	e, differences, crashed := guarded(ctx, crds, r.UpstreamOnly)
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

// shownPerCause is how many disagreements of what looks like one cause are printed.
const shownPerCause = 2

var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)

// differs tells a disagreement.
func (r *run) differs(n *Counts, k uint64, manifests []byte, differences ...string) {
	n.Disagreements++
	r.mu.Lock()
	defer r.mu.Unlock()
	cause, _, _ := strings.Cut(literal.ReplaceAllString(differences[0], "_"), "\n")
	if r.seen[cause]++; r.seen[cause] > shownPerCause || r.Log == nil {
		return
	}
	_, _ = fmt.Fprintf(r.Log, "\nDISAGREEMENT openapi, seed %d, group %d\n  %s\n  definitions: %s\n", r.Seed, k, strings.Join(differences, "\n  "), manifests)
}
